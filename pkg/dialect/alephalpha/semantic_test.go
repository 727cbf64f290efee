package alephalpha

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
)

// sentences is a model that is trained for embeddings: each is (3, 4).
type sentences struct {
	llmtest.Script
	got *llm.EmbedRequest
}

func (s *sentences) Embed(_ context.Context, req *llm.EmbedRequest) ([]llm.Embedding, llm.Usage, error) {
	s.got = req
	if req.Dimensions > 2 {
		return nil, llm.Usage{}, &llm.Error{Code: llm.Invalid, Param: "dimensions", Message: "must be between 1 and 2"}
	}
	list := make([]llm.Embedding, len(req.Prompts))
	for i := range list {
		if text, _ := req.Prompts[i].Text(); text == "long" {
			return nil, llm.Usage{}, llm.TooManyTokens("the prompt has", 9, 8)
		}
		list[i].Layers = []llm.Layer{{Vectors: [][]float32{{3, 4}}}}
	}
	return list, llm.Usage{Input: 5}, nil
}

func TestSemantic(t *testing.T) {
	m := &sentences{}
	models := catalog{{ModelInfo: llm.ModelInfo{Name: "m", Family: "local"}, Backend: m}}
	h := (&httpx.Mux{Routes: Routes(Config{Models: models}), Fallback: Errors}).Handler()
	many := strings.Repeat(`"x",`, maxBatch) + `"x"`
	const one, batch = "/semantic_embed", "/batch_semantic_embed"
	for _, test := range []struct {
		path, body string
		status     int
		has        string
		want       *llm.EmbedRequest
	}{
		{one, `"prompt":"x","representation":"symmetric"`, 200, `"message":null,"embedding":[3.0,4.0],"num_tokens_prompt_total":5}`, &llm.EmbedRequest{Prompts: []llm.Prompt{llm.Text("x")}, Task: llm.EmbedSymmetric}},
		{one, `"prompt":[{"type":"text","data":"x"}],"representation":"query","normalize":true,"compress_to_size":2`, 200, `"embedding":[0.6,0.8]`, &llm.EmbedRequest{Prompts: []llm.Prompt{llm.Text("x")}, Task: llm.EmbedQuery, Dimensions: 2}},
		{batch, `"prompts":["x",[{"type":"token_ids","data":[7]}]],"representation":"document","normalize":true`, 200, `"embeddings":[[0.6,0.8],[0.6,0.8]],"num_tokens_prompt_total":5}`, &llm.EmbedRequest{Prompts: []llm.Prompt{llm.Text("x"), {Parts: []llm.Part{{Tokens: []int{7}}}}}, Task: llm.EmbedDocument}},
		{one, `"prompt":"x"`, 400, `"representation: is required"`, nil},
		{one, `"prompt":"x","representation":"both"`, 400, `"representation: must be symmetric, document or query, not \"both\""`, nil},
		{one, `"prompt":"","representation":"query"`, 400, `"prompt: must not be empty"`, nil},
		{one, `"prompt":"x","representation":"query","compress_to_size":0`, 400, `"compress_to_size: must be at least 1"`, nil},
		{one, `"prompt":"x","representation":"query","compress_to_size":128`, 400, `"compress_to_size: must be between 1 and 2"`, nil},
		{one, `"prompt":"long","representation":"query"`, 400, `the prompt has 9 tokens, the context of this model 8`, nil},
		{batch, `"prompts":[],"representation":"query"`, 400, `"prompts: at least one prompt is required"`, nil},
		{batch, `"prompts":["x",""],"representation":"query"`, 400, `"prompts[1]: must not be empty"`, nil},
		{batch, `"prompts":["x",null],"representation":"query"`, 400, `"prompts[1]: must not be null"`, nil},
		{batch, `"prompts":["x",[{"type":"image","data":"x"}]],"representation":"query"`, 400, `prompts[1][0]: items of type image are for completions only`, nil},
		{batch, `"prompts":["x",7],"representation":"query"`, 400, `"prompts[1]: must be `, nil},
		{batch, `"prompts":[` + many + `],"representation":"query"`, 400, `"prompts: at most 100`, nil},
	} {
		m.got = nil
		w := ask(h, "POST", test.path, `{"model":"m",`+test.body+`}`)
		if w.Code != test.status || !strings.Contains(strings.ReplaceAll(w.Body.String(), `\u0026`, "&"), test.has) {
			t.Errorf("%s %.80s: got %d %s", test.path, test.body, w.Code, w.Body)
		}
		if test.want != nil && !reflect.DeepEqual(m.got, test.want) {
			t.Errorf("%s %s: asked for %+v", test.path, test.body, m.got)
		}
	}
}
