package app

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"

	"glossa/pkg/dialect/anthropic"
	"glossa/pkg/dialect/lamini"
	"glossa/pkg/dialect/ollama"
	"glossa/pkg/dialect/openai"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// A sharing is a path of two dialects. API Gateway routes by method and path alone, and a path
// belongs to one function: the family that owns it mounts the handlers of both.
type sharing struct {
	method, pattern string
	owner, guest    string     // families; pick returns 0 for the owner's, 1 for the guest's
	pick            httpx.Pick // nil: the owner has the path with other methods only
}

func sharings() []sharing {
	return []sharing{
		{http.MethodPost, "/v1/completions", "openai", "lamini", pickCompletions},
		{http.MethodGet, "/v1/models", "openai", "messages", pickModels},
		{http.MethodGet, "/v1/models/{id...}", "openai", "messages", pickModels},
		{http.MethodPost, "/api/chat", "alpha", "ollama", pickOllama},
		{http.MethodPost, "/api/generate", "alpha", "ollama", pickOllama},
		{http.MethodPost, "/embed", "alephalpha", "embeddings", openai.PickInputs},
		{http.MethodPost, "/{$}", "alpha", "embeddings", nil}, // the playground's page
		{http.MethodPost, "/tokenize", "alephalpha", "openai", pickTokens},
		{http.MethodPost, "/detokenize", "alephalpha", "openai", pickTokens},
	}
}

// routes returns the routes of a family, including the shared routes that it owns.
func (a *App) routes(family string) []httpx.Route {
	routes := a.own(family)
	for _, s := range sharings() {
		at := func(list []httpx.Route) int {
			return slices.IndexFunc(list, func(r httpx.Route) bool { return r.Method == s.method && r.Pattern == s.pattern })
		}
		switch family {
		case s.owner:
			guests := a.own(s.guest)
			guest := guests[at(guests)]
			if s.pick == nil {
				routes = append(routes, guest)
				continue
			}
			i := at(routes)
			routes[i] = httpx.Shared(s.pick, routes[i], guest)
		case s.guest:
			i := at(routes)
			routes = slices.Delete(routes, i, i+1)
		}
	}
	return routes
}

// pickCompletions distinguishes OpenAI's completions (0) from Lamini's (1): by the keys
// that only one of them has, and the header that Lamini's SDK sends. If the keys are
// missing or contradictory, the header decides, and errors have the shape of its
// dialect.
func pickCompletions(header http.Header, body []byte) (int, error) {
	byHeader := 0
	if lamini.Ours(header) {
		byHeader = 1
	}
	var keys struct {
		Model        json.RawMessage `json:"model"`
		ModelName    json.RawMessage `json:"model_name"`
		OutputType   json.RawMessage `json:"output_type"`
		MaxNewTokens json.RawMessage `json:"max_new_tokens"`
	}
	if json.Unmarshal(body, &keys) != nil { // the dialect returns a better error
		return byHeader, nil
	}
	isOpenAI, isLamini := keys.Model != nil, byHeader == 1
	for _, key := range []json.RawMessage{keys.ModelName, keys.OutputType, keys.MaxNewTokens} {
		isLamini = isLamini || key != nil
	}
	switch {
	case isOpenAI && isLamini:
		const message = "is OpenAI's key, but the request also has a key or a header of Lamini: send only one kind"
		return byHeader, &llm.Error{Code: llm.Unsupported, Param: "model", Message: message}
	case isLamini:
		return 1, nil
	}
	return 0, nil
}

// pickModels distinguishes OpenAI's clients (0) from Anthropic's (1).
func pickModels(header http.Header, _ []byte) (int, error) {
	if anthropic.Ours(header) {
		return 1, nil
	}
	return 0, nil
}

// pickOllama distinguishes Alpha's clients (0) from Ollama's (1).
func pickOllama(header http.Header, body []byte) (int, error) {
	if ollama.Ours(header, body) {
		return 1, nil
	}
	return 0, nil
}

// pickTokens distinguishes Aleph Alpha's /tokenize and /detokenize (0) from vLLM's (1),
// which belongs to OpenAI's dialect. Aleph Alpha's requests have flags for the wanted
// tokens, or token_ids; vLLM's have a prompt or messages with other keys, or a list of
// tokens.
func pickTokens(header http.Header, body []byte) (int, error) {
	var keys map[string]json.RawMessage
	if json.Unmarshal(body, &keys) != nil { // the dialect returns a better error
		return 0, nil
	}
	tokens, hasTokens := keys["tokens"]
	_, hasIDs := keys["token_ids"]
	if hasIDs || hasTokens && !bytes.HasPrefix(tokens, []byte("[")) || len(keys) == 0 {
		return 0, nil
	}
	return 1, nil
}
