package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"glossa/pkg/chat"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
	"glossa/pkg/tokenizer"
)

// Ranker is a model in memory that scores documents for a query. It implements [llm.Reranker]
// and [llm.Tokenizer] and, by the one label of its head, [llm.Classifier]. It is safe for concurrent use.
type Ranker struct {
	labeller

	template *chat.Template // of a decoder; nil: that of Qwen3-Reranker
}

var (
	_ llm.Backend    = (*Ranker)(nil)
	_ llm.Tokenizer  = (*Ranker)(nil)
	_ llm.Reranker   = (*Ranker)(nil)
	_ llm.Classifier = (*Ranker)(nil)
)

// maxPairs bounds the pairs of a request.
const maxPairs = 2048

// NewRanker reads the weights of a model that scores documents for a query. It closes m.
func NewRanker(m *arch.Model, cfg Config) (_ *Ranker, err error) {
	r := &Ranker{}
	defer func() { err = closeOpened(m, r, err) }()
	if m.Ranking == nil || !m.Ranking.Ranks() {
		return nil, fmt.Errorf("model %q: the files of the %s model do not say how it ranks documents", cfg.Name, m.Type)
	}
	if m.Ranking.Head == nil && m.Ranking.ByTemplate {
		if r.template, err = pairTemplate(m); err != nil {
			return nil, fmt.Errorf("model %q: %w", cfg.Name, err)
		}
	}
	if r.labeller, err = newLabeller(m, cfg, llm.TaskRerank); err != nil {
		return nil, err
	}
	return r, nil
}

// pairTemplate returns the template of a decoder that ranks.
func pairTemplate(m *arch.Model) (*chat.Template, error) {
	if m.Chat.Empty() {
		return nil, errors.New("a reranker with the module LogitScore needs a chat template")
	}
	return chat.CompilePairs(m.Chat)
}

// Generate implements [llm.Backend]. It returns an error.
func (r *Ranker) Generate(context.Context, *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		yield(llm.Chunk{}, llm.Errorf(llm.Unsupported, "this model ranks documents and does not complete texts: use /v1/rerank"))
	}
}

// Rerank implements [llm.Reranker]. The score of a pair does not depend, to the bit, on the
// other pairs.
func (r *Ranker) Rerank(ctx context.Context, req *llm.RerankRequest) ([]llm.Relevance, llm.Usage, error) {
	switch {
	case len(req.Pairs) == 0:
		return nil, llm.Usage{}, invalid("documents", "at least one document is required")
	case len(req.Pairs) > maxPairs:
		return nil, llm.Usage{}, invalid("documents", fmt.Sprintf("at most %d documents", maxPairs))
	}
	worker, err := r.queue.acquire(ctx)
	if err != nil {
		return nil, llm.Usage{}, err
	}
	defer worker.release()
	j := &joiner{Ranker: r, request: req}
	pairs := make([]joined, len(req.Pairs))
	var usage llm.Usage
	for i, p := range req.Pairs {
		if pairs[i], err = j.join(ctx, p); err != nil {
			return nil, llm.Usage{}, inPair(req.Pairs, i, err)
		}
		usage.Input += len(pairs[i].ids)
	}
	logits := r.headLogits
	if r.head == nil {
		logits = r.tokenLogits
	}
	out := make([]llm.Relevance, len(pairs))
	err = r.run(ctx, worker, pairs, "fewer or shorter documents", logits, func(i int, logits []float32) {
		out[i] = r.relevance(float64(logits[0]), &pairs[i])
	})
	if err != nil {
		return nil, llm.Usage{}, err
	}
	return out, usage, nil
}

// relevance returns the score of a logit.
func (r *Ranker) relevance(logit float64, p *joined) llm.Relevance {
	score := logit
	if !r.ranking.Identity {
		score = 1 / (1 + math.Exp(-logit))
	}
	return llm.Relevance{Score: score, Logit: logit, Tokens: len(p.ids), Cut: p.cut}
}

// tokenLogits computes the logits of the token True after each text, less those of the token
// False.
func (r *Ranker) tokenLogits(ctx context.Context, m *member, texts [][]int, _ []int) ([][]float32, error) {
	out, left := make([][]float32, len(texts)), make([]int, len(texts))
	for i, ids := range texts {
		left[i] = len(ids)
	}
	err := r.readTexts(ctx, m, texts, 1, func(_ *transformer.Pass, parts [][]int, logits []float32) {
		for i, part := range parts {
			if left[i] -= len(part); left[i] > 0 || len(part) == 0 {
				continue
			}
			logit := logits[r.ranking.True]
			if r.ranking.False >= 0 {
				logit -= logits[r.ranking.False]
			}
			out[i], logits = []float32{logit}, logits[r.model.Vocab:]
		}
	})
	return out, err
}

// A joiner joins the pairs of a request.
type joiner struct {
	*Ranker
	request *llm.RerankRequest
	query   string // the last one
	ids     []int  // of query
}

// limit returns the largest number of tokens of a pair.
func (j *joiner) limit() int {
	if most := j.request.MaxPair; most > 0 {
		return min(most, j.context)
	}
	return j.context
}

// join returns the tokens of a pair.
func (j *joiner) join(ctx context.Context, p llm.Pair) (joined, error) {
	if j.head == nil {
		return j.joinText(ctx, p)
	}
	limit := j.limit()
	if j.ids == nil || p.Query != j.query {
		ids, err := j.encodeText(ctx, aQueryOrDocument, p.Query)
		if err != nil {
			return joined{}, tooLongIn("query", err)
		}
		j.query, j.ids = p.Query, ids
	}
	document, err := j.encodeText(ctx, aQueryOrDocument, p.Document)
	if err != nil {
		return joined{}, err
	}
	cut := false
	if most := j.request.MaxDocument; most > 0 && len(document) > most {
		document, cut = document[:most], true
	}
	out := j.pair(j.ids, document, limit)
	if out.cut && !j.request.Truncate {
		return joined{}, tooLongPair(len(j.ids)+len(document)+min(limit, len(j.ranking.Pair)-2), limit, len(document))
	}
	out.cut = out.cut || cut
	return out, nil
}

// tooLongPair returns the error of a pair of n tokens, document of them its document's: it is about the
// query if that leaves no room for any document.
func tooLongPair(n, limit, document int) error {
	long := llm.TooManyTokens("the query and the document have", n, limit)
	if n-document >= limit {
		long.Param = "query"
	}
	return long
}

// inPair adds the place of a text that is too long to the error of pair i: that of the document, unless
// the error is about the query.
func inPair(pairs []llm.Pair, i int, err error) error {
	long, ok := err.(*llm.Error)
	if !ok || long.Param != "query" {
		return tooLongIn(fmt.Sprintf("documents[%d]", i), err)
	}
	if slices.ContainsFunc(pairs, func(p llm.Pair) bool { return p.Query != pairs[0].Query }) {
		return tooLongIn(fmt.Sprintf("query[%d]", i), err)
	}
	return err
}

// aQueryOrDocument begins the errors of texts that are too long.
const aQueryOrDocument = "the query or a document has"

// instruction is the default one of Qwen3-Reranker.
const instruction = "Given a web search query, retrieve relevant passages that answer the query"

// parts returns the prompt of a pair for a decoder.
//
// Source: the model card of Qwen3-Reranker.
func (r *Ranker) parts(ctx context.Context, query, document string) ([]llm.Part, error) {
	if r.template != nil {
		say := func(role, text string) llm.Message { return llm.Message{Role: role, Parts: []llm.Part{{Text: text}}} }
		return r.template.Render(ctx, &chat.Chat{Messages: []llm.Message{say("query", query), say("document", document)}, Open: true})
	}
	return []llm.Part{
		{Special: true, Text: "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. " +
			"Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n<Instruct>: " + instruction + "\n<Query>: "},
		{Text: query}, {Special: true, Text: "\n<Document>: "}, {Text: document},
		{Special: true, Text: "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"},
	}, nil
}

// joinText returns the tokens of a pair for a decoder. A document that is too long loses its
// end.
func (j *joiner) joinText(ctx context.Context, p llm.Pair) (out joined, err error) {
	if j.ranking.Lowercase {
		p.Query, p.Document = lower(p.Query), lower(p.Document)
	}
	var document []int
	if most := j.request.MaxDocument; most > 0 {
		if document, err = j.encodeText(ctx, aQueryOrDocument, p.Document); err != nil {
			return out, err
		}
		if len(document) > most {
			document, out.cut = document[:most], true
			p.Document = j.text(document)
		}
	}
	for {
		parts, err := j.parts(ctx, p.Query, p.Document)
		if err != nil {
			return out, err
		}
		to := tokenizer.Collector{Max: int(max(int64(j.context), j.memory/8))}
		if err := j.encode(ctx, &to, parts); err != nil {
			if _, query := j.encodeText(ctx, aQueryOrDocument, p.Query); query != nil {
				return out, tooLongIn("query", query)
			}
			return out, j.tooLong("the query and the document have", err)
		}
		out.ids = to.IDs()
		over := len(out.ids) - j.limit()
		if over <= 0 {
			return out, nil
		}
		if document == nil {
			if document, err = j.encodeText(ctx, aQueryOrDocument, p.Document); err != nil {
				return out, err
			}
		}
		if !j.request.Truncate || len(document) == 0 {
			return out, tooLongPair(len(out.ids), j.limit(), len(document))
		}
		document, out.cut = document[:max(0, len(document)-over)], true
		p.Document = j.text(document)
	}
}

// text returns the text of tokens, without a character that is cut at its end.
func (r *Ranker) text(ids []int) string {
	return strings.TrimRight(tokenizer.Decode(r.tokenizer, ids), "\ufffd")
}
