package openai

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// Errors of documents have the keys that clients of Cohere, Jina and OpenAI read, on every path and before
// the body was read, too. Those of texts have the shape of Text Embeddings Inference at its path alone.
func TestRerankErrors(t *testing.T) {
	documents := func(message, code string) string {
		return `{"error":{"message":"` + message + `","type":"invalid_request_error",` + code + `},"id":"me","message":"` + message + `","detail":"` + message + `"}`
	}
	const noText, noDocuments = "Invalid value for 'texts': at least one document is required", "Invalid value for 'documents': at least one document is required"
	many := `["a"` + strings.Repeat(`,"a"`, 9999) + `]`
	for _, c := range []struct{ method, target, body, want string }{
		{"POST", "/rerank", `{"query":"q","documents":[]}`, `400 ` + documents(noDocuments, `"param":"documents","code":"invalid_value"`)},
		{"POST", "/v1/rerank", `{"query":"q","documents":[]}`, `400 ` + documents(noDocuments, `"param":"documents","code":"invalid_value"`)},
		{"POST", "/v2/rerank", `{"query":"q","documents":[]}`, `400 ` + documents(noDocuments, `"param":"documents","code":"invalid_value"`)},
		{"POST", "/v2/rerank", `{"query":"q","texts":[]}`, `400 ` + documents(noText, `"param":"texts","code":"invalid_value"`)},
		{"POST", "/v2/rerank", `{"model":"none","query":"q","documents":["a"]}`, `404 ` + documents("The model 'none' does not exist", `"param":"model","code":"model_not_found"`)},
		{"POST", "/rerank", `{"query":"q","texts":null}`, `400 ` + documents("Invalid value for 'documents': is required", `"param":"documents","code":"invalid_value"`)},
		{"POST", "/rerank", `[]`, `400 ` + documents("the body must be an object, not array", `"param":null,"code":null`)},
		{"GET", "/rerank", ``, `405 ` + documents("this path supports only POST", `"param":null,"code":"method_not_supported"`)},
		{"POST", "/rerank", `{"query":"q","texts":[]}`, `422 {"error":"` + noText + `","error_type":"Validation"}`},
		{"POST", "/rerank", `{"query":"q","texts":"a"}`, `422 {"error":"Invalid value for 'texts': must be an array, not string","error_type":"Validation"}`},
		{"POST", "/rerank", `{"query":"q","texts":` + many + `}`, `422 {"error":"Invalid value for 'texts': at most 2048 texts","error_type":"Validation"}`},
		{"POST", "/rerank", `{"query":"q","texts":["a"],"truncation_direction":"left"}`, `422 {"error":"Unsupported parameter 'truncation_direction': texts are cut at their end; only \"right\" or \"Right\" is accepted","error_type":"Validation"}`},
		{"POST", "/rerank", `{"query":"q","texts":["longer"]}`, `413 {"error":"This model's maximum context length is 4 tokens. However, your texts[0] resulted in 6 tokens. Please reduce the length of the texts[0].","error_type":"Validation"}`},
		{"POST", "/rerank", `{"model":"writer","query":"q","texts":["a"]}`, `424 {"error":"Unsupported parameter 'model': writer continues texts and has no reranker; these rank documents: ranker, embedder","error_type":"Backend"}`},
		{"POST", "/rerank", `{"model":"none","query":"q","texts":["a"]}`, `404 {"error":"The model 'none' does not exist","error_type":"Validation"}`},
		{"POST", "/v1/score", `{}`, `400 {"error":{"message":"Invalid value for 'text_1': at least one text is required","type":"invalid_request_error","param":"text_1","code":"invalid_value"}}`},
	} {
		h, _ := rankers()
		r := httptest.NewRequest(c.method, c.target, strings.NewReader(c.body))
		r.Header.Set("X-Request-Id", "me")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if got := fmt.Sprintf("%d %s", w.Code, strings.TrimSpace(w.Body.String())); got != c.want {
			t.Errorf("%s %.80s: %s, want %s", c.target, c.body, got, c.want)
		}
	}
}

// Each code has a status of Text Embeddings Inference, or its own if that server has none, and a type.
func TestTextsErrors(t *testing.T) {
	codes := map[llm.Code]string{
		llm.Invalid: "422 Validation", wire.UnknownParam: "422 Validation", llm.Unsupported: "422 Validation",
		llm.TooLong: "413 Validation", httpx.TooLarge: "413 Validation",
		llm.Unauthenticated: "401 Validation", llm.Forbidden: "403 Validation", llm.NotFound: "404 Validation", httpx.NoMethod: "405 Validation",
		llm.Overloaded: "429 Overloaded", llm.Unavailable: "503 Unhealthy",
		llm.Upstream: "424 Backend", llm.Internal: "500 Backend", llm.Timeout: "504 Backend",
	}
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		status, body := textsErrors.Body(&llm.Error{Code: code, Message: "m"})
		if got := fmt.Sprint(status, " ", body.(textsError).Type); got != codes[code] || http.StatusText(status) == "" {
			t.Errorf("%s: %s, want %s", code, got, codes[code])
		}
	}
}
