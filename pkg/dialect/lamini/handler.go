package lamini

import (
	"context"
	"errors"
	"net/http"
	"path"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// Versions in the answer of /v1/version.
const (
	server = "1.0.0"
	client = "3.2.22"
)

// Config configures the dialect.
type Config struct {
	Models llm.Models
}

// Ours reports whether a request comes from Lamini's SDK, which tells its version.
func Ours(header http.Header) bool { return header.Get("Lamini-Version") != "" }

// Routes returns the routes of the dialect.
func Routes(cfg Config) []httpx.Route {
	complete := func(answer func(http.ResponseWriter, *http.Request, completion) error) httpx.Handler {
		return httpx.Post(completionTable, (*completionRequest).request, cfg.openCompletion, answer)
	}
	routes := []httpx.Route{
		{Method: http.MethodPost, Pattern: "/v1/completions", Permission: httpx.Inference, Doc: completeV1Doc, Handle: complete(completeV1)},
		{Method: http.MethodPost, Pattern: "/v2/completions", Permission: httpx.Inference, Doc: completeV2Doc, Handle: complete(completeV2)},
		{Method: http.MethodPost, Pattern: "/v1/embedding", Permission: httpx.Inference, Doc: embedDoc, Handle: httpx.Post(embeddingTable, (*embeddingRequest).request, cfg.openEmbedding, embed)},
		{Method: http.MethodGet, Pattern: "/v1/version", Permission: httpx.Public, Doc: versionDoc, Handle: version},
	}
	for i := range routes {
		routes[i].Errors = Errors
	}
	return routes
}

// A completion is a request for a completion with its opened model.
type completion = httpx.Call[completionRequest, *llm.Request, *llm.Model]

// version lists the endpoints. The SDK reads the versions from their paths.
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

func (cfg Config) openCompletion(r *http.Request, in *completionRequest) (*llm.Model, error) {
	return cfg.open(r.Context(), in.ModelName)
}

func (cfg Config) openEmbedding(r *http.Request, in *embeddingRequest) (llm.Embedder, error) {
	model, err := cfg.open(r.Context(), in.ModelName)
	if err != nil {
		return nil, err
	}
	return llm.As[llm.Embedder](model)
}

func completeV1(w http.ResponseWriter, r *http.Request, call completion) error {
	answer, err := complete(w, r, call)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, answer.Outputs)
}

func completeV2(w http.ResponseWriter, r *http.Request, call completion) error {
	answer, err := complete(w, r, call)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, answer)
}

// complete answers a completion with an output, or with a list if the prompt is a list.
func complete(w http.ResponseWriter, r *http.Request, call completion) (answerV2, error) {
	rows, _, err := httpx.Collect(r, call.Model, call.Req)
	if err != nil {
		return answerV2{}, err
	}
	httpx.Guarantee(w, rows)
	return call.In.answer(rows, call.Req)
}

func embed(w http.ResponseWriter, r *http.Request, call httpx.Call[embeddingRequest, *llm.EmbedRequest, llm.Embedder]) error {
	list, _, err := call.Model.Embed(r.Context(), call.Req)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, call.In.answer(list))
}
