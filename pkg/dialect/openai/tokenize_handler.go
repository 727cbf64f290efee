package openai

import (
	"context"
	"fmt"
	"net/http"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// tokenRoutes returns vLLM's routes, and at one of their paths that of Text Embeddings Inference. Its clients name no model, because vLLM serves one:
// below /vllm/NAME the path names it. Completions are there too, because lm_eval derives
// all addresses from theirs.
func (cfg Config) tokenRoutes() []httpx.Route {
	const one = "/vllm/{id...}"
	tokenize := httpx.Post(tokenizeTable, (*tokenizeRequest).input, open[tokenizeRequest](cfg), answerTokens)
	inputs := httpx.Post(inputTokensTable, (*inputTokensRequest).texts, openReader[inputTokensRequest](cfg), answerInputTokens)
	detokenize := httpx.Post(detokenizeTable, (*detokenizeRequest).ids, open[detokenizeRequest](cfg), answerText)
	return []httpx.Route{
		{Method: "GET", Pattern: one + "/tokenizer_info", Permission: httpx.Listing, Doc: modelTokenizerInfoDoc, Handle: cfg.tokenizerInfo},
		{Method: "POST", Pattern: one + "/v1/completions", Permission: httpx.Inference, Streams: true, Doc: modelCompletionDoc, Handle: cfg.completions()},
		{Method: "GET", Pattern: "/tokenizer_info", Permission: httpx.Listing, Doc: tokenizerInfoDoc, Handle: cfg.tokenizerInfo},
		httpx.Shared(PickInputs,
			httpx.Route{Method: "POST", Pattern: "/tokenize", Permission: httpx.Inference, Doc: tokenizeDoc, Errors: Errors, Handle: tokenize},
			httpx.Route{Method: "POST", Pattern: "/tokenize", Permission: httpx.Inference, Doc: inputTokensDoc, Errors: textsErrors, Handle: inputs}),
		{Method: "POST", Pattern: "/detokenize", Permission: httpx.Inference, Doc: detokenizeDoc, Handle: detokenize},
		{Method: "POST", Pattern: one + "/tokenize", Permission: httpx.Inference, Doc: modelTokenizeDoc, Handle: tokenize},
		{Method: "POST", Pattern: one + "/detokenize", Permission: httpx.Inference, Doc: modelDetokenizeDoc, Handle: detokenize},
	}
}

// tokenizerInfo describes the tokenizer of the model that the path or the query string names.
// Without a name it refuses to choose among several models: each has its own tokens, and a
// client that used those of another would compute wrong numbers without an error.
func (cfg Config) tokenizerInfo(w http.ResponseWriter, r *http.Request) error {
	var in modelKey
	if err := httpx.DecodeQuery(r, tokenizerInfoTable, &in); err != nil {
		return err
	}
	if r.PathValue("id") == "" && in.Model == "" {
		if err := cfg.alone(r.Context()); err != nil {
			return err
		}
	}
	model, err := cfg.openNamed(r, in.Model)
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
	message := fmt.Sprintf("several models are served, each with its own tokens: use /vllm/NAME/tokenizer_info."+
		" For lm_eval, set base_url, for example to http://HOST/vllm/%s/v1/completions", infos[0].Name)
	return &llm.Error{Code: llm.Invalid, Param: "model", Message: message}
}

func answerTokens(w http.ResponseWriter, r *http.Request, call httpx.Call[tokenizeRequest, *input, *llm.Model]) error {
	tokenizer, err := llm.As[llm.Tokenizer](call.Model)
	if err != nil {
		return err
	}
	parts, start, err := call.In.parts(r.Context(), call.Req, call.Model)
	if err != nil {
		return err
	}
	tokens, err := tokenizer.Tokenize(r.Context(), parts, start)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, call.In.answer(tokens, call.Model.Context))
}

func answerText(w http.ResponseWriter, r *http.Request, call httpx.Call[detokenizeRequest, []int, *llm.Model]) error {
	tokenizer, err := llm.As[llm.Tokenizer](call.Model)
	if err != nil {
		return err
	}
	text, err := tokenizer.Detokenize(r.Context(), call.Req)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, detokenizeAnswer{text})
}
