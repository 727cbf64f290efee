package app

import (
	"encoding/json"
	"net/http"
	"sync"

	"glossa/pkg/host"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/openapi"
	"glossa/pkg/version"
)

const documentPath = "/openapi.json"

// apiInfo is the head of the OpenAPI document.
func apiInfo() openapi.Info {
	return openapi.Info{
		Title: "glossa", Version: version.Read().Version, Licence: "Apache-2.0",
		Description: "Language models over the protocols of OpenAI (with Batches and Responses), Anthropic, Ollama, Alpha, TextSynth, Aleph Alpha, Lamini and the API layer. Every answer has the header X-Request-Id. Bodies may be compressed with gzip.",
		Tags: []openapi.Tag{
			{Name: "OpenAI", Description: "OpenAI's chats, completions and embeddings, and vLLM's tokenizer routes."},
			{Name: "Batches", Description: "OpenAI's files, uploads and batches of requests."},
			{Name: "Responses", Description: "OpenAI's responses, which may be stored and continued."},
			{Name: "Anthropic", Description: "Anthropic's messages, and the count of their tokens."},
			{Name: "Ollama", Description: "Ollama's chats, texts, embeddings and lists of models. glossa serve --ollama serves them on a port of their own."},
			{Name: "Alpha", Description: "The API of Alpha's dashboard and training machines."},
			{Name: "TextSynth", Description: "Completions, translations, log-probabilities and tokens."},
			{Name: "Aleph Alpha", Description: "Completions, embeddings, evaluations, explanations, translations and tokens."},
			{Name: "Lamini", Description: "Completions with typed output, and embeddings."},
			{Name: "API layer", Description: "One body of canonical keys for every model."},
			{Name: serviceTag, Description: "The server itself."},
		},
	}
}

// serviceTag is the tag of routes that belong to no dialect.
const serviceTag = "Service"

var (
	documentDoc = &httpx.Operation{
		ID: "openapi", Tag: serviceTag, Summary: "Get this document",
		Answers: []httpx.Answer{{Description: "an OpenAPI document", Of: map[string]any{}}},
	}
)

// description returns the route of the OpenAPI document, which describes the given routes
// and itself. Behind a gateway it describes all routes, whichever function answers. No key
// is needed: the document is the same everywhere.
func (a *App) description(routes []httpx.Route, all func() []httpx.Route) httpx.Route {
	info := apiInfo()
	info.Open = !a.cfg.Auth
	self := httpx.Route{Method: http.MethodGet, Pattern: documentPath, Permission: httpx.Public, Doc: documentDoc}
	own := sync.OnceValues(func() ([]byte, error) {
		return openapi.Document(info, append(routes[:len(routes):len(routes)], self))
	})
	whole := sync.OnceValues(func() ([]byte, error) { return openapi.Document(info, all()) })
	self.Handle = func(w http.ResponseWriter, r *http.Request) error {
		document := own
		if host.BehindGateway(r.Context()) {
			document = whole
		}
		b, err := document()
		if err != nil {
			return &llm.Error{Code: llm.Internal, Message: "the document cannot be built", Err: err}
		}
		return httpx.JSON(w, http.StatusOK, json.RawMessage(b))
	}
	return self
}
