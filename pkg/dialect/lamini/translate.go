package lamini

import (
	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// request translates a completion. Every error names the key at fault. Sampling is not
// documented: a model in the process decodes greedily, a remote one follows its record.
func (c *completionRequest) request() (*llm.Request, error) {
	form, err := schema(c.OutputType)
	if err != nil {
		return nil, err
	}
	req := &llm.Request{Prompts: prompts(c.Prompt.Values), N: 1, Params: llm.Params{Schema: form}}
	for _, limit := range []*int{c.MaxNewTokens, c.MaxTokens} {
		if limit != nil && (req.MaxTokens == nil || *limit < *req.MaxTokens) {
			req.MaxTokens = limit
		}
	}
	return req, nil
}

// prompts translates prompts. Clients apply a model's template, including its special
// tokens, themselves.
func prompts(texts []string) []llm.Prompt {
	list := make([]llm.Prompt, len(texts))
	for i, text := range texts {
		list[i] = llm.Prompt{Parts: []llm.Part{{Text: text, Special: true}}}
	}
	return list
}

// answer translates the rows of a completion.
func (c *completionRequest) answer(rows []llm.Chunk, req *llm.Request) (a answerV2, err error) {
	a.Outputs.List, a.FinishReason.List = c.Prompt.List, c.Prompt.List
	for _, row := range rows {
		var made any = output{row.Text}
		if req.Schema != nil {
			if made, err = typedOutput(row); err != nil {
				return a, err
			}
		}
		a.Outputs.Values = append(a.Outputs.Values, made)
		a.FinishReason.Values = append(a.FinishReason.Values, finishReason(row.Finish))
	}
	return a, nil
}

// finishReason returns the documented finish reason of a row.
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
	return &llm.EmbedRequest{Prompts: prompts(e.Prompt.Values)}, nil
}

// answer translates embeddings: the only vector, or a list of vectors.
func (e *embeddingRequest) answer(made []llm.Embedding) embeddingAnswer {
	list := make([][]float32, len(made))
	for i, m := range made {
		list[i] = m.Layers[0].Vectors[0]
	}
	return embeddingAnswer{wire.Many[[]float32]{Values: list, List: e.Prompt.List}}
}
