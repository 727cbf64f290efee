package lamini

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

func decode(t *testing.T, body string) (*llm.Request, error) {
	t.Helper()
	var in completionRequest
	if err := completionTable.Decode([]byte(body), &in); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return in.request()
}

// TestSchema: an output_type is the JSON Schema of an object with its keys in its order.
func TestSchema(t *testing.T) {
	for sent, want := range map[string]string{
		`null`:             ``,
		`{"answer":"str"}`: `{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"],"additionalProperties":false}`,
		`{ "z": "int", "a\"<": "float", "m": "bool", "": "str" }`: `{"type":"object","properties":{"z":{"type":"integer"},"a\"\u003c":{"type":"number"},"m":{"type":"boolean"},"":{"type":"string"}},` +
			`"required":["z","a\"\u003c","m",""],"additionalProperties":false}`,
		`{"a":["A","B"],"b":[1, -2.50]}`: `{"type":"object","properties":{"a":{"enum":["A","B"]},"b":{"enum":[1, -2.50]}},"required":["a","b"],"additionalProperties":false}`,
	} {
		got, err := decode(t, `{"model_name":"m","prompt":"a","output_type":`+sent+`}`)
		if err != nil || string(got.Schema) != want || want != "" && !json.Valid(got.Schema) {
			t.Errorf("%s: got %s, %v", sent, got.Schema, err)
		}
	}
}

func TestRequest(t *testing.T) {
	prompt := func(texts ...string) (list []llm.Prompt) {
		for _, s := range texts {
			list = append(list, llm.Prompt{Parts: []llm.Part{{Text: s, Special: true}}})
		}
		return list
	}
	for _, test := range []struct {
		body string
		want llm.Request
	}{
		{`"prompt":"<|begin_of_text|>a"`, llm.Request{Prompts: prompt("<|begin_of_text|>a"), N: 1}},
		{`"prompt":["a",""]`, llm.Request{Prompts: prompt("a", ""), N: 1}},
		{`"prompt":"a","max_new_tokens":5`, llm.Request{Prompts: prompt("a"), N: 1, Params: llm.Params{MaxTokens: new(5)}}},
		{`"prompt":"a","max_tokens":6`, llm.Request{Prompts: prompt("a"), N: 1, Params: llm.Params{MaxTokens: new(6)}}},
		{`"prompt":"a","max_tokens":6,"max_new_tokens":5`, llm.Request{Prompts: prompt("a"), N: 1, Params: llm.Params{MaxTokens: new(5)}}},
		{`"prompt":"a","max_tokens":4,"max_new_tokens":5`, llm.Request{Prompts: prompt("a"), N: 1, Params: llm.Params{MaxTokens: new(4)}}},
	} {
		got, err := decode(t, `{"model_name":"m",`+test.body+`}`)
		if err != nil || !reflect.DeepEqual(*got, test.want) {
			t.Errorf("%s: got %+v, %v", test.body, got, err)
		}
	}
}

// Every key has a row and every row a key.
func TestParameters(t *testing.T) {
	keys := map[string]bool{}
	for route, request := range map[string]reflect.Type{
		"completions": reflect.TypeFor[completionRequest](), "embedding": reflect.TypeFor[embeddingRequest](),
	} {
		for key := range wire.Keys(request) {
			keys[route+" "+key] = true
		}
	}
	for _, p := range Parameters() {
		if !keys[p.Name] || p.Note == "" {
			t.Errorf("%+v", p)
		}
		delete(keys, p.Name)
	}
	if len(keys) > 0 {
		t.Errorf("%v have no disposition", keys)
	}
}

// TestDispositions sends every key and checks its disposition in the table.
func TestDispositions(t *testing.T) {
	const plain = `{"model_name":"m","prompt":"a"`
	want, err := decode(t, plain+`}`)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{
		"output_type": `{"a":"str"}`, "max_new_tokens": "5", "max_tokens": "5", "reservation_id": "7", "cache_id": `"x"`,
	}
	for _, p := range Parameters() {
		name, ok := strings.CutPrefix(p.Name, "completions ")
		value := values[name]
		if !ok || value == "" {
			continue
		}
		got, err := decode(t, plain+`,"`+name+`":`+value+`}`)
		e, _ := errors.AsType[*llm.Error](err)
		refused := e != nil && e.Code == llm.Unsupported && e.Param == name
		if same := reflect.DeepEqual(got, want); refused != (p.Disposition == wire.Refused) || same != (p.Disposition == wire.NoEffect) {
			t.Errorf("%s is %s: refused %v, without effect %v, %v", p.Name, p.Disposition, refused, same, err)
		}
	}
}

// FuzzRequests: no body makes the dialect panic, every rejection is a client error, and
// accepted values are in range.
func FuzzRequests(f *testing.F) {
	f.Add([]byte(`{"model_name":"m","prompt":["a","b"],"max_new_tokens":5,"max_tokens":null,"output_type":null}`))
	f.Add([]byte(`{"model_name":"m","prompt":"a","reservation_id":1}`))
	f.Add([]byte(`{"model_name":"m","prompt":"a","output_type":{"a":"str","b":["x",1],"":"int","c":"float","d":"bool"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var completion completionRequest
		err := completionTable.Decode(body, &completion)
		if err == nil {
			var req *llm.Request
			if req, err = completion.request(); err == nil {
				bad := completion.ModelName == "" || len(req.Prompts) == 0 || len(req.Prompts) != 1 && !completion.Prompt.List
				if bad || req.MaxTokens != nil && *req.MaxTokens < 1 || req.Schema != nil && !json.Valid(req.Schema) {
					t.Errorf("%q was taken as %+v", body, req)
				}
			}
		}
		ours(t, body, err)
		var embedding embeddingRequest
		if err = embeddingTable.Decode(body, &embedding); err == nil {
			_, err = embedding.request()
		}
		ours(t, body, err)
	})
}

// ours checks that a rejection is a client error.
func ours(t *testing.T, body []byte, err error) {
	if err == nil {
		return
	}
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Message == "" {
		t.Fatalf("%q: %v", body, err)
	}
	if status, _ := Errors.Body(e); status != 400 && status != 422 {
		t.Fatalf("%q: %d %v", body, status, err)
	}
}
