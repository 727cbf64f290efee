package textsynth

import (
	"errors"
	"net/http"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// Config is what the dialect is given.
type Config struct {
	Models llm.Models
}

// Routes returns the routes of the dialect. An engine_id is a model's name, which may
// hold slashes.
func Routes(cfg Config) []httpx.Route {
	return []httpx.Route{
		{Method: "POST", Pattern: "/v1/engines/{engine_id...}/completions", Permission: httpx.Inference, Streams: true, Handle: cfg.completions, Errors: Errors},
		{Method: "POST", Pattern: "/v1/engines/{engine_id...}/translate", Permission: httpx.Inference, Handle: cfg.translate, Errors: Errors},
		{Method: "POST", Pattern: "/v1/engines/{engine_id...}/logprob", Permission: httpx.Inference, Handle: cfg.logprob, Errors: Errors},
		{Method: "POST", Pattern: "/v1/engines/{engine_id...}/tokenize", Permission: httpx.Inference, Handle: cfg.tokenize, Errors: Errors},
	}
}

// open finds the engine of a request, as what the request needs it to be.
func open[C any](cfg Config, r *http.Request) (capability C, err error) {
	name := r.PathValue("engine_id")
	model, err := cfg.Models.Open(r.Context(), name)
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Code == llm.NotFound {
		missing := llm.Errorf(llm.NotFound, "the engine '%.200s' does not exist", name)
		missing.Param, missing.Err = "engine_id", err
		return capability, missing
	}
	if err != nil {
		return capability, err
	}
	return llm.As[C](model)
}

func (cfg Config) completions(w http.ResponseWriter, r *http.Request) error {
	var in completionRequest
	if err := httpx.DecodeJSON(r, &in); err != nil {
		return err
	}
	req, err := in.request()
	if err != nil {
		return err
	}
	model, err := open[llm.Backend](cfg, r)
	if err != nil {
		return err
	}
	if in.Stream {
		return rename(in.stream(w, r, model, req), "prompt")
	}
	rows, used, err := httpx.Collect(r, model, req)
	if err != nil {
		return rename(err, "prompt")
	}
	httpx.Guarantee(w, rows)
	return httpx.JSON(w, http.StatusOK, in.answer(rows, used))
}

// stream sends the answers of a completion as its chunks come, each as one write:
// there are clients that take what one read gives them for one answer.
func (c *completionRequest) stream(w http.ResponseWriter, r *http.Request, model llm.Backend, req *llm.Request) error {
	s := completionStream{many: c.many(), rows: make([]llm.Chunk, req.Rows())}
	out := httpx.NewStream(w, httpx.LineFeed)
	for chunk, err := range model.Generate(r.Context(), req) {
		if err != nil {
			return err
		}
		if answer, ok := s.answer(chunk); ok {
			if err := out.Send(answer); err != nil {
				return err
			}
		}
	}
	return nil
}

func (cfg Config) logprob(w http.ResponseWriter, r *http.Request) error {
	var in logprobRequest
	if err := httpx.DecodeJSON(r, &in); err != nil {
		return err
	}
	req, err := in.request()
	if err != nil {
		return err
	}
	scorer, err := open[llm.Scorer](cfg, r)
	if err != nil {
		return err
	}
	score, used, err := scorer.Score(r.Context(), req)
	if err != nil {
		return rename(err, "context")
	}
	return httpx.JSON(w, http.StatusOK, newLogprob(score, used))
}

func (cfg Config) translate(w http.ResponseWriter, r *http.Request) error {
	var in translateRequest
	if err := httpx.DecodeJSON(r, &in); err != nil {
		return err
	}
	req, err := in.request()
	if err != nil {
		return err
	}
	translator, err := open[llm.Translator](cfg, r)
	if err != nil {
		return err
	}
	list, used, err := translator.Translate(r.Context(), req)
	if err != nil {
		return rename(err, "text")
	}
	return httpx.JSON(w, http.StatusOK, in.answer(list, used))
}

// tokenize counts nothing: it is free (seed 001 §1.6).
func (cfg Config) tokenize(w http.ResponseWriter, r *http.Request) error {
	var in tokenizeRequest
	if err := httpx.DecodeJSON(r, &in); err != nil {
		return err
	}
	text, err := in.text()
	if err != nil {
		return err
	}
	tokenizer, err := open[llm.Tokenizer](cfg, r)
	if err != nil {
		return err
	}
	tokens, err := tokenizer.Tokenize(r.Context(), text, false)
	if err != nil {
		return rename(err, "text")
	}
	return httpx.JSON(w, http.StatusOK, in.answer(tokens))
}
