package lamini

import (
	"fmt"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// request translates a completion; every error names the key at fault. Nothing is
// documented of sampling: a model in the process chooses the likeliest tokens, a remote
// one does as its record says.
func (c *completionRequest) request() (*llm.Request, error) {
	list, err := prompts(c.ModelName, c.Prompt)
	if err != nil {
		return nil, err
	}
	form, err := schema(c.OutputType)
	if err != nil {
		return nil, err
	}
	req := &llm.Request{Prompts: list, N: 1, Params: llm.Params{Schema: form}}
	for _, sent := range c.limits() {
		switch {
		case sent.v == nil:
		case *sent.v < 1:
			return nil, invalid(sent.name, "must be at least 1")
		case req.MaxTokens == nil || *sent.v < *req.MaxTokens:
			req.MaxTokens = sent.v
		}
	}
	return req, nil
}

// A limit is max_new_tokens under one of its names.
type limit struct {
	name string
	v    *int
}

func (c *completionRequest) limits() [2]limit {
	return [2]limit{{"max_new_tokens", c.MaxNewTokens}, {"max_tokens", c.MaxTokens}}
}

// prompts translates what both requests have. Clients write the template of a model,
// special tokens included, into their prompts.
func prompts(model *string, sent wire.Many[*string]) ([]llm.Prompt, error) {
	switch {
	case model == nil || *model == "":
		return nil, invalid("model_name", "must be given")
	case len(sent.Values) == 0 && sent.List:
		return nil, invalid("prompt", "at least one prompt is needed")
	case len(sent.Values) == 0:
		return nil, invalid("prompt", "must be given")
	}
	list := make([]llm.Prompt, len(sent.Values))
	for i, text := range sent.Values {
		if text == nil {
			return nil, invalid(fmt.Sprintf("prompt[%d]", i), "must be a string, not null")
		}
		list[i] = llm.Prompt{Parts: []llm.Part{{Text: *text, Special: true}}}
	}
	return list, nil
}

// outputs translates the rows of a completion: the one row, or a list of them.
func (c *completionRequest) outputs(rows []llm.Chunk, req *llm.Request) (outputs, reasons any, err error) {
	list, why := make([]any, len(rows)), make([]string, len(rows))
	for i, row := range rows {
		list[i], why[i] = output{row.Text}, finishReason(row.Finish)
		if req.Schema == nil {
			continue
		}
		if list[i], err = typed(row); err != nil {
			return nil, nil, err
		}
	}
	if !c.Prompt.List {
		return list[0], why[0], nil
	}
	return list, why, nil
}

// finishReason gives seed 004's word for the end of a row.
func finishReason(why llm.Finish) string {
	switch why {
	case llm.FinishLength, llm.FinishContext:
		return "length"
	case llm.FinishDeadline, llm.FinishCancelled:
		return "timeout"
	}
	return "stop"
}

// request translates a request for embeddings.
func (e *embeddingRequest) request() (*llm.EmbedRequest, error) {
	list, err := prompts(e.ModelName, e.Prompt)
	if err != nil {
		return nil, err
	}
	return &llm.EmbedRequest{Prompts: list}, nil
}

// answer translates embeddings: the one vector, or a list of them.
func (e *embeddingRequest) answer(made []llm.Embedding) embeddingAnswer {
	list := make([][]float32, len(made))
	for i, m := range made {
		list[i] = m.Layers[0].Vectors[0]
	}
	if !e.Prompt.List {
		return embeddingAnswer{list[0]}
	}
	return embeddingAnswer{list}
}

func invalid(param, format string, args ...any) error {
	return &llm.Error{Code: llm.Invalid, Param: param, Message: fmt.Sprintf(format, args...)}
}
