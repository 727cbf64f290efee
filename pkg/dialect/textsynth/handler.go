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
		{Method: "POST", Pattern: "/v1/engines/{engine_id...}/logprob", Permission: httpx.Inference, Handle: cfg.logprob, Errors: Errors},
		{Method: "POST", Pattern: "/v1/engines/{engine_id...}/translate", Permission: httpx.Inference, Handle: cfg.translate, Errors: Errors},
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
	httpx.RecordOf(r.Context()).Count(used)
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
	httpx.RecordOf(r.Context()).Count(used)
	return httpx.JSON(w, http.StatusOK, in.answer(list, used))
}
