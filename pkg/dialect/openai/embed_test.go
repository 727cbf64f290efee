package openai

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
)

// embedders returns a handler over a model that continues texts, one that ranks them, one with sparse
// embeddings, one with dense ones, and another one.
func embedders() (http.Handler, *letters) {
	l := &letters{}
	info := func(name string, task llm.Task, has ...llm.EmbedKind) llm.ModelInfo {
		return llm.ModelInfo{Name: name, Family: "local", Task: task, Embeds: has}
	}
	models := llm.Fixed{
		{ModelInfo: info("writer", ""), Backend: llmtest.Script{"hi"}},
		{ModelInfo: info("ranker", llm.TaskRerank), Backend: &ranker{}},
		{ModelInfo: info("weights", llm.TaskEmbed, llm.EmbedSparse), Backend: l},
		{ModelInfo: info("dense", llm.TaskEmbed, llm.EmbedDense), Backend: l},
		{ModelInfo: info("tests", llm.TaskEmbed), Backend: vectors{}},
	}
	routes := Routes(Config{Models: models, Now: func() time.Time { return time.Unix(7, 0) }})
	return (&httpx.Mux{Routes: routes, Fallback: Errors}).Handler(), l
}

var embedID = regexp.MustCompile(`embed-[0-9a-f]{24}`)

// Clients of both versions of Cohere's API get the shape that they know: without embedding_types
// the first version has a list.
func TestEmbed(t *testing.T) {
	const (
		floats = `{"id":"ID","response_type":"embeddings_floats","model":"dense","texts":["a","b"],`
		byType = `{"id":"ID","response_type":"embeddings_by_type","model":"dense","texts":["a","b"],`
		used   = `"billed_units":{"input_tokens":2},"tokens":{"input_tokens":2,"output_tokens":0}},"usage":{"prompt_tokens":2,"total_tokens":2},"embeddings":`
		one    = `"meta":{"api_version":{"version":"1"},` + used
		two    = `"meta":{"api_version":{"version":"2"},` + used
		texts  = `{"texts":["a","b"],"input_type":"search_document"`
	)
	for _, c := range []struct{ target, body, want string }{
		{"/v1/embed", texts + `}`, floats + one + `[[0.6,0.8],[0.6,0.8]]}`},
		{"/v1/embed", texts + `,"embedding_types":[]}`, floats + one + `[[0.6,0.8],[0.6,0.8]]}`},
		{"/v1/embed", texts + `,"embedding_types":["float"]}`, byType + one + `{"float":[[0.6,0.8],[0.6,0.8]]}}`},
		{"/v2/embed", texts + `,"images":[],"priority":1}`, byType + two + `{"float":[[0.6,0.8],[0.6,0.8]]}}`},
		{"/v2/embed", texts + `,"embedding_types":["int8","ubinary"],"output_dimension":2}`, byType + two + `{"int8":[[95,127],[95,127]],"ubinary":[[192],[192]]}}`},
		{"/v2/embed", texts + `,"embedding_types":["uint8","binary","base64"]}`, byType + two + `{"uint8":[[223,255],[223,255]],"binary":[[64],[64]],"base64":["mpkZP83MTD8=","mpkZP83MTD8="]}}`},
	} {
		h, _ := embedders()
		w := ask(h, "POST", c.target, c.body)
		if got := embedID.ReplaceAllString(strings.TrimSpace(w.Body.String()), "ID"); w.Code != 200 || got != c.want {
			t.Errorf("%s %s: %d %s, want %s", c.target, c.body, w.Code, got, c.want)
		}
	}
}

// Requests reach the model with all that they ask: texts are cut unless truncate is NONE.
func TestEmbedRequest(t *testing.T) {
	texts := func(list ...string) (out []llm.Prompt) {
		for _, text := range list {
			out = append(out, llm.Text(text))
		}
		return out
	}
	for body, want := range map[string]llm.EmbedRequest{
		`{"texts":["a","b"]}`: {Prompts: texts("a", "b"), Truncate: true},
		`{"texts":["a"],"truncate":"END","output_dimension":2}`:       {Prompts: texts("a"), Truncate: true, Dimensions: 2},
		`{"texts":["a"],"truncate":"NONE","input_type":"clustering"}`: {Prompts: texts("a"), Task: llm.EmbedCluster},
		`{"inputs":[{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},{"content":[{"type":"text","text":"c"}]}],"input_type":"search_query"}`: {Prompts: texts("a\nb", "c"), Task: llm.EmbedQuery, Truncate: true},
	} {
		h, l := embedders()
		want.MaxValues = maxValues
		if w := ask(h, "POST", "/v2/embed", body); w.Code != 200 || !reflect.DeepEqual(l.last, want) {
			t.Errorf("%s: %s, %+v", body, w.Body, l.last)
		}
	}
}

// Values of fewer bits keep the signs, and the sizes within a vector.
func TestQuantVectors(t *testing.T) {
	v := []float32{0.5, -1, 0.25, 0, 0.001, -0.001, 0, 1, 0.1}
	got := newTyped(quantTypes, [][]float32{v, make([]float32, 9)})
	for _, c := range []struct {
		name      string
		got, want []int
	}{
		{"int8", got.Int8[0], []int{64, -127, 32, 0, 0, 0, 0, 127, 13}},
		{"uint8", got.Uint8[0], []int{192, 1, 160, 128, 128, 128, 128, 255, 141}},
		{"ubinary", got.Ubinary[0], []int{0b10101001, 0b10000000}},
		{"binary", got.Binary[0], []int{0b10101001 - 128, 0}},
		{"int8 of zeros", got.Int8[1], make([]int, 9)},
		{"ubinary of zeros", got.Ubinary[1], []int{0, 0}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}

// Bad requests are rejected with the key at fault, in the shape that Cohere's clients read, and
// models that do not embed say which do.
func TestBadEmbeds(t *testing.T) {
	many := `["a"` + strings.Repeat(`,"a"`, maxInputs) + `]`
	for _, c := range []struct {
		status     int
		body, want string
	}{
		{400, `{}`, `Invalid value for 'texts': is required`},
		{400, `{"texts":[]}`, `Invalid value for 'texts': at least one text is required`},
		{400, `{"inputs":[]}`, `Invalid value for 'inputs': at least one input is required`},
		{400, `{"texts":["a",""]}`, `Invalid value for 'texts[1]': must not be empty`},
		{400, `{"texts":` + many + `}`, `Invalid value for 'texts': at most 2048 texts`},
		{400, `{"texts":"a"}`, `Invalid value for 'texts': must be an array, not string`},
		{400, `{"texts":["a",1]}`, `Invalid value for 'texts': must be a string, not number`},
		{400, `{"texts":["a"],"inputs":[{"content":[{"type":"text","text":"a"}]}]}`, `Invalid value for 'texts': either texts or inputs is accepted`},
		{400, `{"inputs":[{"content":[]}]}`, `Invalid value for 'inputs[0].content': at least one part is required`},
		{400, `{"inputs":[{"content":[{"type":"text","text":""}]}]}`, `Invalid value for 'inputs[0]': must not be empty`},
		{400, `{"inputs":[{"content":[{"type":"text"}]}]}`, `Invalid value for 'inputs[0].content[0].text': is required`},
		{400, `{"inputs":[{"content":[{"type":"image_url","image_url":{"url":"data:"}}]}]}`, `Invalid value for 'inputs[0].content[0].type': must be text, not \"image_url\"`},
		{400, `{"images":["data:"]}`, `Unsupported parameter 'images': the models here embed texts only; only [] is accepted`},
		{400, `{"texts":["a"],"input_type":"image"}`, `Invalid value for 'input_type': must be search_document, search_query, classification or clustering, not \"image\"`},
		{400, `{"texts":["a"],"embedding_types":["int4"]}`, `Invalid value for 'embedding_types[0]': must be float, int8, uint8, binary, ubinary or base64, not \"int4\"`},
		{400, `{"texts":["a"],"truncate":"START"}`, `Invalid value for 'truncate': must be END or NONE, not \"START\"`},
		{400, `{"texts":["a"],"max_tokens":9}`, `Unsupported parameter 'max_tokens': texts are cut at the model's limit`},
		{400, `{"texts":["a"],"output_dimension":0}`, `Invalid value for 'output_dimension': must be at least 1`},
		{400, `{"texts":["a"],"output_dimension":3}`, `Unsupported parameter 'output_dimension': embeddings of this model have 2 dimensions and cannot be shortened`},
		{400, `{"texts":["a"],"top_n":1}`, `Unrecognized request argument supplied: top_n`},
		{400, `{"model":"tests","texts":["a"],"input_type":"clustering"}`, `Invalid value for 'input_type': is not one of the model's`},
		{400, `{"model":"tests","texts":["long"],"truncate":"NONE"}`, `This model's maximum context length is 256 tokens. However, your texts resulted in 300 tokens`},
		{400, `{"model":"writer","texts":["a"]}`, `Unsupported parameter 'model': writer has no embedder; these embed texts: dense, tests`},
		{400, `{"model":"ranker","texts":["a"]}`, `Unsupported parameter 'model': ranker ranks documents (/v1/rerank) and has no embedder; these embed texts: dense, tests`},
		{404, `{"model":"none","texts":["a"]}`, `The model 'none' does not exist`},
	} {
		h, _ := embedders()
		w := ask(h, "POST", "/v2/embed", c.body)
		if got := w.Body.String(); w.Code != c.status || !strings.Contains(got, `"message":"`+c.want) || strings.Count(got, c.want) != 3 {
			t.Errorf("%.80s: %d %s, want %s", c.body, w.Code, got, c.want)
		}
	}
}

// Clients of Text Embeddings Inference get lists, and errors of that server.
func TestEmbedInputs(t *testing.T) {
	for _, c := range []struct{ target, body, want string }{
		{"/embed", `{"inputs":"a"}`, `200 [[0.6,0.8]]`},
		{"/embed", `{"inputs":["a","b"],"truncate":true,"truncation_direction":"Right","normalize":false}`, `200 [[3,4],[3,4]]`},
		{"/embed", `{"inputs":[[1,2]],"dimensions":2,"normalize":true,"prompt_name":"query"}`, `200 [[0.6,0.8]]`},
		{"/embed_sparse", `{"inputs":["baa","c"]}`, `200 [[{"index":97,"value":2},{"index":98,"value":1}],[{"index":99,"value":1}]]`},
		{"/embed_sparse", `{"inputs":["b",""]}`, `422 {"error":"Invalid value for 'inputs': input 1 is an empty string","error_type":"Validation"}`},
		{"/embed_sparse", `{"inputs":"b","dimensions":2}`, `422 {"error":"Unrecognized request argument supplied: dimensions","error_type":"Validation"}`},
		{"/embed", `{"inputs":[]}`, `422 {"error":"Invalid value for 'inputs': must not be an empty array","error_type":"Validation"}`},
		{"/embed", `{"inputs":""}`, `422 {"error":"Invalid value for 'inputs': input 0 is an empty string","error_type":"Validation"}`},
		{"/embed", `{"inputs":7}`, `422 {"error":"Invalid value for 'inputs': must be a string, an array of token ids, or an array of either","error_type":"Validation"}`},
		{"/embed", `{"inputs":"a","truncation_direction":"left"}`, `422 {"error":"Unsupported parameter 'truncation_direction': texts are cut at their end; only \"right\" or \"Right\" is accepted","error_type":"Validation"}`},
		{"/embed", `{"inputs":"a","dimensions":3}`, `422 {"error":"Unsupported parameter 'dimensions': embeddings of this model have 2 dimensions and cannot be shortened","error_type":"Validation"}`},
		{"/embed", `{"model":"tests","inputs":"long"}`, `413 {"error":"This model's maximum context length is 256 tokens. However, your inputs resulted in 300 tokens. Please reduce the length of the inputs.","error_type":"Validation"}`},
		{"/embed", `{"model":"writer","inputs":"a"}`, `424 {"error":"Unsupported parameter 'model': writer has no embedder; these embed texts: dense, tests","error_type":"Backend"}`},
		{"/embed_all", `{"inputs":["ab","c"],"truncate":true}`, `200 [[[1,0],[0,1]],[[-1,0]]]`},
		{"/embed_all", `{"inputs":"a","normalize":true}`, `422 {"error":"Unrecognized request argument supplied: normalize","error_type":"Validation"}`},
		{"/embed_all", `{"model":"ranker","inputs":"a"}`, `424 {"error":"Unsupported parameter 'model': ranker ranks documents (/v1/rerank) and has no embedder; these embed texts: dense, tests","error_type":"Backend"}`},
		{"/", `{"inputs":"a"}`, `200 [[0.6,0.8]]`},
		{"/", `{"model":"weights","inputs":"baa"}`, `200 [[{"index":97,"value":2},{"index":98,"value":1}]]`},
		{"/", `{"model":"weights","inputs":"a","normalize":false}`, `422 {"error":"Unsupported parameter 'normalize': this model has sparse embeddings only, which are not normalised","error_type":"Validation"}`},
		{"/", `{"model":"ranker","inputs":"a"}`, `424 {"error":"Unsupported parameter 'model': ranker ranks documents (/v1/rerank) and has no embedder; these embed texts: dense, tests, weights","error_type":"Backend"}`},
		{"/", `{"query":"q","texts":["a","bb"],"raw_scores":true}`, `200 [{"index":1,"score":1},{"index":0,"score":0}]`},
		{"/", `{"query":"q","texts":[]}`, `422 {"error":"Invalid value for 'texts': at least one document is required","error_type":"Validation"}`},
		{"/", `{}`, `422 {"error":"Invalid value for 'inputs': is required","error_type":"Validation"}`},
		{"/embed_sparse", `{"model":"ranker","inputs":"a"}`, `424 {"error":"Unsupported parameter 'model': ranker ranks documents (/v1/rerank) and has no embedder; these embed texts: weights","error_type":"Backend"}`},
	} {
		h, _ := embedders()
		w := ask(h, "POST", c.target, c.body)
		if got := fmt.Sprintf("%d %s", w.Code, strings.TrimSpace(w.Body.String())); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.target, c.body, got, c.want)
		}
	}
	h, l := embedders()
	want := llm.EmbedRequest{Prompts: []llm.Prompt{llm.Text("a")}, PromptName: "query", Dimensions: 2, Truncate: true, MaxValues: maxValues}
	if w := ask(h, "POST", "/embed", `{"inputs":"a","prompt_name":"query","dimensions":2,"truncate":true}`); w.Code != 200 || !reflect.DeepEqual(l.last, want) {
		t.Errorf("%s, %+v", w.Body, l.last)
	}
	want.Kind, want.Dimensions = llm.EmbedUnpooled, 0
	if w := ask(h, "POST", "/embed_all", `{"inputs":"a","prompt_name":"query","truncate":true}`); w.Code != 200 || !reflect.DeepEqual(l.last, want) {
		t.Errorf("%s, %+v", w.Body, l.last)
	}
}

// With sparse embeddings only, the first model that has some answers at the root.
func TestEmbedRootSparse(t *testing.T) {
	h, _ := typesOnly("weights", llm.EmbedSparse)
	if w := ask(h, "POST", "/", `{"inputs":"b"}`); w.Code != 200 || strings.TrimSpace(w.Body.String()) != `[[{"index":98,"value":1}]]` {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// uncut is a model that cannot cut texts.
type uncut struct{ vectors }

func (u uncut) Embed(ctx context.Context, req *llm.EmbedRequest) ([]llm.Embedding, llm.Usage, error) {
	if req.Truncate {
		return nil, llm.Usage{}, &llm.Error{Code: llm.Invalid, Param: "truncate", Message: "cannot cut"}
	}
	return u.vectors.Embed(ctx, req)
}

// Without truncate, a model that cannot cut gets texts whole; with END it rejects them.
func TestEmbedUncut(t *testing.T) {
	models := llm.Fixed{{ModelInfo: llm.ModelInfo{Name: "uncut", Family: "local", Task: llm.TaskEmbed}, Backend: uncut{}}}
	h := (&httpx.Mux{Routes: Routes(Config{Models: models}), Fallback: Errors}).Handler()
	if w := ask(h, "POST", "/v2/embed", `{"texts":["a"]}`); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := ask(h, "POST", "/v2/embed", `{"texts":["a"],"truncate":"END"}`); w.Code != 400 || !strings.Contains(w.Body.String(), `'truncate': cannot cut`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestEmbedDifferences lists where embeddings depart from the servers of Cohere and of Text Embeddings
// Inference, each with the reason and a request that shows it.
func TestEmbedDifferences(t *testing.T) {
	many := `["a"` + strings.Repeat(`,"a"`, 99) + `]`
	for _, c := range []struct {
		server, reason string
		target, body   string
		status         int
	}{
		{"Cohere: at most 96 texts", "the same limit on all paths", "/v2/embed", `{"texts":` + many + `}`, 200},
		{"Cohere: input_type is required", "most models embed all alike", "/v2/embed", `{"texts":["a"]}`, 200},
		{"Cohere: START cuts the beginning", "texts are cut at their end", "/v2/embed", `{"texts":["a"],"truncate":"START"}`, 400},
		{"Cohere: images are embedded", "the models here embed texts only", "/v2/embed", `{"images":["data:image/png;base64,"]}`, 400},
		{"Cohere: max_tokens shortens texts", "they are cut at the model's limit", "/v2/embed", `{"texts":["a"],"max_tokens":1}`, 400},
		{"inference server: at most 32 inputs", "the same limit on all paths", "/embed", `{"inputs":` + many + `}`, 200},
		{"inference server: long texts may be cut by default", "nothing is dropped in silence", "/embed", `{"model":"tests","inputs":"long"}`, 413},
		{"inference server: the model decides at the root", "there are several models, so the keys decide", "/", `{"query":"q","texts":["a"]}`, 200},
		{"inference server: left cuts the beginning", "texts are cut at their end", "/embed", `{"inputs":"a","truncation_direction":"left"}`, 422},
	} {
		h, _ := embedders()
		if w := ask(h, "POST", c.target, c.body); w.Code != c.status {
			t.Errorf("%s (%s): %d %s, want %d", c.server, c.reason, w.Code, w.Body, c.status)
		}
	}
}
