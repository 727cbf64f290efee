package backendtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"glossa/pkg/backend/remote"
	"glossa/pkg/llm"
)

// vectorRecord is a model of lists of up to 3 texts, textRecord one of single texts. Both have
// every option that the other lacks.
const (
	vectorRecord = `{
		"request": {"omit_null": true,
			"defaults": {"list": [], "kind": "plain", "cut": "NO", "size": null},
			"mapping": {"input": "$.list", "input_type": "$.kind", "truncate": "$.cut", "dimensions": "$.size"},
			"inputs": {"max": 3, "truncate": "YES", "tasks": {"query": "ask", "document": "plain"}}},
		"response": {"mapping": {"embeddings": ["$.vectors.float", "$.vectors"], "input_tokens": "$.read"}}}`
	textRecord = `{
		"request": {"omit_null": true, "defaults": {"text": "", "name": null}, "mapping": {"input": "$.text", "prompt_name": "$.name"}},
		"response": {"mapping": {"embedding": "$.vector", "input_tokens": "$.read"}}}`
	scoreRecord = `{
		"request": {"omit_null": true, "defaults": {"q": "", "docs": [], "per": null}, "mapping": {"query": "$.q", "documents": "$.docs", "max_tokens_per_doc": "$.per"},
			"inputs": {"max": 2, "cuts": true}},
		"response": {"mapping": {"results": "$.results", "input_tokens": "$.read"}}}`
	logitRecord = `{
		"request": {"omit_null": true, "defaults": {"q": "", "docs": [], "cut": false, "raw": false},
			"mapping": {"query": "$.q", "documents": "$.docs", "truncate": "$.cut", "raw_scores": "$.raw"}, "inputs": {"truncate": true}},
		"response": {"mapping": {"results": "$"}}}`
)

// numbered returns n texts: the number i is the text "i".
func numbered(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprint(i))
	}
	return list
}

func embedRequest(texts ...string) *llm.EmbedRequest {
	req := &llm.EmbedRequest{}
	for _, text := range texts {
		req.Prompts = append(req.Prompts, llm.Text(text))
	}
	return req
}

// pairs returns the pairs of a query and documents.
func pairs(query string, documents ...string) (list []llm.Pair) {
	for _, document := range documents {
		list = append(list, llm.Pair{Query: query, Document: document})
	}
	return list
}

// answersNumbers answers each text with a vector of its number and of 1, and 2 tokens a text.
// Calls of later texts are answered first.
func answersNumbers() func(int, *Request, *Reply) {
	var once sync.Once
	later := make(chan struct{}) // closed when the call that begins with text 3 is answered
	return func(_ int, r *Request, w *Reply) {
		list, many := r.Body["list"].([]any)
		if !many {
			list = []any{r.Body["text"]}
		}
		switch {
		case list[0] == "3":
			once.Do(func() { close(later) })
		case list[0] == "0" && len(list) == 3: // two calls are made at once
			select {
			case <-later:
			case <-r.Gone: // the other call has failed
			}
		}
		var vectors []string
		for _, text := range list {
			vectors = append(vectors, fmt.Sprintf("[%v, 1]", text))
		}
		if many {
			w.Whole(fmt.Sprintf(`{"vectors": [%s], "read": %d}`, strings.Join(vectors, ","), 2*len(list)))
			return
		}
		w.Whole(fmt.Sprintf(`{"vector": %s, "read": 2}`, vectors[0]))
	}
}

// embeds checks that each text gets its own vector, whatever the order of the answers.
func (s *Suite) embeds(t *testing.T) {
	for record, calls := range map[string]int{vectorRecord: 3, textRecord: 8} {
		service, b := s.startWith(t, record, answersNumbers())
		model, err := llm.As[llm.Embedder](b)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := llm.As[llm.Reranker](b); llm.AsError(err).Code != llm.Unsupported {
			t.Errorf("a model of vectors ranks: %v", err)
		}
		made, used, err := model.Embed(t.Context(), embedRequest(numbered(8)...))
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range made {
			if got := fmt.Sprint(m.Layers[0].Vectors); got != fmt.Sprintf("[[%d 1]]", i) {
				t.Errorf("text %d: %s", i, got)
			}
		}
		if len(made) != 8 || used != (llm.Usage{Input: 16}) || len(service.Requests()) != calls {
			t.Errorf("%d vectors, %+v, %d calls, want %d", len(made), used, len(service.Requests()), calls)
		}
		for _, r := range service.Requests() {
			if list, many := r.Body["list"].([]any); r.Stream || r.Path != s.Whole || many && len(list) > 3 {
				t.Errorf("%s %v", r.Path, r.Body)
			}
		}
		if _, _, err := collect(t.Context(), b, ask("p", false)); llm.AsError(err).Code != llm.Unsupported {
			t.Errorf("a text is completed: %v", err)
		}
	}
	if _, err := llm.As[llm.Embedder](s.Open("http://127.0.0.1:1", remote.Model{Schema: Parse(t, record)})); llm.AsError(err).Code != llm.Unsupported {
		t.Errorf("a model of texts embeds: %v", err)
	}
}

// embedOptions checks what is sent, and what is rejected before anything is sent.
func (s *Suite) embedOptions(t *testing.T) {
	for _, test := range []struct {
		record string
		change func(*llm.EmbedRequest)
		sent   map[string]any // nil: rejected
		param  string
	}{
		{vectorRecord, func(*llm.EmbedRequest) {}, map[string]any{"kind": "plain", "cut": "NO"}, ""},
		{vectorRecord, func(r *llm.EmbedRequest) { r.Task, r.Truncate, r.Dimensions = llm.EmbedQuery, true, 2 }, map[string]any{"kind": "ask", "cut": "YES", "size": 2.0}, ""},
		{vectorRecord, func(r *llm.EmbedRequest) { r.Task = llm.EmbedCluster }, nil, "task"},
		{vectorRecord, func(r *llm.EmbedRequest) { r.Task = "other" }, nil, "task"},
		{vectorRecord, func(r *llm.EmbedRequest) { r.PromptName = "x" }, nil, "prompt_name"},
		{vectorRecord, func(r *llm.EmbedRequest) { r.Kind = llm.EmbedSparse }, nil, "type"},
		{vectorRecord, func(r *llm.EmbedRequest) { r.Layers = []int{1} }, nil, "layers"},
		{vectorRecord, func(r *llm.EmbedRequest) { r.Prompts = nil }, nil, "prompt"},
		{vectorRecord, func(r *llm.EmbedRequest) { r.Prompts = slices.Repeat(r.Prompts, 10_001) }, nil, "prompt"},
		{vectorRecord, func(r *llm.EmbedRequest) { r.Prompts[0].Parts = []llm.Part{{Tokens: []int{1}}} }, nil, "prompt"},
		{textRecord, func(r *llm.EmbedRequest) { r.Task, r.PromptName = llm.EmbedCluster, "x" }, map[string]any{"name": "x"}, ""},
		{textRecord, func(r *llm.EmbedRequest) { r.Truncate = true }, nil, "truncate"},
		{textRecord, func(r *llm.EmbedRequest) { r.Dimensions = 2 }, nil, "dimensions"},
	} {
		service, b := s.startWith(t, test.record, answersNumbers())
		model, err := llm.As[llm.Embedder](b)
		if err != nil {
			t.Fatal(err)
		}
		req := embedRequest("7")
		test.change(req)
		_, _, err = model.Embed(t.Context(), req)
		requests := service.Requests()
		if test.sent == nil {
			if e := llm.AsError(err); err == nil || e.Param != test.param || len(requests) != 0 {
				t.Errorf("%+v: %v after %d calls", req, err, len(requests))
			}
			continue
		}
		if err != nil {
			t.Errorf("%+v: %v", req, err)
			continue
		}
		body := maps.Clone(requests[0].Body)
		maps.DeleteFunc(body, func(name string, _ any) bool { return name == "list" || name == "text" })
		if !maps.Equal(body, test.sent) {
			t.Errorf("%+v: sent %v", req, body)
		}
	}
}

// badVectors checks answers that are not vectors of the texts, and that nothing of a text
// is in an error.
func (s *Suite) badVectors(t *testing.T) {
	for _, answer := range []string{
		`{}`, `{"vectors": []}`, `{"vectors": [[1]]}`, `{"vectors": [[1], [2], [3]]}`, `{"vectors": [[1], [2, 3]]}`, `{"vectors": [[1], []]}`,
		`{"vectors": [[1], ["2"]]}`, `{"vectors": [[1], [null]]}`, `{"vectors": [[1], [1e60]]}`, `{"vectors": [[1], 2]}`, `{"vectors": "swordfish"}`,
		`{"vectors": {"int8": [[1], [2]]}}`, `{"error": "swordfish"}`,
	} {
		_, b := s.startWith(t, vectorRecord, func(_ int, _ *Request, w *Reply) { w.Whole(answer) })
		model, _ := llm.As[llm.Embedder](b)
		_, _, err := model.Embed(t.Context(), embedRequest("a", "b"))
		if e := llm.AsError(err); err == nil || e.Code != llm.Upstream || strings.Contains(err.Error(), "swordfish") {
			t.Errorf("%s: %v", answer, err)
		}
	}
	_, b := s.startWith(t, vectorRecord, func(_ int, _ *Request, w *Reply) { w.Whole(`{"vectors": {"float": [[1, 2]]}}`) })
	model, _ := llm.As[llm.Embedder](b)
	if _, used, err := model.Embed(t.Context(), embedRequest("a")); err != nil || used != (llm.Usage{Partial: true}) {
		t.Errorf("without a count: %+v %v", used, err)
	}
	req := embedRequest("a")
	req.Dimensions = 3
	if _, _, err := model.Embed(t.Context(), req); llm.AsError(err).Code != llm.Upstream {
		t.Errorf("other dimensions: %v", err)
	}
	s.wastedVectors(t)
}

// wastedVectors checks that an error comes with the usage of the calls that were answered.
func (s *Suite) wastedVectors(t *testing.T) {
	service := NewService(t, s.Family, func(_ int, r *Request, w *Reply) {
		if r.Body["text"] == "a" {
			w.Whole(`{"vector": [1], "read": 3}`)
			return
		}
		w.Fail(400, s.Refused, `{"message": "it is too long"}`)
	})
	model, _ := llm.As[llm.Embedder](s.Open(service.URL, remote.Model{Schema: Parse(t, textRecord), Retry: Quick(), Rows: 1}))
	if _, used, err := model.Embed(t.Context(), embedRequest("a", "b")); err == nil || used != (llm.Usage{Input: 3}) {
		t.Errorf("the second call fails: %+v %v", used, err)
	}
	for _, vectors := range []string{`[[1], [2, 3]]`, `[[1]]`} {
		_, b := s.startWith(t, vectorRecord, func(_ int, _ *Request, w *Reply) { w.Whole(`{"vectors": ` + vectors + `, "read": 5}`) })
		model, _ := llm.As[llm.Embedder](b)
		if _, used, err := model.Embed(t.Context(), embedRequest("a", "b")); err == nil || used != (llm.Usage{Input: 5}) {
			t.Errorf("%s: %+v %v", vectors, used, err)
		}
	}
}

// firstFailure checks that the first error of several calls is returned, ends the others, and
// is retried as any call.
func (s *Suite) firstFailure(t *testing.T) {
	second := make(chan struct{})
	service, b := s.startWith(t, textRecord, func(_ int, r *Request, w *Reply) {
		switch r.Body["text"] {
		case "0":
			<-second
			w.Fail(400, s.Refused, `{"message": "it is too long"}`)
		case "1":
			close(second)
			<-r.Gone
		default:
			<-r.Gone
		}
	})
	model, _ := llm.As[llm.Embedder](b)
	made, _, err := model.Embed(t.Context(), embedRequest(numbered(100)...))
	if e := llm.AsError(err); made != nil || err == nil || e.Code != llm.Invalid || !strings.Contains(e.Message, "it is too long") {
		t.Errorf("%v %v", made, err)
	}
	if n := len(service.Requests()); n > 5 {
		t.Errorf("%d calls", n)
	}
	var mu sync.Mutex
	tried := map[any]int{}
	_, b = s.startWith(t, textRecord, func(_ int, r *Request, w *Reply) {
		mu.Lock()
		tried[r.Body["text"]]++
		again := tried[r.Body["text"]] > 1
		mu.Unlock()
		if !again {
			w.Fail(429, "ThrottlingException", slowDown)
			return
		}
		w.Whole(`{"vector": [1], "read": 3}`)
	})
	model, _ = llm.As[llm.Embedder](b)
	if _, used, err := model.Embed(t.Context(), embedRequest("a", "b")); err != nil || used.Input != 6 || tried["a"] != 2 || tried["b"] != 2 {
		t.Errorf("throttled: %+v %v %v", used, err, tried)
	}
}

// ranks checks that each document gets its own score, whatever the order of results.
func (s *Suite) ranks(t *testing.T) {
	service, b := s.startWith(t, scoreRecord, func(_ int, r *Request, w *Reply) {
		docs := r.Body["docs"].([]any)
		var results []string
		for i := len(docs) - 1; i >= 0; i-- {
			results = append(results, fmt.Sprintf(`{"index": %d, "relevance_score": 0.%v}`, i, docs[i]))
		}
		w.Whole(`{"results": [` + strings.Join(results, ",") + `], "read": 5}`)
	})
	model, err := llm.As[llm.Reranker](b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := llm.As[llm.Embedder](b); llm.AsError(err).Code != llm.Unsupported {
		t.Errorf("a model of scores embeds: %v", err)
	}
	req := &llm.RerankRequest{Truncate: true, MaxDocument: 9, Pairs: append(pairs("p", "1", "2", "3"), pairs("q", "4", "5")...)}
	scores, used, err := model.Rerank(t.Context(), req)
	if err != nil || used != (llm.Usage{Input: 15}) || len(service.Requests()) != 3 || len(scores) != 5 {
		t.Fatalf("%v %+v %v", scores, used, err)
	}
	for i, r := range scores {
		if want := float64(i+1) / 10; r.Score != want || !math.IsNaN(r.Logit) {
			t.Errorf("document %d: %+v, want %v", i, r, want)
		}
	}
	for _, r := range service.Requests() {
		docs, _ := json.Marshal(r.Body["docs"])
		if got := fmt.Sprint(r.Body["q"], string(docs), r.Body["per"]); !slices.Contains([]string{`p["1","2"]9`, `p["3"]9`, `q["4","5"]9`}, got) {
			t.Errorf("sent %s", got)
		}
	}
	s.badScores(t)
	s.rankOptions(t)
}

func (s *Suite) badScores(t *testing.T) {
	const one = `{"index": 0, "relevance_score": 1}`
	for _, results := range []string{
		`[]`, `[` + one + `]`, `[` + one + `,` + one + `]`, `[` + one + `,{"index": 2, "relevance_score": 1}]`, `[` + one + `,{"index": -1, "relevance_score": 1}]`,
		`[` + one + `,{"index": 0.5, "relevance_score": 1}]`, `[` + one + `,{"index": 1}]`, `[` + one + `,{"relevance_score": 1}]`, `[` + one + `,{"index": 1, "score": "x"}]`, `[` + one + `,1]`, `"x"`,
	} {
		_, b := s.startWith(t, scoreRecord, func(_ int, _ *Request, w *Reply) { w.Whole(`{"results": ` + results + `}`) })
		model, _ := llm.As[llm.Reranker](b)
		_, _, err := model.Rerank(t.Context(), &llm.RerankRequest{Truncate: true, Pairs: pairs("q", "a", "b")})
		if err == nil || llm.AsError(err).Code != llm.Upstream {
			t.Errorf("%s: %v", results, err)
		}
	}
}

func (s *Suite) rankOptions(t *testing.T) {
	pair := pairs("q", "a")
	for _, test := range []struct {
		record string
		req    llm.RerankRequest
		param  string // of the error; "": none
	}{
		{scoreRecord, llm.RerankRequest{Truncate: true}, "documents"},
		{scoreRecord, llm.RerankRequest{Truncate: true, Pairs: slices.Repeat(pair, 10_001)}, "documents"},
		{scoreRecord, llm.RerankRequest{Pairs: pair}, "truncate"},
		{scoreRecord, llm.RerankRequest{Truncate: true, Logits: true, Pairs: pair}, "logits"},
		{scoreRecord, llm.RerankRequest{Truncate: true, MaxPair: 1, Pairs: pair}, "truncate_prompt_tokens"},
		{logitRecord, llm.RerankRequest{MaxDocument: 1, Pairs: pair}, "max_tokens_per_doc"},
		{logitRecord, llm.RerankRequest{Pairs: pair}, ""},
		{logitRecord, llm.RerankRequest{Truncate: true, Logits: true, Pairs: pair}, ""},
	} {
		service, b := s.startWith(t, test.record, func(_ int, _ *Request, w *Reply) { w.Whole(`[{"index": 0, "score": 0}]`) })
		model, _ := llm.As[llm.Reranker](b)
		scores, used, err := model.Rerank(t.Context(), &test.req)
		requests := service.Requests()
		if test.param != "" {
			if e := llm.AsError(err); err == nil || e.Param != test.param || len(requests) != 0 {
				t.Errorf("%+v: %v after %d calls", test.req, err, len(requests))
			}
			continue
		}
		if err != nil || !used.Partial || requests[0].Body["cut"] != test.req.Truncate || requests[0].Body["raw"] != test.req.Logits {
			t.Errorf("%+v: %+v, %v, sent %v", test.req, used, err, requests[0].Body)
			continue
		}
		if got, want := fmt.Sprint(scores[0].Score, scores[0].Logit), map[bool]string{true: "0.5 0", false: "0 NaN"}[test.req.Logits]; got != want {
			t.Errorf("%+v: %s, want %s", test.req, got, want)
		}
	}
}
