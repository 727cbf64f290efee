package app

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"glossa/pkg/backend/backendtest"
	"glossa/schemas"
)

// A remoteVectors is a model of a shipped record that embeds or ranks.
type remoteVectors struct {
	family, name, record string
	answer               func(w *backendtest.Reply, body map[string]any) // of each call
}

// hens answers with vectors whose first value is the length of the text.
func hens(texts any) string {
	var vectors []string
	for _, text := range texts.([]any) {
		vectors = append(vectors, fmt.Sprintf("[%d, 0]", len(text.(string))))
	}
	return "[" + strings.Join(vectors, ",") + "]"
}

// lengths scores documents by their length, the last first.
func lengths(key string, documents any) string {
	var results []string
	for i, text := range slices.Backward(documents.([]any)) {
		results = append(results, fmt.Sprintf(`{"index": %d, %q: 0.%d}`, i, key, len(text.(string))))
	}
	return "[" + strings.Join(results, ",") + "]"
}

var (
	embedsRemote = []remoteVectors{
		{"bedrock", "amazon.titan-embed-text-v2:0", "bedrock-amazon.titan-embed-text", func(w *backendtest.Reply, body map[string]any) {
			w.Whole(fmt.Sprintf(`{"embedding": [%d, 0], "inputTextTokenCount": 2}`, len(body["inputText"].(string))))
		}},
		{"bedrock", "us.cohere.embed-v4:0", "bedrock-cohere.embed-v4", func(w *backendtest.Reply, body map[string]any) {
			w.Header().Set("X-Amzn-Bedrock-Input-Token-Count", "6")
			w.Whole(`{"response_type": "embeddings_floats", "embeddings": ` + hens(body["texts"]) + `}`)
		}},
		{"bedrock", "cohere.embed-multilingual-v3", "bedrock-cohere.embed", func(w *backendtest.Reply, body map[string]any) {
			w.Header().Set("X-Amzn-Bedrock-Input-Token-Count", "6")
			w.Whole(`{"response_type": "embeddings_floats", "embeddings": ` + hens(body["texts"]) + `}`)
		}},
		{"sagemaker", "tei.bge", "sagemaker-tei", func(w *backendtest.Reply, body map[string]any) { w.Whole(hens(body["inputs"])) }},
	}
	ranksRemote = []remoteVectors{
		{"bedrock", "cohere.rerank-v3-5:0", "bedrock-cohere.rerank", func(w *backendtest.Reply, body map[string]any) {
			w.Header().Set("X-Amzn-Bedrock-Input-Token-Count", "6")
			w.Whole(`{"results": ` + lengths("relevance_score", body["documents"]) + `}`)
		}},
		{"bedrock", "amazon.rerank-v1:0", "bedrock-amazon.rerank", func(w *backendtest.Reply, body map[string]any) {
			w.Whole(`{"results": ` + lengths("relevance_score", body["documents"]) + `}`)
		}},
		{"sagemaker", "tei-rerank.bge", "sagemaker-tei-rerank", func(w *backendtest.Reply, body map[string]any) { w.Whole(lengths("score", body["texts"])) }},
	}
)

// vectorApp returns an app with the shipped records and one item, which has no schema, over a
// fake provider.
func vectorApp(t *testing.T, m remoteVectors, cfg Config) (*App, *backendtest.Service) {
	t.Helper()
	group, err := fs.ReadFile(schemas.Files(), m.record+".json")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Records = fstest.MapFS{
		"group.json": {Data: group},
		"model.json": {Data: fmt.Appendf(nil, `{"pk":"models","sk":%q}`, m.family+"-"+m.name)},
	}
	var mu sync.Mutex
	return remoteApp(t, &remoteModel{family: m.family}, cfg, func(_ int, r *backendtest.Request, w *backendtest.Reply) {
		mu.Lock()
		defer mu.Unlock()
		m.answer(w, r.Body)
	})
}

// An item without a schema is a model of every API that embeds, by the record of its group,
// and its tokens are counted.
func TestRemoteEmbeddings(t *testing.T) {
	for _, m := range embedsRemote {
		meter := &observed{}
		a, service := vectorApp(t, m, Config{Meter: func(Measured) Meter { return meter }})
		h, counts := a.Handler(), m.family == "bedrock"
		var answer struct {
			Data []struct {
				Index     int
				Embedding []float64
			}
			Usage *struct {
				Prompt int `json:"prompt_tokens"`
			}
			Error any
		}
		post := func(path, body string) string {
			return text(t, ask(h, "POST", path, "", strings.NewReader(strings.ReplaceAll(body, "MODEL", m.name))))
		}
		got := post("/v1/embeddings", `{"model":"MODEL","input":["a","bb","ccc"]}`)
		if err := json.Unmarshal([]byte(got), &answer); err != nil || len(answer.Data) != 3 || counts != (answer.Usage != nil) || counts && answer.Usage.Prompt != 6 {
			t.Errorf("%s: %s", m.name, got)
		}
		if n := len(meter.list); n != 1 || counts && meter.list[0].Usage.Input != 6 || meter.list[0].Usage.Partial == counts {
			t.Errorf("%s: counted %+v", m.name, meter.list)
		}
		for _, path := range []string{"/semantic_embed", "/batch_semantic_embed"} {
			input := map[string]string{"/semantic_embed": `"prompt":"dddd"`, "/batch_semantic_embed": `"prompts":["eeeee","dddd"]`}[path]
			want := map[string]string{"/semantic_embed": `"embedding":[4.0,0.0]`, "/batch_semantic_embed": `"embeddings":[[5.0,0.0],[4.0,0.0]]`}[path]
			got := post(path, `{"model":"MODEL",`+input+`,"representation":"query"}`)
			if !strings.Contains(got, want) || strings.Contains(got, `"num_tokens_prompt_total":null`) == counts {
				t.Errorf("%s: %s: %s", m.name, path, got)
			}
		}
		if got := post("/v1/embedding", `{"model_name":"MODEL","prompt":"dddd"}`); !strings.Contains(got, "[4") {
			t.Errorf("%s: Lamini: %s", m.name, got)
		}
		if got := post("/v1/rerank", `{"model":"MODEL","query":"a","documents":["b"]}`); !strings.Contains(got, `"relevance_score":1`) || strings.Contains(got, "usage") != counts {
			t.Errorf("%s: %s", m.name, got)
		}
		before := len(service.Requests())
		for path, body := range map[string]string{
			"/v1/chat/completions": `{"model":"MODEL","messages":[{"role":"user","content":"a"}]}`,
			"/v1/completions":      `{"model":"MODEL","prompt":"a"}`,
			"/embed":               `{"model":"MODEL","prompt":"a","layers":[0]}`,
			"/v1/embeddings":       `{"model":"MODEL","input":[1,2]}`,
		} {
			if got := post(path, body); !strings.Contains(got, "rror") || len(service.Requests()) != before {
				t.Errorf("%s: %s: %s", m.name, path, got)
			}
		}
		if list := text(t, ask(h, "GET", "/v1/models", "", nil)); !strings.Contains(list, `"task":"embed"`) {
			t.Errorf("%s: %s", m.name, list)
		}
	}
}

// What a client asks for reaches the provider in the provider's words, or is rejected by name.
func TestRemoteEmbeddingOptions(t *testing.T) {
	all := map[string]remoteVectors{}
	for _, m := range embedsRemote {
		all[m.record] = m
	}
	for _, test := range []struct{ record, options, sent, param string }{
		{"bedrock-amazon.titan-embed-text", `"dimensions":2`, `{"inputText":"a","dimensions":2}`, ""},
		{"bedrock-amazon.titan-embed-text", `"input_type":"query"`, `{"inputText":"a"}`, ""},
		{"bedrock-amazon.titan-embed-text", `"truncate":true`, "", "truncate"},
		{"bedrock-amazon.titan-embed-text", `"prompt_name":"query"`, "", "prompt_name"},
		{"bedrock-cohere.embed", `"input_type":"query"`, `{"texts":["a"],"input_type":"search_query","truncate":"NONE"}`, ""},
		{"bedrock-cohere.embed", `"input_type":"symmetric","truncate":"END"`, `{"texts":["a"],"input_type":"search_document","truncate":"END"}`, ""},
		{"bedrock-cohere.embed", `"input_type":"clustering","truncate":false`, `{"texts":["a"],"input_type":"clustering","truncate":"NONE"}`, ""},
		{"bedrock-cohere.embed", `"dimensions":2`, "", "dimensions"},
		{"bedrock-cohere.embed-v4", `"dimensions":2,"truncate":true`, `{"texts":["a"],"input_type":"search_document","truncate":"RIGHT","output_dimension":2}`, ""},
		{"sagemaker-tei", `"truncate":true,"prompt_name":"query","dimensions":2`, `{"inputs":["a"],"truncate":true,"prompt_name":"query","dimensions":2}`, ""},
		{"sagemaker-tei", `"task":"classification"`, `{"inputs":["a"],"truncate":false}`, ""},
	} {
		m := all[test.record]
		a, service := vectorApp(t, m, Config{})
		res := ask(a.Handler(), "POST", "/v1/embeddings", "", strings.NewReader(`{"model":"`+m.name+`","input":"a",`+test.options+`}`))
		got := text(t, res)
		var sent []map[string]any
		for _, r := range service.Requests() {
			sent = append(sent, r.Body)
		}
		if test.sent == "" {
			if res.StatusCode != 400 || len(sent) != 0 || !strings.Contains(got, `"param":"`+test.param+`"`) {
				t.Errorf("%s %s: %d %s", test.record, test.options, res.StatusCode, got)
			}
			continue
		}
		var want map[string]any
		if err := json.Unmarshal([]byte(test.sent), &want); err != nil || res.StatusCode != 200 || !reflect.DeepEqual(sent, []map[string]any{want}) {
			t.Errorf("%s %s: %d %s, sent %v", test.record, test.options, res.StatusCode, got, sent)
		}
	}
}

// A request of more texts than a call may have becomes several calls, whose vectors are in
// the order of the texts.
func TestRemoteEmbeddingBatches(t *testing.T) {
	for i, calls := range []int{100, 2, 2, 4} {
		m := embedsRemote[i]
		a, service := vectorApp(t, m, Config{})
		texts := make([]string, 100)
		for i := range texts {
			texts[i] = strings.Repeat("x", 1+i)
		}
		input, _ := json.Marshal(texts)
		got := text(t, ask(a.Handler(), "POST", "/batch_semantic_embed", "", strings.NewReader(fmt.Sprintf(`{"model":%q,"prompts":%s,"representation":"document"}`, m.name, input))))
		var list struct{ Embeddings [][]float64 }
		if err := json.Unmarshal([]byte(got), &list); err != nil || len(list.Embeddings) != 100 || len(service.Requests()) != calls {
			t.Errorf("%s: %d vectors of %d calls: %.200s", m.name, len(list.Embeddings), len(service.Requests()), got)
		}
		for i, v := range list.Embeddings {
			if v[0] != float64(1+i) {
				t.Fatalf("%s: text %d has the vector %v", m.name, i, v)
			}
		}
	}
}

// A remote reranker answers the clients of Cohere, Jina, vLLM and Text Embeddings Inference.
func TestRemoteRanking(t *testing.T) {
	for _, m := range ranksRemote {
		a, service := vectorApp(t, m, Config{})
		h, counts, tei := a.Handler(), m.name == "cohere.rerank-v3-5:0", m.family == "sagemaker"
		post := func(path, body string) string {
			return text(t, ask(h, "POST", path, "", strings.NewReader(strings.ReplaceAll(body, "MODEL", m.name))))
		}
		var answer struct {
			Results []struct {
				Index int
				Score float64 `json:"relevance_score"`
			}
			Usage *struct {
				Prompt int `json:"prompt_tokens"`
			}
		}
		for _, path := range []string{"/v1/rerank", "/v2/rerank"} {
			got := post(path, `{"model":"MODEL","query":"q","documents":["a","ccc","bb"],"top_n":2}`)
			if err := json.Unmarshal([]byte(got), &answer); err != nil || fmt.Sprint(answer.Results) != "[{1 0.3} {2 0.2}]" || counts != (answer.Usage != nil) {
				t.Errorf("%s: %s: %s", m.name, path, got)
			}
		}
		for _, test := range []struct{ path, body, want string }{
			{"/rerank", `{"query":"q","texts":["a","bb"],"truncate":true}`, `[{"index":1,"score":0.2},{"index":0,"score":0.1}]`},
			{"/v1/score", `{"model":"MODEL","text_1":"q","text_2":["a","bb"]}`, map[bool]string{true: `"index":1,"object":"score","score":0.2`, false: `cannot reject`}[tei]},
			{"/rerank", `{"query":"q","texts":["a","bb"],"truncate":true,"raw_scores":true}`, map[bool]string{true: `[{"index":1,"score":0.2}`, false: `raw_scores`}[tei]},
			{"/rerank", `{"query":"q","documents":["a"],"use_activation":false}`, map[bool]string{true: `"relevance_score":0.1`, false: `"param":"use_activation"`}[tei]},
			{"/v1/embeddings", `{"model":"MODEL","input":"a"}`, "no embedder"},
			{"/v1/completions", `{"model":"MODEL","prompt":"a"}`, "ranks documents"},
		} {
			if got := post(test.path, test.body); !strings.Contains(got, test.want) {
				t.Errorf("%s: %s: %s: %s", m.name, test.path, test.body, got)
			}
		}
		if list := text(t, ask(h, "GET", "/v1/models", "", nil)); !strings.Contains(list, `"task":"rerank"`) {
			t.Errorf("%s: %s", m.name, list)
		}
		for _, r := range service.Requests() {
			if m.name == "cohere.rerank-v3-5:0" && (r.Body["api_version"] != 2.0 || r.Body["top_n"] != nil) {
				t.Errorf("%s: sent %v", m.name, r.Body)
			}
		}
	}
}
