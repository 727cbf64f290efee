package openai

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
)

// ranker is a backend whose logit of a document is its length, at most 4, less that of the
// query. It rejects documents of more than 4 bytes unless it may cut them.
type ranker struct{ got *llm.RerankRequest }

func (*ranker) Generate(context.Context, *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		yield(llm.Chunk{}, llm.Errorf(llm.Unsupported, "this model ranks documents"))
	}
}

func (r *ranker) Rerank(_ context.Context, req *llm.RerankRequest) (out []llm.Relevance, used llm.Usage, err error) {
	r.got = req
	for i, p := range req.Pairs {
		most := cmp.Or(req.MaxDocument, 4)
		n := min(len(p.Document), most)
		if len(p.Document) > most && req.MaxDocument == 0 && !req.Truncate {
			long := llm.TooManyTokens("the query and the document have", len(p.Document), most)
			long.Param = fmt.Sprintf("documents[%d]", i)
			return nil, llm.Usage{}, long
		}
		logit := float64(n - len(p.Query))
		out = append(out, llm.Relevance{Score: logit / 4, Logit: logit, Tokens: n, Cut: n < len(p.Document)})
		used.Input += n
	}
	return out, used, nil
}

// rankers returns a handler over a model that continues texts, one that embeds them and one that
// ranks them.
func rankers() (http.Handler, *ranker) {
	r := &ranker{}
	info := func(name string, task llm.Task) llm.ModelInfo {
		return llm.ModelInfo{Name: name, Family: "local", Task: task}
	}
	models := llm.Fixed{
		{ModelInfo: info("writer", ""), Backend: llmtest.Script{"hi"}},
		{ModelInfo: info("embedder", llm.TaskEmbed), Backend: vectors{}},
		{ModelInfo: info("ranker", llm.TaskRerank), Backend: r},
	}
	routes := Routes(Config{Models: models, Now: func() time.Time { return time.Unix(7, 0) }})
	return (&httpx.Mux{Routes: routes, Fallback: Errors}).Handler(), r
}

// Clients of Cohere, Jina, vLLM, Voyage, Aleph Alpha and Text Embeddings Inference get the answers that
// they know: the most relevant first, and equal ones in their order.
func TestRerank(t *testing.T) {
	const three = `{"query":"q","documents":["a",{"text":"ccc","id":7},"bb"]`
	const usage = `"usage":{"prompt_tokens":6,"completion_tokens":0,"total_tokens":6}}`
	meta := func(version string) string {
		return `"meta":{"api_version":{"version":"` + version + `"},"billed_units":{"search_units":1},"tokens":{"input_tokens":6,"output_tokens":0}},`
	}
	for _, c := range []struct{ target, body, want string }{
		{"/v2/rerank", three + `,"max_tokens_per_doc":9,"priority":3}`, `"model":"ranker","results":[{"index":1,"relevance_score":0.5},{"index":2,"relevance_score":0.25},{"index":0,"relevance_score":0}],` + meta("2") + usage},
		{"/v2/rerank", three + `,"return_documents":true,"top_n":1}`, `"results":[{"index":1,"relevance_score":0.5,"document":{"text":"ccc","id":7}}],`},
		{"/v1/rerank", three + `,"rank_fields":["text"],"top_n":2}`, `"results":[{"index":1,"relevance_score":0.5,"document":{"text":"ccc","id":7}},{"index":2,"relevance_score":0.25,"document":{"text":"bb"}}],` + meta("1") + usage},
		{"/rerank", three + `,"return_documents":false,"use_activation":false,"top_n":0}`, `"results":[{"index":1,"relevance_score":2},{"index":2,"relevance_score":1},{"index":0,"relevance_score":0}],`},
		{"/rerank", `{"query":"q","documents":["b","longer","c","longest"]}`, `"results":[{"index":1,"relevance_score":0.75,"document":{"text":"longer"}},{"index":3,"relevance_score":0.75,"document":{"text":"longest"}},{"index":0,`},
		{"/rerank", `{"query":"q","documents":["b","longer"],"return_documents":false}`, `"warnings":["documents [1] were cut to the maximum length"]`},
		{"/rerank", `{"query":"q","documents":"b"}`, `"results":[{"index":0,"relevance_score":0,"document":{"text":"b"}}],`},
		{"/v1/rerank", three + `,"top_k":null,"truncation":true}`, `{"object":"list","data":[{"index":1,"relevance_score":0.5},{"index":2,"relevance_score":0.25},{"index":0,"relevance_score":0}],"model":"ranker",` + usage},
		{"/v1/rerank", three + `,"top_k":1,"return_documents":true}`, `"data":[{"index":1,"relevance_score":0.5,"document":"ccc"}],"model":"ranker",` + usage},
		{"/v1/rerank", `{"query":"q","documents":["longer"],"truncation":true}`, `"warnings":["documents [0] were cut to the maximum length"]}`},
		{"/rerank", `{"query":"q","texts":["a","bb"],"return_text":true}`, `[{"index":1,"score":0.7310585786300049,"text":"bb"},{"index":0,"score":0.5,"text":"a"}]`},
		{"/rerank", `{"query":"q","texts":["longer"],"raw_scores":true,"truncate":true,"truncation_direction":"Right"}`, `[{"index":0,"score":3}]`},
		{"/v1/score", `{"text_1":"q","text_2":["a","bb"]}`, `"object":"list","created":7,"model":"ranker","data":[{"index":0,"object":"score","score":0},{"index":1,"object":"score","score":0.25}],"usage":{"prompt_tokens":3,`},
		{"/score", `{"queries":["q","qq"],"documents":["a","a"],"use_activation":false}`, `"data":[{"index":0,"object":"score","score":0},{"index":1,"object":"score","score":-1}]`},
		{"/v1/score", `{"text_1":"q","text_2":"longer","truncate_prompt_tokens":-1}`, `"data":[{"index":0,"object":"score","score":0.75}]`},
	} {
		h, _ := rankers()
		if w := ask(h, "POST", c.target, c.body); w.Code != 200 || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s: %d %s, want %s", c.target, c.body, w.Code, w.Body, c.want)
		}
	}
}

// A list of models says which of them do not continue texts.
func TestTasks(t *testing.T) {
	h, _ := rankers()
	const want = `"owned_by":"local"},{"id":"embedder","object":"model","created":0,"owned_by":"local","task":"embed"},{"id":"ranker","object":"model","created":0,"owned_by":"local","task":"rerank"}`
	if got := ask(h, "GET", "/v1/models", "").Body.String(); !strings.Contains(got, want) {
		t.Error(got)
	}
}

// Requests reach the model with all that they ask.
func TestRerankRequest(t *testing.T) {
	for body, want := range map[string]llm.RerankRequest{
		`{"query":"q","documents":["a"],"max_tokens_per_doc":3,"truncate_prompt_tokens":9}`: {Pairs: []llm.Pair{{Query: "q", Document: "a"}}, MaxDocument: 3, MaxPair: 9, Truncate: true},
		`{"query":"q","texts":["a"]}`:                               {Pairs: []llm.Pair{{Query: "q", Document: "a"}}},
		`{"query":"q","texts":["a"],"truncate":true}`:               {Pairs: []llm.Pair{{Query: "q", Document: "a"}}, Truncate: true},
		`{"query":"q","documents":[""],"truncate_prompt_tokens":0}`: {Pairs: []llm.Pair{{Query: "q"}}, Truncate: true},
	} {
		h, r := rankers()
		if w := ask(h, "POST", "/rerank", body); w.Code != 200 {
			t.Fatalf("%s: %s", body, w.Body)
		}
		if got := *r.got; !slices.Equal(got.Pairs, want.Pairs) || got.MaxDocument != want.MaxDocument || got.MaxPair != want.MaxPair || got.Truncate != want.Truncate {
			t.Errorf("%s: %+v", body, got)
		}
	}
}

// Bad requests are rejected with the key at fault, and models are asked for what they do.
func TestBadReranks(t *testing.T) {
	many := `["a"` + strings.Repeat(`,"a"`, 9999) + `]`
	for _, c := range []struct{ target, body, want string }{
		{"/rerank", `{"documents":["a"]}`, `'query': is required`},
		{"/rerank", `{"query":"","documents":["a"]}`, `'query': is required`},
		{"/rerank", `{"query":"q"}`, `'documents': is required`},
		{"/rerank", `{"query":"q","documents":[]}`, `'documents': at least one document is required`},
		{"/v1/rerank", `{"query":"q","texts":[]}`, `'texts': at least one document is required`},
		{"/rerank", `{"query":"q","documents":` + many + `}`, `'documents': at most 2048 documents`},
		{"/v1/rerank", `{"query":"q","texts":` + many + `}`, `'texts': at most 2048 texts`},
		{"/v1/rerank", `{"query":"q","documents":["a"],"texts":["a"]}`, `either documents or texts`},
		{"/rerank", `{"query":"q","documents":5}`, `'documents': must be an array`},
		{"/rerank", `{"query":"q","documents":["a",5]}`, `'documents[1]': must be a string`},
		{"/rerank", `{"query":"q","documents":[{"title":"a"}]}`, `'documents[0]': must have the key text`},
		{"/rerank", `{"query":"q","documents":["a"],"top_n":-1}`, `'top_n'`},
		{"/rerank", `{"query":"q","documents":["a"],"top":1}`, `Unrecognized request argument supplied: top`},
		{"/rerank", `{"query":"q","documents":["a"],"top_k":-1}`, `'top_k'`},
		{"/rerank", `{"query":"q","documents":["a"],"top_k":1,"top_n":1}`, `'top_k': cannot be combined with top_n`},
		{"/v1/rerank", `{"query":"q","texts":["a"],"top_k":1}`, `'top_k': is only accepted with documents`},
		{"/v1/rerank", `{"query":"q","texts":["a"],"truncation":true}`, `'truncation': is only accepted with documents`},
		{"/v1/rerank", `{"query":"q","documents":["a","longer"],"truncation":false}`, `However, your documents[1] resulted in 6 tokens`},
		{"/rerank", `{"query":"q","documents":["a"],"rank_fields":["title"]}`, `'rank_fields'`},
		{"/rerank", `{"query":"q","documents":["a"],"max_chunks_per_doc":2}`, `'max_chunks_per_doc'`},
		{"/rerank", `{"query":"q","documents":["a"],"raw_scores":true}`, `'raw_scores': is only accepted with texts`},
		{"/v1/rerank", `{"query":"q","texts":["a"],"return_documents":true}`, `'return_documents': is only accepted with documents`},
		{"/v1/rerank", `{"query":"q","texts":["a","longer"]}`, `However, your texts[1] resulted in 6 tokens`},
		{"/rerank", `{"model":"writer","query":"q","documents":["a"]}`, `writer continues texts and has no reranker; these rank documents: ranker, embedder`},
		{"/v1/score", `{"text_2":["a"]}`, `'text_1': at least one text`},
		{"/v1/score", `{"queries":["a"]}`, `'documents': at least one text`},
		{"/v1/score", `{"text_1":["a","b"],"text_2":["a"]}`, `must be one text or as many as in text_2, 1, not 2`},
		{"/v1/score", `{"text_1":["a"],"documents":["a"]}`, `either text_1 and text_2 or queries and documents`},
		{"/v1/score", `{"text_1":"q","text_2":["a","longer"]}`, `your text_2[1] resulted in 6 tokens`},
		{"/v1/embeddings", `{"model":"ranker","input":"a"}`, `this model ranks documents (/v1/rerank) and has no embedder`},
		{"/v1/chat/completions", `{"model":"ranker","messages":[{"role":"user","content":"a"}]}`, `this model ranks documents`},
	} {
		h, _ := rankers()
		if w := ask(h, "POST", c.target, c.body); w.Code != 400 || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %.200s: %d %.300s, want %s", c.target, c.body, w.Code, w.Body, c.want)
		}
	}
}

// FuzzRerank: no body makes the dialect panic, and every request has a pair for each document.
func FuzzRerank(f *testing.F) {
	for _, seed := range []string{`{"query":"q","documents":["a",{"text":"b"}],"top_n":1}`, `{"query":"q","texts":["a"]}`, `{"query":"q","documents":[{}]}`, `{"query":"q","documents":[null]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var in rerankRequest
		err := rerankTable.Decode(body, &in)
		var req *llm.RerankRequest
		if err == nil {
			req, err = in.request()
		}
		if !ours(t, body, err) && (len(req.Pairs) == 0 || len(req.Pairs) > maxDocuments) {
			t.Errorf("%s: %d pairs", body, len(req.Pairs))
		}
	})
}
