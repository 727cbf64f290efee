package app

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/catalog"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
	"glossa/pkg/openapi"
)

// asked has a request of each kind in each dialect: MODEL stands for the model, FAMILY
// for its family.
var asked = []struct {
	method, path, body string
	needs              string // the capability; "" to continue texts, form for constrained output, tools for calls
	answer, refusal    string // members of the answer and of an error, in the dialect's shape
}{
	{"POST", "/v1/chat/completions", `{"model":"MODEL","messages":[{"role":"user","content":"a"}]}`, "", "choices", "error.message"},
	{"POST", "/chat/completions", `{"model":"MODEL","messages":[{"role":"user","content":"a"}],"maximum_tokens":1}`, "", "choices", "error.message"},
	{"POST", "/v1/completions", `{"model":"MODEL","prompt":"a"}`, "", "choices", "error.message"},
	{"POST", "/api/chat", `{"model":"MODEL","messages":[{"role":"user","content":"a"}],"stream":false,"options":{"num_predict":4}}`, "", "message", "error"},
	{"POST", "/api/generate", `{"model":"MODEL","prompt":"a","raw":true,"stream":false,"options":{"num_predict":4}}`, "", "response", "error"},
	{"POST", "/api/embed", `{"model":"MODEL","input":"a"}`, "embed", "embeddings", "error"},
	{"POST", "/api/embeddings", `{"model":"MODEL","prompt":"a"}`, "embed", "embedding", "error"},
	{"POST", "/v1/messages", `{"model":"MODEL","max_tokens":4,"messages":[{"role":"user","content":"a"}]}`, "", "content", "error.message"},
	{"POST", "/v1/messages/count_tokens", `{"model":"MODEL","messages":[{"role":"user","content":"a"}]}`, "render", "input_tokens", "error.message"},
	{"POST", "/v1/responses", `{"model":"MODEL","input":"a"}`, "", "output", "error.message"},
	{"POST", "/v1/responses/input_tokens", `{"model":"MODEL","input":"a"}`, "render", "input_tokens", "error.message"},
	{"POST", "/v1/embeddings", `{"model":"MODEL","input":"a"}`, "embed", "data", "error.message"},
	{"POST", "/vllm/MODEL/v1/completions", `{"model":"MODEL","prompt":"a"}`, "", "choices", "error.message"},
	{"POST", "/vllm/MODEL/tokenize", `{"prompt":"a"}`, "tokenize", "tokens", "error.message"},
	{"POST", "/vllm/MODEL/detokenize", `{"tokens":[1]}`, "tokenize", "prompt", "error.message"},
	{"POST", "/tokenize", `{"model":"MODEL","prompt":"a"}`, "tokenize", "tokens", "error.message"},
	{"POST", "/apply-template", `{"model":"MODEL","messages":[{"role":"user","content":"a"}]}`, "render", "prompt", "error.message"},
	{"POST", "/detokenize", `{"model":"MODEL","tokens":[1]}`, "tokenize", "prompt", "error.message"},
	{"GET", "/api/inference?query=a&model=MODEL", "", "", "", "error"},
	{"POST", "/api/generate", `{"prompt":"a","model":"MODEL"}`, "", "text", "error"},
	{"POST", "/v1/engines/MODEL/completions", `{"prompt":"a"}`, "", "text", "error"},
	{"POST", "/v1/engines/MODEL/logprob", `{"context":"a","continuation":"b"}`, "score", "logprob", "error"},
	{"POST", "/v1/engines/MODEL/tokenize", `{"text":"a"}`, "tokenize", "tokens", "error"},
	{"POST", "/v1/engines/MODEL/translate", `{"text":["a"],"source_lang":"en","target_lang":"nso"}`, "translate", "translations", "error"},
	{"POST", "/complete", `{"model":"MODEL","prompt":"a","maximum_tokens":1}`, "", "completions", "error"},
	{"POST", "/evaluate", `{"model":"MODEL","prompt":"a","completion_expected":"b"}`, "score", "result", "error"},
	{"POST", "/embed", `{"model":"MODEL","prompt":"a","layers":[0]}`, "embed", "embeddings", "error"},
	{"POST", "/tokenize", `{"model":"MODEL","prompt":"a","tokens":true,"token_ids":true}`, "tokenize", "tokens", "error"},
	{"POST", "/detokenize", `{"model":"MODEL","token_ids":[1]}`, "tokenize", "result", "error"},
	{"POST", "/explain", `{"model":"MODEL","prompt":"a","target":"b"}`, "score", "explanations", "error"},
	{"POST", "/translate", `{"model":"MODEL","source":"a","target_language":"nso"}`, "translate", "translation", "error"},
	{"POST", "/semantic_embed", `{"model":"MODEL","prompt":"a","representation":"symmetric"}`, "semantic", "embedding", "error"},
	{"POST", "/batch_semantic_embed", `{"model":"MODEL","prompts":["a"],"representation":"symmetric"}`, "semantic", "embeddings", "error"},
	{"POST", "/instructable_embed", `{"model":"MODEL","input":"a","instruction":"b"}`, "instructable", "embedding", "error"},
	{"POST", "/rerank", `{"model":"MODEL","query":"a","documents":["b"]}`, "rerank", "results", "error.message"},
	{"POST", "/v1/rerank", `{"model":"MODEL","query":"a","documents":["b"]}`, "rerank", "usage", "error.message"},
	{"POST", "/v2/rerank", `{"model":"MODEL","query":"a","documents":["b"]}`, "rerank", "meta", "error.message"},
	{"POST", "/v1/embed", `{"model":"MODEL","texts":["a"]}`, "embed", "embeddings", "error.message"},
	{"POST", "/v2/embed", `{"model":"MODEL","texts":["a"]}`, "embed", "embeddings.float", "message"},
	{"POST", "/embed", `{"model":"MODEL","inputs":"a"}`, "embed", "", "error"},
	{"POST", "/embed_sparse", `{"model":"MODEL","inputs":"a"}`, "sparse", "", "error"},
	{"POST", "/embed_all", `{"model":"MODEL","inputs":"a"}`, "unpooled", "", "error"},
	{"POST", "/similarity", `{"model":"MODEL","inputs":{"source_sentence":"a","sentences":["b"]}}`, "embed", "", "error"},
	{"POST", "/pooling", `{"model":"MODEL","input":"a"}`, "unpooled", "data", "error.message"},
	{"POST", "/decode", `{"model":"MODEL","ids":[1]}`, "tokenize", "", "error"},
	{"POST", "/tokenize", `{"model":"MODEL","inputs":"a"}`, "tokenize", "", "error"},
	{"POST", "/", `{"model":"MODEL","inputs":{"source_sentence":"a","sentences":["b"]}}`, "embed", "", "error"},
	{"POST", "/", `{"model":"MODEL","inputs":"a"}`, "embed", "", "error"},
	{"POST", "/", `{"model":"MODEL","query":"a","texts":["b"]}`, "rerank", "", "error"},
	{"POST", "/v1/score", `{"model":"MODEL","text_1":"a","text_2":"b"}`, "rerank", "data", "error.message"},
	{"POST", "/score", `{"model":"MODEL","text_1":"a","text_2":"b"}`, "rerank", "data", "error.message"},
	{"POST", "/classify", `{"model":"MODEL","input":"a"}`, "classify", "data", "error.message"},
	{"POST", "/v1/classify", `{"model":"MODEL","input":["a","b"]}`, "classify", "usage", "error.message"},
	{"POST", "/predict", `{"model":"MODEL","inputs":["a","b"]}`, "classify", "", "error"},
	{"POST", "/", `{"model":"MODEL","inputs":"a","parameters":{}}`, "classify", "", "error"},
	{"POST", "/steering_concepts", `{"examples":[]}`, "steer", "id", "error"},
	{"POST", "/v1/completions", `{"model_name":"MODEL","prompt":"a"}`, "", "output", "detail"},
	{"POST", "/v2/completions", `{"model_name":"MODEL","prompt":"a"}`, "", "outputs", "detail"},
	{"POST", "/v1/embedding", `{"model_name":"MODEL","prompt":"a"}`, "embed", "embedding", "detail"},
	{"POST", "/invoke", `{"model_family":"FAMILY","model_name":"MODEL","body":{"prompt":"a"}}`, "", "generated_text", "error"},
	{"POST", "/v1/chat/completions", `{"model":"MODEL","messages":[{"role":"user","content":"a"}],"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":` + form + `}}}`, "form", "choices", "error.message"},
	{"POST", "/v1/chat/completions", `{"model":"MODEL","messages":[{"role":"user","content":"a"}],"tools":[{"type":"function","function":{"name":"f","parameters":` + form + `}}],"tool_choice":"required"}`, "tools", "choices", "error.message"},
	{"POST", "/v1/completions", `{"model_name":"MODEL","prompt":"a","output_type":{"a":"int"}}`, "form", "a", "detail"},
	{"POST", "/v2/completions", `{"model_name":"MODEL","prompt":"a","output_type":{"a":"int"}}`, "form", "outputs.a", "detail"},
	{"POST", "/v1/engines/MODEL/completions", `{"prompt":"a","schema":` + form + `}`, "form", "text", "error"},
	{"POST", "/invoke", `{"model_family":"FAMILY","model_name":"MODEL","body":{"prompt":"a","schema":` + form + `}}`, "form", "generated_text", "error"},
}

// form is the schema of an object with an integer.
const form = `{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}`

// former is a model that answers b and c, or a value of the one schema that it knows.
// It records its requests.
type former struct {
	llmtest.Script
	got llm.Params
}

func (f *former) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	f.got = req.Params
	if req.Schema == nil && req.Grammar == nil && req.Tools == nil {
		return f.Script.Generate(ctx, req)
	}
	return func(yield func(llm.Chunk, error) bool) {
		for row := range req.Rows() {
			first := llm.Chunk{Row: row, Text: `{"a":`}
			last := llm.Chunk{Row: row, Text: `7}`, Finish: llm.FinishEOS, Guarantee: llm.Enforced}
			if req.Tools != nil {
				first.Text, first.Calls = "", []llm.Call{{ID: "call_1", Name: req.Tools[0].Name}}
				last.Text, last.Calls = "", []llm.Call{{Arguments: `{"a":7}`}}
			}
			if row == req.Rows()-1 {
				last.Usage = &llm.Usage{Input: 1, Output: 2}
			}
			if !yield(first, nil) || !yield(last, nil) {
				return
			}
		}
	}
}

// scripted returns an app with one model, of a family without capabilities except
// constrained output.
func scripted(t *testing.T) (*App, *former) {
	t.Helper()
	model := &former{Script: llmtest.Script{"b", "c"}}
	a := golden(t, Config{})
	a.catalog = catalog.New(catalog.Config{
		Source: catalog.Files{FS: fstest.MapFS{
			"models.json": {Data: []byte(`{"pk":"models","sk":"all-models","models":[{"model_type":"text","model_name":"script","model_family":"elsewhere","streaming":true}]}`)},
			"m.json":      {Data: []byte(`{"pk":"models","sk":"elsewhere-script","schema":{}}`)},
		}},
		Openers: map[string]catalog.Opener{"elsewhere": func(context.Context, *catalog.Record) (llm.Backend, error) {
			return model, nil
		}},
	})
	return a, model
}

// Any dialect can use any model: the model's abilities are served, and others are rejected with 400, or
// the dialect's status, in its own shape, even for a scripted model that has nothing but text. The golden
// model cannot spell JSON.
func TestAnyDialectOverAnyModel(t *testing.T) {
	local := golden(t, Config{})
	script, _ := scripted(t)
	addTranslator(t, local)
	addRanker(t, local)
	addEncoder(t, local)
	addModel(t, local, "classifier", "../engine/testdata/classifiers/bert")
	for _, m := range []struct {
		app          *App
		family, name string
		has          []string
	}{
		{local, "local", "golden", []string{"", "score", "embed", "tokenize", "render"}},
		{local, "local", "translator", []string{"embed", "tokenize", "translate"}},
		{local, "local", "ranker", []string{"rerank", "classify", "tokenize"}},
		{local, "local", "classifier", []string{"classify", "tokenize"}},
		{local, "local", "encoder", []string{"embed", "unpooled", "semantic", "rerank", "tokenize"}},
		{script, "elsewhere", "script", []string{"", "form", "tools"}},
	} {
		h := m.app.Handler()
		for _, c := range asked {
			path, body := strings.ReplaceAll(c.path, "MODEL", m.name), strings.NewReplacer("MODEL", m.name, "FAMILY", m.family).Replace(c.body)
			res := ask(h, c.method, path, "", strings.NewReader(body))
			got := text(t, res)
			status, member := 200, c.answer
			if !slices.Contains(m.has, c.needs) {
				status, member = refusedAs(c.path, c.body), c.refusal
			}
			if res.StatusCode != status || member != "" && (!has(got, member) || member == c.refusal && len(got) < 30) {
				t.Errorf("%s: %s %s: %d %s, want %d with %s", m.name, c.method, path, res.StatusCode, got, status, member)
			}
		}
	}
}

// refusedAs returns the status of a request for what a model cannot do.
func refusedAs(path, body string) int {
	switch {
	case path == "/invoke":
		return 200 // like API layer's server
	case path == "/", path == "/decode", strings.Contains(body, `"inputs"`):
		return 424 // like Text Embeddings Inference
	}
	return 400
}

// isChat reports whether a request that is asked reaches the model as a chat.
func isChat(path, body string) bool {
	return strings.Contains(body, "messages") || strings.HasPrefix(path, "/v1/responses")
}

// has reports whether JSON has a member, of a member.
func has(body, path string) bool {
	var v any
	if json.Unmarshal([]byte(body), &v) != nil {
		return false
	}
	for name := range strings.SplitSeq(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return false
		}
		v = m[name]
	}
	return v != nil
}

// One format arrives at the model as the same schema, whichever dialect requests it.
func TestOneForm(t *testing.T) {
	a, model := scripted(t)
	h, asks := a.Handler(), 0
	for _, c := range asked {
		if c.needs != "form" && c.needs != "tools" {
			continue
		}
		asks++
		res := ask(h, c.method, strings.ReplaceAll(c.path, "MODEL", "script"), "", strings.NewReader(strings.NewReplacer("MODEL", "script", "FAMILY", "elsewhere").Replace(c.body)))
		got := model.got.Schema
		if model.got.Tools != nil {
			got = model.got.Tools[0].Parameters
		}
		if body := text(t, res); string(got) != form || res.Header.Get("X-Glossa-Guarantee") != "enforced" || !strings.Contains(body, `a\":7`) && !strings.Contains(body, `"a":7`) {
			t.Errorf("%s: asked for %s, answered %s", c.body, got, body)
		}
	}
	if asks != 6 {
		t.Errorf("%d dialects asked", asks)
	}
}

// Answers and errors of /invoke both have status 200: the bodies distinguish them.
func TestInvokeBodies(t *testing.T) {
	h := golden(t, Config{}).Handler()
	good, bad := invokeBodies()
	for i, body := range slices.Concat(good, bad) {
		member := "generated_text"
		if i >= len(good) {
			member = "error"
		}
		for _, path := range []string{"/invoke", "/invoke_stream"} {
			got := text(t, ask(h, "POST", path, "", strings.NewReader(body)))
			if line, _, _ := strings.Cut(got, "\n"); !has(line, member) {
				t.Errorf("%s %s: %s has no %s", path, body, got, member)
			}
		}
	}
}

// The requests above reach every route for inference, except those that only stream.
func TestAskedIsComplete(t *testing.T) {
	a := golden(t, Config{})
	left := map[string]bool{}
	for _, route := range a.Routes() {
		if route.Permission == httpx.Inference {
			left[route.Method+" "+openapi.Path(route.Pattern)] = true
		}
	}
	for _, c := range asked {
		path, _, _ := strings.Cut(c.path, "?")
		for _, name := range []string{"{engine_id}", "{id}"} {
			delete(left, c.method+" "+strings.ReplaceAll(path, "MODEL", name))
		}
	}
	const response = "/v1/responses/{response_id}" // they run no model
	for _, name := range []string{"GET " + response, "DELETE " + response, "GET " + response + "/input_items", "POST " + response + "/cancel"} {
		delete(left, name)
	}
	for _, alias := range []string{"GET /inference", "GET /api/generate", "POST /api/chat", "POST /invoke_stream"} { // the same handlers
		delete(left, alias)
	}
	if len(left) > 0 {
		t.Errorf("nobody asks %v", slices.Sorted(maps.Keys(left)))
	}
}
