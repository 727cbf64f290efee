//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Models at an endpoint that speaks OpenAI's API, with keys in Secrets Manager and in Systems
// Manager.
var farChats, farVectors = []string{"far", "farther"}, []string{"far-vectors", "farther-vectors"}

// addUpstreams writes their records as an operator does.
func addUpstreams(t *testing.T, w *World) {
	for i, key := range []string{"secretsmanager:glossa/endpoint#key", "ssm:/glossa/endpoint"} {
		add := []string{"models", "add", "--family", "openai", "--url", w.Models.upstream + "/v1", "--private", "--key", key, "--table-name", w.Table}
		w.glossa(t, append(add, farChats[i])...)
		w.glossa(t, append(add, "--like", "embeddings", farVectors[i])...)
	}
}

// startUpstream starts an endpoint that answers chats and embeds texts for those who have its
// key.
func startUpstream(t *testing.T, key string) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Model  string
			Stream bool
			Input  []string
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || r.Header.Get("Authorization") != "Bearer "+key {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		const usage = `"usage":{"prompt_tokens":1,"completion_tokens":1}`
		switch {
		case strings.HasPrefix(in.Model, "far") && r.URL.Path == "/v1/embeddings":
			data := make([]map[string]any, len(in.Input))
			for i := range data {
				data[i] = map[string]any{"index": i, "embedding": []float64{0.6, 0.8}}
			}
			list, _ := json.Marshal(data)
			fmt.Fprintf(w, `{"data":%s,%s}`, list, usage)
		case !strings.HasPrefix(in.Model, "far") || r.URL.Path != "/v1/chat/completions":
			w.WriteHeader(http.StatusNotFound)
		case in.Stream:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":\"so\"},\"finish_reason\":\"stop\"}]}\n\ndata: {\"choices\":[],%s}\n\ndata: [DONE]\n\n", usage)
		default:
			fmt.Fprintf(w, `{"choices":[{"message":{"content":"so"},"finish_reason":"stop"}],%s}`, usage)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// startSecrets starts the stand-in of Secrets Manager and Systems Manager.
func startSecrets(t *testing.T, key string) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.Header.Get("X-Amz-Target") + string(body) {
		case `secretsmanager.GetSecretValue{"SecretId":"glossa/endpoint"}`:
			fmt.Fprintf(w, `{"SecretString":%q}`, `{"key":"`+key+`"}`)
		case `AmazonSSM.GetParameter{"Name":"/glossa/endpoint","WithDecryption":true}`:
			fmt.Fprintf(w, `{"Parameter":{"Value":%q}}`, key)
		default:
			refuse(w, "ssm", http.StatusBadRequest, "ResourceNotFoundException", "there is no such thing")
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}
