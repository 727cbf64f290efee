package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
	"glossa/pkg/wire"
)

// classifyRequest is the body of POST /classify, in vLLM's protocol.
type classifyRequest struct {
	modelKey
	Input                wire.Many[string] `json:"input"`
	TruncatePromptTokens *int              `json:"truncate_prompt_tokens"`
	TruncationSide       json.RawMessage   `json:"truncation_side"`
	UseActivation        *bool             `json:"use_activation"`
	Activation           *bool             `json:"activation"` // of older clients
	AddSpecialTokens     json.RawMessage   `json:"add_special_tokens"`
	Messages             json.RawMessage   `json:"messages"`
	Priority             *int              `json:"priority"`
	User                 string            `json:"user"`
}

type classifyAnswer struct {
	ID      string           `json:"id" doc:"the id of the answer"`
	Object  string           `json:"object" doc:"always list" enum:"list"`
	Created int64            `json:"created" doc:"seconds since 1970"`
	Model   string           `json:"model" doc:"the model's name, even if the request used an alias"`
	Data    []classifyObject `json:"data" doc:"one for each text"`
	Usage   *rerankUsage     `json:"usage,omitempty"` // absent if not all tokens are known
}

type classifyObject struct {
	Index   int       `json:"index" doc:"position of the text"`
	Label   string    `json:"label" doc:"the label with the largest score"`
	Probs   []float64 `json:"probs" doc:"the score of each label, in the order of labels in /v1/models"`
	Classes int       `json:"num_classes" doc:"the number of labels"`
}

// predictRequest is the body of POST /predict in the protocol of Text Embeddings Inference, and with
// parameters in that of Hugging Face's Inference API.
type predictRequest struct {
	modelKey
	Inputs              json.RawMessage    `json:"inputs"`
	RawScores           bool               `json:"raw_scores"`
	Truncate            bool               `json:"truncate"`
	TruncationDirection json.RawMessage    `json:"truncation_direction"`
	Parameters          *predictParameters `json:"parameters"`
}

type predictParameters struct {
	TopK     *int   `json:"top_k"`
	Function string `json:"function_to_apply"`
}

// labelScore is the score of a label.
type labelScore struct {
	Score float64 `json:"score" doc:"the score; a probability, unless the model computes a regression or the request asks for logits"`
	Label string  `json:"label" doc:"the label"`
}

// functions are the values of function_to_apply.
var functions = []string{string(llm.ScoreSigmoid), string(llm.ScoreSoftmax), string(llm.ScoreNone)}

// maxScores bounds the scores of an answer: those of 2048 texts by 128 labels.
const maxScores = 1 << 18

// request translates a request of vLLM's protocol.
func (c *classifyRequest) request() (*llm.ClassifyRequest, error) {
	req := &llm.ClassifyRequest{Truncate: c.TruncatePromptTokens != nil, MaxInput: max(0, value(c.TruncatePromptTokens)), MaxScores: maxScores}
	if isFalse(c.UseActivation) || isFalse(c.Activation) {
		req.Function = llm.ScoreNone
	}
	for _, text := range c.Input.Values {
		req.Inputs = append(req.Inputs, llm.ClassifyInput{Text: text})
	}
	return req, nil
}

// answer translates the scores of texts.
func (c *classifyRequest) answer(model string, created int64, list []llm.Classification, used llm.Usage) classifyAnswer {
	out := classifyAnswer{ID: openaiapi.NewID("classify-"), Object: "list", Created: created, Model: model, Data: make([]classifyObject, len(list)), Usage: newRerankUsage(used)}
	for i, made := range list {
		top := slices.Index(made.Scores, slices.Max(made.Scores))
		out.Data[i] = classifyObject{Index: i, Label: made.Labels[top], Probs: made.Scores, Classes: len(made.Scores)}
	}
	return out
}

// request translates a request of either protocol.
func (p *predictRequest) request() (*llm.ClassifyRequest, error) {
	req := &llm.ClassifyRequest{Truncate: p.Truncate, MaxScores: maxScores}
	if p.RawScores {
		req.Function = llm.ScoreNone
	}
	read := readSequences
	if with := p.Parameters; with != nil {
		if read = readTexts; with.Function != "" {
			if p.RawScores {
				return nil, wire.Invalid("raw_scores", "cannot be combined with parameters.function_to_apply")
			}
			req.Function = llm.ScoreFunction(with.Function)
		}
	}
	var err error
	if req.Inputs, err = read(p.Inputs); err == nil && len(req.Inputs) > maxInputs {
		err = wire.Invalid("inputs", "at most %d texts", maxInputs)
	}
	return req, err
}

// listed reports whether the answer has a list for each text, not only the list of a single one.
func (p *predictRequest) listed() bool { return p.Parameters != nil || nested(p.Inputs) }

// readTexts reads the inputs of the Inference API: a text, or a list of texts.
func readTexts(raw json.RawMessage) (list []llm.ClassifyInput, err error) {
	var texts wire.Many[string]
	if err := wire.UnmarshalAt("inputs", raw, &texts); err != nil {
		return nil, err
	}
	for _, text := range texts.Values {
		list = append(list, llm.ClassifyInput{Text: text})
	}
	if len(list) == 0 {
		err = wire.Invalid("inputs", "at least one text is required")
	}
	return list, err
}

// nested reports whether inputs are a list of lists.
func nested(raw json.RawMessage) bool {
	return raw[0] == '[' && bytes.TrimLeft(raw[1:], " \t\r\n")[0] == '['
}

// readSequences reads the inputs of Text Embeddings Inference: a text, a list of one or of a pair, or
// a list of such lists.
func readSequences(raw json.RawMessage) ([]llm.ClassifyInput, error) {
	if !nested(raw) {
		var one wire.Many[string]
		if err := wire.UnmarshalAt("inputs", raw, &one); err != nil {
			return nil, err
		}
		in, err := sequence("inputs", one.Values)
		return []llm.ClassifyInput{in}, err
	}
	var lists [][]string
	if err := wire.UnmarshalAt("inputs", raw, &lists); err != nil {
		return nil, err
	}
	out := make([]llm.ClassifyInput, len(lists))
	for i, texts := range lists {
		var err error
		if out[i], err = sequence(fmt.Sprintf("inputs[%d]", i), texts); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// sequence returns an input of one text or of a pair.
func sequence(path string, texts []string) (in llm.ClassifyInput, err error) {
	switch len(texts) {
	case 0:
		err = wire.Invalid(path, "at least one text is required")
	case 1:
		in.Text = texts[0]
	case 2:
		in.Text, in.Second = texts[0], &texts[1]
	default:
		err = wire.Invalid(path, `%d texts in a list: one of two texts is a pair; send several texts as [["a"], ["b"]]`, len(texts))
	}
	return in, err
}

// answer returns the scores of each text, the largest first.
func (p *predictRequest) answer(list []llm.Classification) [][]labelScore {
	out := make([][]labelScore, len(list))
	for i, made := range list {
		out[i] = make([]labelScore, len(made.Scores))
		for j, score := range made.Scores {
			out[i][j] = labelScore{score, made.Labels[j]}
		}
		slices.SortStableFunc(out[i], byScore)
		if p.Parameters != nil && p.Parameters.TopK != nil {
			out[i] = out[i][:min(*p.Parameters.TopK, len(out[i]))]
		}
	}
	return out
}
