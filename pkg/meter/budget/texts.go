package budget

import (
	"context"

	"glossa/pkg/httpx"
	"glossa/pkg/intercept"
	"glossa/pkg/llm"
)

// read reserves what a call may use that has texts and no limit for its answer: a token for
// each byte, or the rest if that is less. The rest must have the tokens of the texts, as the
// model's tokenizer counts them, or by estimate if it has none. A translation is as long again.
func (b backend) read(ctx context.Context, rec *httpx.Record, call *intercept.Call) error {
	bytes, counted := call.Bytes(), int64(-1)
	for _, h := range b.holds {
		weights, used := b.weights(h.unit), h.unit.used(rec)
		most := weights.of(bytes, 0)
		least := most
		if h.room(ctx)-used < most {
			if counted < 0 {
				counted = int64(b.input(ctx, &llm.Request{Prompts: texts(call.Request)}))
				if _, ok := call.Request.(*llm.TranslateRequest); ok {
					counted *= 2
				}
			}
			least = weights.of(min(bytes, counted), 0)
		}
		if err := h.begin(ctx, used, least, most); err != nil {
			return err
		}
	}
	return nil
}

// texts returns the texts of a request, each as a prompt.
func texts(request any) (list []llm.Prompt) {
	add := func(texts ...string) {
		p := llm.Prompt{}
		for _, text := range texts {
			p.Parts = append(p.Parts, llm.Part{Text: text})
		}
		list = append(list, p)
	}
	switch req := request.(type) {
	case *llm.EmbedRequest:
		return req.Prompts
	case *llm.ScoreRequest:
		add(req.Continuation)
		list = append(list, req.Prompt)
	case *llm.RerankRequest:
		for _, pair := range req.Pairs {
			add(pair.Query, pair.Document)
		}
	case *llm.ClassifyRequest:
		for _, in := range req.Inputs {
			if add(in.Text); in.Second != nil {
				add(*in.Second)
			}
		}
	case *llm.TranslateRequest:
		for _, text := range req.Texts {
			add(text)
		}
	}
	return list
}
