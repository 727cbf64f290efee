package openai

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// inputTokensRequest is the body of POST /tokenize in the protocol of Text Embeddings Inference.
type inputTokensRequest struct {
	modelKey
	Inputs           wire.Many[string] `json:"inputs"`
	AddSpecialTokens *bool             `json:"add_special_tokens"`
	PromptName       json.RawMessage   `json:"prompt_name"`
}

// inputToken is a token of a text.
type inputToken struct {
	ID      int    `json:"id" doc:"the id of the token"`
	Text    string `json:"text" doc:"the part of the text that it stands for; its spelling if it was added"`
	Special bool   `json:"special" doc:"whether the model adds it to texts"`
	Start   *int   `json:"start" doc:"the byte where that part begins; null if it was added, or if that is not known"`
	Stop    *int   `json:"stop" doc:"the byte where that part ends, likewise"`
}

// decodeRequest is the body of POST /decode in the protocol of Text Embeddings Inference.
type decodeRequest struct {
	modelKey
	IDs               json.RawMessage `json:"ids"` // a list of ids, or of such lists
	SkipSpecialTokens json.RawMessage `json:"skip_special_tokens"`
}

// maxInputTokens bounds the tokens of an answer.
const maxInputTokens = 1 << 18

// inputTokensTable describes the body of POST /tokenize with inputs.
var inputTokensTable = wire.For[inputTokensRequest](
	wire.Parameter{Name: "model", Absent: firstOfTexts, Remote: wire.NotRemote, Note: modelNote},
	wire.Parameter{Name: "inputs", Required: true, Count: wire.Between(1, maxInputs), Noun: "text", Remote: wire.NotRemote, Note: "a text, or a list of texts"},
	wire.Parameter{Name: "add_special_tokens", Default: true, Remote: wire.NotRemote, Note: "whether to add the tokens that the model reads around a text"},
	wire.Parameter{Name: "prompt_name", Disposition: wire.Refused, Note: "the tokens are those of the text alone"},
)

// decodeTable describes the body of POST /decode.
var decodeTable = wire.For[decodeRequest](
	wire.Parameter{Name: "model", Absent: firstOfTexts, Remote: wire.NotRemote, Note: modelNote},
	wire.Parameter{Name: "ids", Required: true, Canonical: "prompt", Schema: wire.AnyOf(wire.ListOf(wire.Types("integer")), some(wire.ListOf(wire.Types("integer")), maxInputs)), Remote: wire.NotRemote, Note: "token ids, or a list of lists of them"},
	wire.Parameter{Name: "skip_special_tokens", Disposition: wire.Refused, Note: "special tokens stand for no text", Neutral: []string{"true"}},
)

const firstOfTexts = "the first model in the list that embeds, ranks or classifies texts, or else the first model"

// readsTexts are the traits of the models that Text Embeddings Inference serves.
var readsTexts = []trait{does(llm.TaskEmbed), does(llm.TaskRerank), does(llm.TaskClassify)}

// openReader returns how the model of a request is found that its tokens are asked of.
func openReader[In any, Request interface {
	*In
	modelName() string
}](cfg Config) func(*http.Request, *In) (llm.Tokenizer, error) {
	return func(r *http.Request, in *In) (llm.Tokenizer, error) {
		model, err := cfg.openFirst(r.Context(), Request(in).modelName(), readsTexts...)
		if err != nil {
			return nil, err
		}
		tokenizer, err := llm.As[llm.Tokenizer](model)
		if err != nil {
			return nil, &llm.Error{Code: llm.Unsupported, Param: "model", Message: llm.AsError(err).Message}
		}
		return tokenizer, nil
	}
}

// texts returns the texts to tokenize.
func (t *inputTokensRequest) texts() ([]string, error) { return t.Inputs.Values, nil }

// tokens returns the tokens of a text. Those before and behind its own are special.
func (t *inputTokensRequest) tokens(ctx context.Context, of llm.Tokenizer, text string) ([]inputToken, error) {
	parts := []llm.Part{{Text: text, Special: true}}
	own, err := of.Tokenize(ctx, parts, false)
	if err != nil {
		return nil, err
	}
	all, first := own, 0
	if !isFalse(t.AddSpecialTokens) {
		if all, err = of.Tokenize(ctx, parts, true); err != nil {
			return nil, err
		}
		first = beginning(all, own)
	}
	out, at := make([]inputToken, len(all)), 0
	for i, token := range all {
		o := &out[i]
		if *o = (inputToken{ID: token.ID, Text: token.Piece, Special: true}); i < first || i >= first+len(own) {
			continue
		}
		o.Text, o.Special = token.Text, false
		if from, to, ok := located(text, at, token.Text); ok {
			at, o.Text, o.Start, o.Stop = to, text[from:to], &from, &to
		}
	}
	return out, nil
}

// beginning returns where the tokens of a text begin among those with what the model adds.
func beginning(all, own []llm.Token) int {
	same := func(a, b llm.Token) bool { return a.ID == b.ID }
	for i := range len(all) - len(own) + 1 {
		if slices.EqualFunc(all[i:i+len(own)], own, same) {
			return i
		}
	}
	return 0
}

// located returns the part of a text that a token stands for: after white space, if the token's text is
// there but for capital letters. Other changes of a tokenizer, such as lost accents, hide the rest.
func located(text string, at int, token string) (from, to int, ok bool) {
	const space = " \t\r\n"
	word := strings.TrimLeft(token, space)
	from = len(text) - len(strings.TrimLeft(text[at:], space))
	to = from + len(word)
	return from, to, word != "" && to <= len(text) && strings.EqualFold(text[from:to], word)
}

func answerInputTokens(w http.ResponseWriter, r *http.Request, call httpx.Call[inputTokensRequest, []string, llm.Tokenizer]) error {
	out, n := make([][]inputToken, len(call.Req)), 0
	for i, text := range call.Req {
		var err error
		if out[i], err = call.In.tokens(r.Context(), call.Model, text); err != nil {
			return err
		}
		if n += len(out[i]); n > maxInputTokens {
			return wire.Invalid("inputs", "the texts have more than %d tokens", maxInputTokens)
		}
	}
	return httpx.JSON(w, http.StatusOK, out)
}

// lists returns the ids of each text.
func (d *decodeRequest) lists() (lists [][]int, err error) {
	if d.IDs[0] != '[' {
		return nil, wire.Invalid("ids", "must be an array of token ids, or an array of such arrays")
	}
	if !nested(d.IDs) {
		lists = [][]int{nil}
		return lists, wire.UnmarshalAt("ids", d.IDs, &lists[0])
	}
	if err = wire.UnmarshalAt("ids", d.IDs, &lists); err == nil && len(lists) > maxInputs {
		err = wire.Invalid("ids", "at most %d texts", maxInputs)
	}
	return lists, err
}

func answerDecode(w http.ResponseWriter, r *http.Request, call httpx.Call[decodeRequest, [][]int, llm.Tokenizer]) error {
	out := make([]string, len(call.Req))
	for i, ids := range call.Req {
		text, err := call.Model.Detokenize(r.Context(), ids)
		if err != nil {
			return err
		}
		out[i] = text
	}
	return httpx.JSON(w, http.StatusOK, out)
}

var inputTokensDoc = &httpx.Operation{
	ID: "tokenizeInputs", Tag: tag, Summary: "Split texts into tokens, in the protocol of Text Embeddings Inference",
	Description: "With inputs, the answer is a list of tokens for each text, and errors have the statuses and the shape of that server.",
	Body:        inputTokensTable,
	Example:     `{"inputs": ["Dogs bark.", "Cats purr."]}`,
	Answers:     []httpx.Answer{{Of: [][]inputToken{}}},
}

var decodeDoc = &httpx.Operation{
	ID: "decodeIDs", Tag: tag, Summary: "Join tokens into texts, in the protocol of Text Embeddings Inference",
	Body:    decodeTable,
	Example: `{"ids": [[1, 2, 3], [4]]}`,
	Answers: []httpx.Answer{{Of: []string{}}},
}
