package openai

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
)

// letters embeds a text by its letters: a sparse embedding weighs each by its number, and each
// has a vector. It records the last request.
type letters struct {
	llmtest.Script
	last llm.EmbedRequest
}

func (l *letters) Embed(_ context.Context, req *llm.EmbedRequest) ([]llm.Embedding, llm.Usage, error) {
	l.last = *req
	out := make([]llm.Embedding, len(req.Prompts))
	for i, p := range req.Prompts {
		text, _ := p.Text()
		out[i] = embedLetters(text, req.Kind)
	}
	return out, llm.Usage{Input: len(out)}, nil
}

func embedLetters(text string, kind llm.EmbedKind) llm.Embedding {
	layer := llm.Layer{}
	var tokens []llm.Token
	switch kind {
	case llm.EmbedSparse:
		layer.Vectors = [][]float32{{}}
		for id := 'a'; id <= 'z'; id++ {
			if n := strings.Count(text, string(id)); n > 0 {
				tokens = append(tokens, llm.Token{ID: int(id), Piece: string(id)})
				layer.Vectors[0] = append(layer.Vectors[0], float32(n))
			}
		}
	case llm.EmbedMulti, llm.EmbedUnpooled:
		layer.Vectors = [][]float32{}
		for _, id := range text {
			tokens = append(tokens, llm.Token{ID: int(id), Piece: string(id)})
			sin, cos := math.Sincos(float64(id-'a') * math.Pi / 2)
			layer.Vectors = append(layer.Vectors, []float32{float32(math.Round(cos)), float32(math.Round(sin))})
		}
	default:
		layer.Vectors = [][]float32{{3, 4}}
	}
	return llm.Embedding{Tokens: tokens, Layers: []llm.Layer{layer}}
}

// typesOnly returns a handler over models with some types of embeddings.
func typesOnly(name string, types ...llm.EmbedKind) (http.Handler, *letters) {
	l := &letters{}
	models := llm.Fixed{{ModelInfo: llm.ModelInfo{Name: name, Family: "local", Task: llm.TaskEmbed, Embeds: types}, Backend: l}}
	routes := Routes(Config{Models: models, Now: func() time.Time { return time.Unix(7, 0) }})
	return (&httpx.Mux{Routes: routes, Fallback: Errors}).Handler(), l
}

// Each type has its shape, its tokens on request, and a bound of values.
func TestEmbeddingTypes(t *testing.T) {
	h, l := typesOnly("m3", llm.EmbedDense, llm.EmbedSparse, llm.EmbedMulti)
	for body, want := range map[string]string{
		``:                                      `"embedding":[0.6,0.8]}]`,
		`,"type":"dense"`:                       `"embedding":[0.6,0.8]}]`,
		`,"type":"sparse"`:                      `"embedding":{"indices":[97,98],"values":[2,1]}}]`,
		`,"type":"sparse","return_tokens":true`: `"embedding":{"indices":[97,98],"values":[2,1]},"tokens":["a","b"]}]`,
		`,"type":"sparse","encoding_format":"base64"`:       `"embedding":{"indices":[97,98],"values":[2,1]}}]`,
		`,"type":"multi_vector"`:                            `"embedding":[[0,1],[1,0],[1,0]],"shape":[3,2]}]`,
		`,"type":"multi_vector","return_tokens":true`:       `"embedding":[[0,1],[1,0],[1,0]],"shape":[3,2],"tokens":["b","a","a"]}]`,
		`,"type":"multi_vector","encoding_format":"base64"`: `"embedding":"AAAAAAAAgD8AAIA/AAAAAAAAgD8AAAAA","shape":[3,2]}]`,
		`,"type":"other"`:                                   `"param":"type"`,
		`,"return_tokens":true`:                             `return_tokens`,
		`,"type":"dense","return_tokens":true`:              `is only accepted with type sparse or multi_vector`,
	} {
		w := ask(h, "POST", "/v1/embeddings", `{"model":"m3","input":"baa"`+body+`}`)
		if got := w.Body.String(); !strings.Contains(got, want) || strings.Contains(want, "embedding") != (w.Code == 200) {
			t.Errorf("%s: %d %s, want %s", body, w.Code, got, want)
		}
	}
	if w := ask(h, "POST", "/v1/embeddings", `{"model":"m3","input":"a","type":"multi_vector","input_type":"query","dimensions":2,"truncate":true}`); w.Code != 200 ||
		l.last.Kind != llm.EmbedMulti || l.last.Task != llm.EmbedQuery || l.last.Dimensions != 2 || !l.last.Truncate || l.last.MaxValues != maxValues {
		t.Errorf("%d, %+v", w.Code, l.last)
	}
	if w := ask(h, "GET", "/v1/models", ""); !strings.Contains(w.Body.String(), `"task":"embed","embedding_types":["dense","sparse","multi_vector"]}`) {
		t.Errorf("%s", w.Body)
	}
}

// The base64 text of vectors of tokens has them in their order, and its shape divides it.
func TestEmbeddingShape(t *testing.T) {
	h, _ := typesOnly("late", llm.EmbedMulti)
	var answer struct {
		Data []struct {
			Embedding string
			Shape     []int
		}
	}
	w := ask(h, "POST", "/v1/embeddings", `{"model":"late","input":"abcd","type":"multi_vector","encoding_format":"base64"}`)
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(answer.Data[0].Embedding)
	if err != nil || !slices.Equal(answer.Data[0].Shape, []int{4, 2}) || len(raw) != 4*4*2 {
		t.Fatalf("%d bytes, shape %v, %v", len(raw), answer.Data[0].Shape, err)
	}
	if third := math.Float32frombits(binary.LittleEndian.Uint32(raw[4*4:])); third != -1 {
		t.Errorf("the third vector begins with %v", third)
	}
}

// A model without dense embeddings ranks by what it has: vectors of tokens by the sum of each
// query vector's largest product, sparse ones by their product.
func TestRerankByTypes(t *testing.T) {
	const body = `{"query":"aab","documents":["a","bc","aabb","x"]}`
	for _, c := range []struct {
		types []llm.EmbedKind
		want  string
	}{
		{[]llm.EmbedKind{llm.EmbedMulti}, `[{"index":2,"relevance_score":3},{"index":0,"relevance_score":2},{"index":1,"relevance_score":1},{"index":3,"relevance_score":-1}]`},
		{[]llm.EmbedKind{llm.EmbedSparse}, `[{"index":2,"relevance_score":6},{"index":0,"relevance_score":2},{"index":1,"relevance_score":1},{"index":3,"relevance_score":0}]`},
		{[]llm.EmbedKind{llm.EmbedDense, llm.EmbedSparse, llm.EmbedMulti}, `[{"index":0,"relevance_score":1},`},
	} {
		h, _ := typesOnly("ranks", c.types...)
		if w := ask(h, "POST", "/v2/rerank", body); w.Code != 200 || !strings.Contains(w.Body.String(), `"results":`+c.want) {
			t.Errorf("%v: %d %s, want %s", c.types, w.Code, w.Body, c.want)
		}
	}
}
