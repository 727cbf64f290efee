package openai

import (
	"fmt"
	"strings"
	"testing"
)

// Errors of embeddings have the keys that clients of OpenAI, Jina and Voyage read, also before the body
// was read.
func TestEmbeddingErrors(t *testing.T) {
	for _, c := range []struct{ method, body, want string }{
		{"POST", `{"model":"dense","input":[]}`, `400 {"error":{"message":"Invalid value for 'input': must not be an empty array","type":"invalid_request_error","param":"input","code":"invalid_value"},"detail":"Invalid value for 'input': must not be an empty array"}`},
		{"POST", `{"model":"none","input":"a"}`, `404 {"error":{"message":"The model 'none' does not exist","type":"invalid_request_error","param":"model","code":"model_not_found"},"detail":"The model 'none' does not exist"}`},
		{"GET", ``, `405 {"error":{"message":"this path supports only POST","type":"invalid_request_error","param":null,"code":"method_not_supported"},"detail":"this path supports only POST"}`},
	} {
		h, _ := embedders()
		w := ask(h, c.method, "/v1/embeddings", c.body)
		if got := fmt.Sprintf("%d %s", w.Code, strings.TrimSpace(w.Body.String())); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.method, c.body, got, c.want)
		}
	}
}
