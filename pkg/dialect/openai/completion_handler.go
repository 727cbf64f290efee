package openai

import (
	"net/http"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

func (cfg Config) complete(w http.ResponseWriter, r *http.Request) error {
	var in completionRequest
	if err := httpx.DecodeJSON(r, &in); err != nil {
		return err
	}
	req, err := in.request()
	if err != nil {
		return err
	}
	model, err := cfg.openFor(r, in.Model)
	if err != nil {
		return err
	}
	head := completionAnswer{ID: newID("cmpl-"), Object: "text_completion", Created: cfg.Now().Unix(), Model: model.Name}
	out, err := in.newCompletions(r.Context(), model, req, head)
	if err == nil && in.Stream {
		err = out.stream(w, r, model, req)
	} else if err == nil {
		err = out.whole(w, r, model, req)
	}
	return rename(err, "prompt", "max_tokens")
}

// whole answers at once.
func (s *completions) whole(w http.ResponseWriter, r *http.Request, model *llm.Model, req *llm.Request) error {
	rows, used, err := httpx.Collect(r, model, req)
	if err != nil {
		return err
	}
	answer := s.head
	if u := newUsage(used); u != nil {
		answer.Usage = u
	}
	for _, row := range rows {
		answer.Choices = append(answer.Choices, s.choice(row))
	}
	return httpx.JSON(w, http.StatusOK, answer)
}

// stream sends the events of a completion as its chunks come.
func (s *completions) stream(w http.ResponseWriter, r *http.Request, model *llm.Model, req *llm.Request) error {
	out := httpx.NewStream(w, httpx.SSE)
	for chunk, err := range model.Generate(r.Context(), req) {
		if err != nil {
			return err
		}
		for _, event := range s.events(chunk) {
			if err := out.Send(event); err != nil {
				return err
			}
		}
	}
	return out.Text("[DONE]")
}

func (cfg Config) embed(w http.ResponseWriter, r *http.Request) error {
	var in embeddingRequest
	if err := httpx.DecodeJSON(r, &in); err != nil {
		return err
	}
	req, err := in.request()
	if err != nil {
		return err
	}
	model, err := cfg.open(r.Context(), in.Model)
	if err != nil {
		return err
	}
	embedder, err := llm.As[llm.Embedder](model)
	if err != nil {
		return err
	}
	list, used, err := embedder.Embed(r.Context(), req)
	if err != nil {
		return rename(err, "input", "")
	}
	answer, err := in.answer(model.Name, list, used)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, answer)
}
