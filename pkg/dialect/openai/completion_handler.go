package openai

import (
	"net/http"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
)

// completions returns the handler of completions.
func (cfg Config) completions() httpx.Handler {
	return httpx.Post(completionTable, (*completionRequest).request, open[completionRequest](cfg), cfg.answerCompletion)
}

func (cfg Config) answerCompletion(w http.ResponseWriter, r *http.Request, call httpx.Call[completionRequest, *llm.Request, *llm.Model]) error {
	head := completionAnswer{ID: openaiapi.NewID("cmpl-"), Object: "text_completion", Created: cfg.Now().Unix(), Model: call.Model.Name}
	out, err := call.In.newCompletions(r.Context(), call.Model, call.Req, head)
	if err != nil {
		return err
	}
	if call.In.Stream {
		return out.stream(w, r, call.Model, call.Req)
	}
	return out.whole(w, r, call.Model, call.Req)
}

// whole sends the answer that is not streamed.
func (s *completions) whole(w http.ResponseWriter, r *http.Request, model *llm.Model, req *llm.Request) error {
	rows, used, err := httpx.Collect(r, model, req)
	if err != nil {
		return err
	}
	answer := s.head
	if u := newUsage(used); u != nil {
		answer.Usage = &u
	}
	for _, row := range rows {
		answer.Choices = append(answer.Choices, s.choice(row))
	}
	return httpx.JSON(w, http.StatusOK, answer)
}

// stream sends the events of a completion as its chunks come.
func (s *completions) stream(w http.ResponseWriter, r *http.Request, model *llm.Model, req *llm.Request) error {
	out := httpx.NewStream(r.Context(), w, httpx.SSE)
	for chunk, err := range out.Await(model.Generate(r.Context(), req)) {
		if err != nil {
			return err
		}
		for _, event := range s.events(chunk) {
			if err := out.Send(event); err != nil {
				return err
			}
		}
	}
	return out.Text(done)
}

func answerEmbedding(w http.ResponseWriter, r *http.Request, call httpx.Call[embeddingRequest, *llm.EmbedRequest, *llm.Model]) error {
	call.Req.MaxValues = maxValues
	lenient := call.In.Truncation != nil && *call.In.Truncation
	list, used, err := embedTexts(r.Context(), call.Model, call.Req, lenient)
	if err != nil {
		return err
	}
	answer, err := call.In.answer(call.Model.Name, list, used)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, answer)
}
