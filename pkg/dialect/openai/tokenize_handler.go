package openai

import (
	"context"
	"fmt"
	"net/http"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// tokenRoutes are vLLM's. Its clients name no model, because vLLM serves one: below
// /vllm/NAME the path names it. Completions are there too, because lm_eval derives all
// addresses from theirs.
func (cfg Config) tokenRoutes() []httpx.Route {
	const one = "/vllm/{id...}"
	routes := []httpx.Route{
		{Method: "GET", Pattern: one + "/tokenizer_info", Permission: httpx.Listing, Handle: cfg.tokenizerInfo},
		{Method: "POST", Pattern: one + "/v1/completions", Permission: httpx.Inference, Streams: true, Handle: cfg.complete},
		{Method: "GET", Pattern: "/tokenizer_info", Permission: httpx.Listing, Handle: cfg.tokenizerInfo},
	}
	for _, base := range []string{"", one} {
		routes = append(routes,
			httpx.Route{Method: "POST", Pattern: base + "/tokenize", Permission: httpx.Inference, Handle: cfg.tokenize},
			httpx.Route{Method: "POST", Pattern: base + "/detokenize", Permission: httpx.Inference, Handle: cfg.detokenize})
	}
	for i := range routes {
		routes[i].Errors = Errors
	}
	return routes
}

// openFor opens the model that the path of r names, or else the one that its body does.
func (cfg Config) openFor(r *http.Request, sent string) (*llm.Model, error) {
	name := r.PathValue("id")
	if name == "" {
		return cfg.open(r.Context(), sent)
	}
	model, err := cfg.open(r.Context(), name)
	if err == nil && sent != "" && sent != name && sent != model.Name {
		return nil, invalid("model", "is not the model of the path, %.200s", name)
	}
	return model, err
}

// tokenizerInfo describes the tokenizer of the model that the path or the query string names.
// Without a name it refuses to choose among several models: each has its own tokens, and a
// client that took those of another would compute wrong numbers without an error.
func (cfg Config) tokenizerInfo(w http.ResponseWriter, r *http.Request) error {
	named := r.URL.Query().Get("model")
	if r.PathValue("id") == "" && named == "" {
		if err := cfg.alone(r.Context()); err != nil {
			return err
		}
	}
	model, err := cfg.openFor(r, named)
	if err != nil {
		return err
	}
	if _, err := llm.As[llm.Tokenizer](model); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, newTokenizerInfo(&model.ModelInfo))
}

// alone refuses to choose among several models.
func (cfg Config) alone(ctx context.Context) error {
	infos, err := cfg.Models.List(ctx)
	if err != nil || len(infos) < 2 {
		return err
	}
	message := fmt.Sprintf("several models are served, each with tokens of its own: ask for /vllm/NAME/tokenizer_info."+
		" For lm_eval base_url is http://HOST/vllm/%s/v1/completions, if that is the model", infos[0].Name)
	return &llm.Error{Code: llm.Invalid, Param: "model", Message: message}
}

func (cfg Config) tokenize(w http.ResponseWriter, r *http.Request) error {
	var in tokenizeRequest
	if err := httpx.DecodeJSON(r, &in); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	model, err := cfg.openFor(r, in.Model)
	if err != nil {
		return err
	}
	tokenizer, err := llm.As[llm.Tokenizer](model)
	if err != nil {
		return err
	}
	parts, start, err := in.parts(model)
	if err != nil {
		return err
	}
	var tokens []llm.Token
	for i, part := range runs(parts) {
		more, err := tokenizer.Tokenize(r.Context(), part, start && i == 0)
		if err != nil {
			return err
		}
		tokens = append(tokens, more...)
	}
	return httpx.JSON(w, http.StatusOK, in.answer(tokens, model.Context))
}

func (cfg Config) detokenize(w http.ResponseWriter, r *http.Request) error {
	var in detokenizeRequest
	if err := httpx.DecodeJSON(r, &in); err != nil {
		return err
	}
	ids, err := in.ids()
	if err != nil {
		return err
	}
	model, err := cfg.openFor(r, in.Model)
	if err != nil {
		return err
	}
	tokenizer, err := llm.As[llm.Tokenizer](model)
	if err != nil {
		return err
	}
	text, err := tokenizer.Detokenize(r.Context(), ids)
	if err != nil {
		return rename(err, "tokens", "")
	}
	return httpx.JSON(w, http.StatusOK, detokenizeAnswer{text})
}
