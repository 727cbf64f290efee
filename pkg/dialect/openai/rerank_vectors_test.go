package openai

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
)

// compass is an embedder of four directions. It records what it is asked for.
type compass struct {
	llmtest.Script
	tasks []llm.EmbedTask
	texts []int
	cut   []bool
}

func (c *compass) Embed(_ context.Context, req *llm.EmbedRequest) ([]llm.Embedding, llm.Usage, error) {
	c.tasks, c.texts, c.cut = append(c.tasks, req.Task), append(c.texts, len(req.Prompts)), append(c.cut, req.Truncate)
	directions := map[string][]float32{"north": {0, 2}, "east": {3, 0}, "south": {0, -1}, "north-east": {1, 1}}
	var out []llm.Embedding
	for i, p := range req.Prompts {
		text, _ := p.Text()
		if text == "broken" {
			return nil, llm.Usage{}, llm.Errorf(llm.Internal, "the embedder is broken")
		}
		if text == "long" {
			long := llm.TooManyTokens("the prompt has", 9, 8)
			if len(req.Prompts) > 1 {
				long.Param = fmt.Sprintf("prompt[%d]", i)
			}
			return nil, llm.Usage{}, long
		}
		v := directions[text]
		if v == nil {
			v = []float32{0, 0}
		}
		out = append(out, llm.Embedding{Layers: []llm.Layer{{Vectors: [][]float32{v}}}})
	}
	return out, llm.Usage{Input: len(out)}, nil
}

// compassOnly returns a handler over an embedder and a model that has vectors but was not made
// to embed.
func compassOnly() (http.Handler, *compass) {
	c := &compass{}
	models := llm.Fixed{
		{ModelInfo: llm.ModelInfo{Name: "writer"}, Backend: c},
		{ModelInfo: llm.ModelInfo{Name: "embedder", Task: llm.TaskEmbed, Context: 8}, Backend: c},
	}
	routes := Routes(Config{Models: models, Now: func() time.Time { return time.Unix(7, 0) }})
	return (&httpx.Mux{Routes: routes, Fallback: Errors}).Handler(), c
}

// An embedder ranks documents by the cosine of its vectors: the query as a query, each different
// document once.
func TestRerankByVectors(t *testing.T) {
	h, c := compassOnly()
	w := ask(h, "POST", "/v2/rerank", `{"query":"north","documents":["east","north-east","south","north","east","nowhere"]}`)
	const want = `"model":"embedder","results":[{"index":3,"relevance_score":1},{"index":1,"relevance_score":0.7071067811865475},{"index":0,"relevance_score":0},{"index":4,"relevance_score":0},{"index":5,"relevance_score":0},{"index":2,"relevance_score":-1}],`
	if got := w.Body.String(); w.Code != 200 || !strings.Contains(got, want) || !strings.Contains(got, `"usage":{"prompt_tokens":6,`) {
		t.Errorf("%d %s", w.Code, got)
	}
	if !slices.Equal(c.tasks, []llm.EmbedTask{llm.EmbedQuery, llm.EmbedDocument}) || !slices.Equal(c.texts, []int{1, 5}) || !slices.Equal(c.cut, []bool{true, true}) {
		t.Errorf("%+v", c)
	}
	for _, each := range []struct{ target, body, want string }{
		{"/v1/score", `{"text_1":["north","east"],"text_2":["south","east"]}`, `"data":[{"index":0,"object":"score","score":-1},{"index":1,"object":"score","score":1}],"usage":{"prompt_tokens":4,`},
		{"/rerank", `{"query":"east","texts":["north","east"]}`, `[{"index":1,"score":1},{"index":0,"score":0}]`},
		{"/rerank", `{"query":"east","documents":["east"],"max_tokens_per_doc":4096,"truncate_prompt_tokens":8}`, `"relevance_score":1`},
	} {
		if w := ask(h, "POST", each.target, each.body); w.Code != 200 || !strings.Contains(w.Body.String(), each.want) {
			t.Errorf("%s %s: %d %s, want %s", each.target, each.body, w.Code, w.Body, each.want)
		}
	}
}

// More documents than the model embeds at once are embedded in turn, in their order.
func TestRerankManyByVectors(t *testing.T) {
	h, c := compassOnly()
	var list []string
	for i := range textsAtOnce + 3 {
		list = append(list, `"d`+strings.Repeat("x", i)+`"`)
	}
	w := ask(h, "POST", "/rerank", `{"query":"north","top_n":1,"documents":[`+strings.Join(append(list, `"north"`), ",")+`]}`)
	if !strings.Contains(w.Body.String(), `"results":[{"index":259,"relevance_score":1`) || !slices.Equal(c.texts, []int{1, textsAtOnce, 4}) {
		t.Errorf("%d %.200s, %v", w.Code, w.Body, c.texts)
	}
}

// What vectors cannot do is rejected by the client's key.
func TestBadRerankByVectors(t *testing.T) {
	many := []string{`"again"`}
	for i := range textsAtOnce {
		many = append(many, `"d`+strings.Repeat("x", i)+`"`)
	}
	for _, c := range []struct{ target, body, want string }{
		{"/rerank", `{"model":"writer","query":"q","documents":["a"]}`, `writer continues texts and has no reranker; these rank documents: embedder`},
		{"/rerank", `{"query":"q","documents":["a"],"use_activation":false}`, `'use_activation': this model embeds texts`},
		{"/v1/rerank", `{"query":"q","texts":["a"],"raw_scores":true}`, `'raw_scores': this model embeds texts`},
		{"/rerank", `{"query":"q","documents":["a"],"max_tokens_per_doc":7}`, `'max_tokens_per_doc': this model embeds texts`},
		{"/v1/score", `{"text_1":"q","text_2":["a"],"truncate_prompt_tokens":7}`, `'truncate_prompt_tokens': this model embeds texts`},
		{"/v1/rerank", `{"query":"long","texts":["a"]}`, `your query resulted in 9 tokens`},
		{"/v2/rerank", `{"query":"long","documents":["a"]}`, `your query resulted in 9 tokens`},
		{"/v1/rerank", `{"query":"q","documents":["a","a","long","b","long"]}`, `your documents[2] resulted in 9 tokens`},
		{"/v1/rerank", `{"query":"q","documents":["long"]}`, `your documents[0] resulted in 9 tokens`},
		{"/v1/rerank", `{"query":"q","texts":["a","long"]}`, `your texts[1] resulted in 9 tokens`},
		{"/v1/rerank", `{"query":"q","documents":[` + strings.Join(many, ",") + `,"long"]}`, `your documents[257] resulted in 9 tokens`},
		{"/v1/score", `{"text_1":"long","text_2":["a"]}`, `your text_1 resulted in 9 tokens`},
		{"/v1/score", `{"text_1":["a","a","long"],"text_2":["a","b","c"]}`, `your text_1[2] resulted in 9 tokens`},
		{"/v1/score", `{"queries":["a","b"],"documents":["a","long"]}`, `your documents[1] resulted in 9 tokens`},
		{"/rerank", `{"query":"q","documents":["broken"]}`, `"message":"the embedder is broken","type":"server_error","param":null`},
	} {
		h, _ := compassOnly()
		if w := ask(h, "POST", c.target, c.body); w.Code == 200 || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s: %d %s, want %s", c.target, c.body, w.Code, w.Body, c.want)
		}
	}
}
