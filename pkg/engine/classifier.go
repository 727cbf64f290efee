package engine

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"glossa/pkg/engine/arch"
	"glossa/pkg/llm"
)

// Classifier is a model in memory that scores texts by several labels. It implements
// [llm.Classifier] and [llm.Tokenizer], and is safe for concurrent use.
type Classifier struct{ labeller }

var (
	_ llm.Backend    = (*Classifier)(nil)
	_ llm.Tokenizer  = (*Classifier)(nil)
	_ llm.Classifier = (*Classifier)(nil)
)

// maxInputs bounds the inputs of a request.
const maxInputs = 2048

// NewClassifier reads the weights of a model that scores texts by several labels. It closes m.
func NewClassifier(m *arch.Model, cfg Config) (_ *Classifier, err error) {
	c := &Classifier{}
	defer func() { err = closeOpened(m, c, err) }()
	if m.Ranking == nil || m.Ranking.Ranks() {
		return nil, fmt.Errorf("model %q: the files of the %s model do not have several labels", cfg.Name, m.Type)
	}
	if c.labeller, err = newLabeller(m, cfg, llm.TaskClassify); err != nil {
		return nil, err
	}
	return c, nil
}

// Generate implements [llm.Backend]. It returns an error.
func (c *Classifier) Generate(context.Context, *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		yield(llm.Chunk{}, llm.Errorf(llm.Unsupported, "this model classifies texts and does not complete them: use /classify"))
	}
}

// Classify implements [llm.Classifier]. The scores are those of transformers' pipeline; they do not
// depend, to the bit, on the other inputs of the request.
func (l *labeller) Classify(ctx context.Context, req *llm.ClassifyRequest) ([]llm.Classification, llm.Usage, error) {
	function, err := l.function(req)
	if err != nil {
		return nil, llm.Usage{}, err
	}
	worker, err := l.queue.acquire(ctx)
	if err != nil {
		return nil, llm.Usage{}, err
	}
	defer worker.release()
	var usage llm.Usage
	texts := make([]joined, len(req.Inputs))
	for i := range req.Inputs {
		if texts[i], err = l.input(ctx, req, &req.Inputs[i]); err != nil {
			return nil, llm.Usage{}, inInput(i, len(req.Inputs), err)
		}
		usage.Input += len(texts[i].ids)
	}
	out := make([]llm.Classification, len(texts))
	err = l.run(ctx, worker, texts, "fewer or shorter texts", l.headLogits, func(i int, logits []float32) {
		out[i] = llm.Classification{Labels: l.info.Labels, Scores: scores(function, logits), Tokens: len(texts[i].ids), Cut: texts[i].cut}
	})
	if err != nil {
		return nil, llm.Usage{}, err
	}
	return out, usage, nil
}

// function checks a request and returns the function of its scores.
func (l *labeller) function(req *llm.ClassifyRequest) (llm.ScoreFunction, error) {
	n, labels := len(req.Inputs), len(l.info.Labels)
	switch {
	case l.head == nil:
		return "", &llm.Error{Code: llm.Unsupported, Param: "model", Message: "this model ranks documents (/v1/rerank) by its tokens and does not classify texts"}
	case n == 0:
		return "", invalid("inputs", "at least one text is required")
	case n > maxInputs:
		return "", invalid("inputs", fmt.Sprintf("at most %d texts", maxInputs))
	case req.MaxScores > 0 && n*labels > req.MaxScores:
		return "", invalid("inputs", fmt.Sprintf("the answer would have %d scores, %d for each text, and may have %d: send fewer texts", n*labels, labels, req.MaxScores))
	}
	switch req.Function {
	case "":
		return llm.ScoreFunction(l.ranking.Function()), nil
	case llm.ScoreSoftmax, llm.ScoreSigmoid, llm.ScoreNone:
		return req.Function, nil
	}
	return "", invalid("function", fmt.Sprintf("%.40q is not one of softmax, sigmoid and none", req.Function))
}

// input returns the tokens of an input.
func (l *labeller) input(ctx context.Context, req *llm.ClassifyRequest, in *llm.ClassifyInput) (out joined, err error) {
	limit := l.context
	if req.MaxInput > 0 {
		limit = min(limit, req.MaxInput)
	}
	first, err := l.encodeText(ctx, "the text has", in.Text)
	if err != nil {
		return out, err
	}
	if in.Second == nil {
		around := len(l.start) + len(l.end)
		n := len(first)
		if n+around > limit && !req.Truncate {
			return out, llm.TooManyTokens("the text has", n+around, limit)
		}
		first = first[:min(n, max(0, limit-around))]
		out = l.notEmpty(joined{ids: slices.Concat(l.start, first, l.end)})
		out.second, out.cut = len(out.ids), len(first) < n
		return out, nil
	}
	if l.ranking.Pair == nil {
		return out, &llm.Error{Code: llm.Unsupported, Param: "inputs", Message: "this model's tokenizer does not say how it joins two texts: send single texts"}
	}
	second, err := l.encodeText(ctx, "the text has", *in.Second)
	if err != nil {
		return out, err
	}
	out = l.pair(first, second, limit)
	if out.cut && !req.Truncate {
		return out, llm.TooManyTokens("the two texts have", len(first)+len(second)+len(l.ranking.Pair)-2, limit)
	}
	return out, nil
}

// inInput adds the place of an input, of n, to an error about its length.
func inInput(i, n int, err error) error {
	if n == 1 {
		return tooLongIn("inputs", err)
	}
	return tooLongIn(fmt.Sprintf("inputs[%d]", i), err)
}

// scores returns the scores of logits.
func scores(f llm.ScoreFunction, logits []float32) []float64 {
	out := make([]float64, len(logits))
	top := float64(slices.Max(logits))
	sum := 0.0
	for i, v := range logits {
		switch x := float64(v); f {
		case llm.ScoreSoftmax:
			out[i] = math.Exp(x - top)
			sum += out[i]
		case llm.ScoreSigmoid:
			out[i] = 1 / (1 + math.Exp(-x))
		default:
			out[i] = x
		}
	}
	if f == llm.ScoreSoftmax {
		for i := range out {
			out[i] /= sum
		}
	}
	return out
}
