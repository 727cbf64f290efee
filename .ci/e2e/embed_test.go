//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// embedded embeds and ranks texts with an encoder that the operator packs and copies to the
// bucket, and with a reranker whose directory is copied as it is: through the REST API, whose
// paths lead to the function for embeddings, and through the URL of that function.
func embedded(t *testing.T, w *World, key string) string {
	file := filepath.Join(t.TempDir(), "sentences.safetensors")
	w.glossa(t, "pack", encoder, "--quant", "q8_0", "-o", file)
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	w.put(filepath.Base(file), content)
	w.model(t, "ranker", ranker, true)
	w.fresh(t)
	before, begun := w.Fleets["embeddings"].Starts(), time.Now()
	first := w.vectors(t, w.api(""), key)
	took := time.Since(begun)
	if n := w.Fleets["embeddings"].Starts() - before; n != 1 {
		t.Errorf("the API starts %d processes of the function", n)
	}
	if got := w.vectors(t, w.url("embeddings", ""), key); !slices.EqualFunc(got, first, slices.Equal) {
		t.Errorf("the function URL gives %v, the API %v", got, first)
	}
	for door, base := range map[string]string{"REST": w.api(""), "function URL": w.url("embeddings", "")} {
		w.ranked(t, door, base, key)
	}
	for _, family := range []string{"openai", "alephalpha"} {
		if a := w.ask(t, request{method: "POST", url: w.url(family, "/v1/embeddings"), key: key, body: `{"input": "a"}`}); a.status != 404 {
			t.Errorf("the function URL of %s embeds texts too: %s", family, a)
		}
	}
	return fmt.Sprintf("the first embeddings of a cold function after %d ms, the same vectors through both doors", took.Milliseconds())
}

// vectors returns the embeddings of two texts, of length 1.
func (w *World) vectors(t *testing.T, base, key string) (list [][]float64) {
	t.Helper()
	a := w.ask(t, request{method: "POST", url: base + "/v1/embeddings", key: key,
		body: `{"model": "sentences", "input": ["the hen", "a dog and the hen"], "encoding_format": "float", "dimensions": 8}`})
	var answer struct {
		Data  []struct{ Embedding []float64 }
		Usage struct {
			Tokens int `json:"prompt_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(a.body), &answer); err != nil || a.status != 200 || len(answer.Data) != 2 || answer.Usage.Tokens != 11 {
		t.Fatalf("%s: %s", base, a)
	}
	for _, d := range answer.Data {
		length := 0.0
		for _, v := range d.Embedding {
			length += v * v
		}
		if len(d.Embedding) != 8 || math.Abs(length-1) > 1e-5 {
			t.Errorf("%s: %d dimensions of length %v", base, len(d.Embedding), math.Sqrt(length))
		}
		list = append(list, d.Embedding)
	}
	return list
}

// ranked ranks documents on each path of rerankers. The best one is the same on all.
func (w *World) ranked(t *testing.T, door, base, key string) {
	t.Helper()
	for path, body := range map[string]string{
		"/rerank":    `{"query": "a hen", "documents": ["the hen", "a dog"]}`,
		"/v1/rerank": `{"model": "ranker", "query": "a hen", "documents": ["the hen", "a dog"]}`,
		"/v2/rerank": `{"model": "ranker", "query": "a hen", "documents": ["the hen", "a dog"], "top_n": 1}`,
	} {
		a := w.ask(t, request{method: "POST", url: base + path, key: key, body: body})
		var answer struct {
			Results []struct {
				Index int
				Score float64 `json:"relevance_score"`
			}
		}
		if err := json.Unmarshal([]byte(a.body), &answer); err != nil || a.status != 200 || len(answer.Results) == 0 || answer.Results[0].Index != 1 {
			t.Errorf("%s %s: %s", door, path, a)
		}
	}
	for path, body := range map[string]string{
		"/v1/embed": `{"model": "sentences", "texts": ["the hen"]}`,
		"/v2/embed": `{"model": "sentences", "texts": ["the hen"], "input_type": "search_query"}`,
	} {
		if a := w.ask(t, request{method: "POST", url: base + path, key: key, body: body}); a.status != 200 {
			t.Errorf("%s %s: %s", door, path, a)
		}
	}
	for _, path := range []string{"/score", "/v1/score"} {
		a := w.ask(t, request{method: "POST", url: base + path, key: key, body: `{"model": "ranker", "text_1": "a hen", "text_2": ["the hen", "a dog"]}`})
		var answer struct{ Data []struct{ Score float64 } }
		if err := json.Unmarshal([]byte(a.body), &answer); err != nil || a.status != 200 || len(answer.Data) != 2 || answer.Data[0].Score >= answer.Data[1].Score {
			t.Errorf("%s %s: %s", door, path, a)
		}
	}
}
