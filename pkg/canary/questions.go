package canary

import (
	"encoding/json"
	"net/http"
	"net/url"
)

// A Question is a request, and where its answer is.
type Question struct {
	Method, Path, Body string
	Answer             string // keys to what the body of a right answer has, with dots between them
}

// Questions returns the question of each family: the cheapest that needs a model, where the
// family has one.
func Questions(m Models) map[string]Question {
	const prompt, tokens = "Once", 2
	type object = map[string]any
	message := []object{{"role": "user", "content": prompt}}
	post := func(path, answer string, body object) Question {
		text, _ := json.Marshal(body) // strings and numbers cannot fail
		return Question{http.MethodPost, path, string(text), answer}
	}
	return map[string]Question{
		"openai":     post("/v1/chat/completions", "choices.0.message", object{"model": m.Text, "messages": message, "max_tokens": tokens}),
		"responses":  post("/v1/responses", "output.0", object{"model": m.Text, "input": prompt, "max_output_tokens": 16, "store": false}),
		"messages":   post("/v1/messages", "content.0", object{"model": m.Text, "messages": message, "max_tokens": tokens}),
		"alpha":      post("/api/generate", "text", object{"model": m.Text, "prompt": prompt, "max_tokens": tokens}),
		"textsynth":  post("/v1/engines/"+url.PathEscape(m.Text)+"/completions", "text", object{"prompt": prompt, "max_tokens": tokens}),
		"alephalpha": post("/complete", "completions.0", object{"model": m.Text, "prompt": prompt, "maximum_tokens": tokens}),
		"lamini":     post("/v2/completions", "outputs", object{"model_name": m.Text, "prompt": prompt, "max_new_tokens": tokens}),
		"invoke": post("/invoke", "generated_text", object{
			"model_family": "local", "model_name": m.Text, "body": object{"prompt": prompt, "max_new_tokens": tokens},
		}),
		"embeddings": post("/v1/embeddings", "data.0.embedding.0", object{"model": m.Embedding, "input": prompt}),
		"ollama":     post("/api/embed", "embeddings.0.0", object{"model": m.Embedding, "input": prompt}),
		"batches":    {Method: http.MethodGet, Path: "/v1/batches", Answer: "data"},
	}
}
