package lamini

import (
	"context"
	"errors"
	"net/http"
	"path"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// Versions that /v1/version tells.
const (
	server = "1.0.0"
	client = "3.2.22"
)

// Config is what the dialect is given.
type Config struct {
	Models llm.Models
}

// Routes returns the routes of the dialect.
func Routes(cfg Config) []httpx.Route {
	return []httpx.Route{
		{Method: "POST", Pattern: "/v1/completions", Permission: httpx.Inference, Handle: cfg.completeV1, Errors: Errors},
		{Method: "POST", Pattern: "/v2/completions", Permission: httpx.Inference, Handle: cfg.completeV2, Errors: Errors},
		{Method: "POST", Pattern: "/v1/embedding", Permission: httpx.Inference, Handle: cfg.embed, Errors: Errors},
		{Method: "GET", Pattern: "/v1/version", Permission: httpx.Public, Handle: version, Errors: Errors},
	}
}

// version lists the endpoints, in whose paths the SDK looks for their versions.
func version(w http.ResponseWriter, _ *http.Request) error {
	answer := versionAnswer{Server: server, Client: client}
	for _, route := range Routes(Config{}) {
		answer.API = append(answer.API, endpoint{path.Base(route.Pattern), route.Pattern})
	}
	return httpx.JSON(w, http.StatusOK, answer)
}

func (cfg Config) open(ctx context.Context, name string) (*llm.Model, error) {
	model, err := cfg.Models.Open(ctx, name)
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Code == llm.NotFound {
		missing := llm.Errorf(llm.NotFound, "the model '%.200s' does not exist", name)
		missing.Param, missing.Err = "model_name", err
		return nil, missing
	}
	return model, err
}

func (cfg Config) completeV1(w http.ResponseWriter, r *http.Request) error {
	outputs, _, err := cfg.complete(w, r)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, outputs)
}

func (cfg Config) completeV2(w http.ResponseWriter, r *http.Request) error {
	outputs, reasons, err := cfg.complete(w, r)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, answerV2{outputs, reasons})
}

// complete answers a completion in the form of its prompt.
func (cfg Config) complete(w http.ResponseWriter, r *http.Request) (outputs, reasons any, err error) {
	var in completionRequest
	if err := httpx.DecodeJSON(r, &in); err != nil {
		return nil, nil, err
	}
	req, err := in.request()
	if err != nil {
		return nil, nil, err
	}
	model, err := cfg.open(r.Context(), *in.ModelName)
	if err != nil {
		return nil, nil, err
	}
	rows, _, err := httpx.Collect(r, model, req)
	if err != nil {
		return nil, nil, in.rename(err)
	}
	httpx.Guarantee(w, rows)
	return in.outputs(rows, req)
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
	model, err := cfg.open(r.Context(), *in.ModelName)
	if err != nil {
		return err
	}
	embedder, err := llm.As[llm.Embedder](model)
	if err != nil {
		return err
	}
	list, _, err := embedder.Embed(r.Context(), req)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, in.answer(list))
}
