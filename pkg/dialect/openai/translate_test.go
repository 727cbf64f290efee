package openai

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// translate decodes and translates a body.
func translate(body string) (*llm.Request, error) {
	var in chatRequest
	if err := chatTable.Decode([]byte(body), &in); err != nil {
		return nil, err
	}
	return in.request()
}

const hi = `"messages":[{"role":"user","content":"hi"}]`

func TestPrediction(t *testing.T) {
	for sent, want := range map[string]string{
		`"prediction":null,`: "",
		`"prediction":{"type":"content","content":"as it is"},`:                                                    "as it is",
		`"prediction":{"type":"content","content":[{"type":"text","text":"as "},{"type":"text","text":"it is"}]},`: "as it is",
	} {
		req, err := translate(`{` + sent + hi + `}`)
		if err != nil || req.Prediction != want {
			t.Errorf("%s: %q, %v", sent, req.Prediction, err)
		}
	}
	usage := newUsage(llm.Usage{Predicted: 3, Mispredicted: 4})
	if usage.Details == nil || *usage.Details != (completionDetails{0, 3, 4}) {
		t.Errorf("the usage is %+v", usage)
	}
}

func TestRequest(t *testing.T) {
	chat := []llm.Prompt{{Messages: []llm.Message{{Role: "user", Parts: []llm.Part{{Text: "hi"}}}}}}
	defaults := llm.Params{Temperature: new(0.7)}
	for _, test := range []struct {
		body string
		want llm.Request
	}{
		{`{` + hi + `}`, llm.Request{N: 1}},
		{`{` + hi + `,"model":null,"temperature":null,"stop":null,"n":null,"stream":null,"logit_bias":null,"tools":null,"stream_options":null}`, llm.Request{N: 1}},
		{`{` + hi + `,"max_tokens":5}`, llm.Request{N: 1, Params: llm.Params{MaxTokens: new(5)}}},
		{`{` + hi + `,"max_tokens":100000}`, llm.Request{N: 1, Params: llm.Params{MaxTokens: new(100000)}}},
		{`{` + hi + `,"maximum_tokens":9,"top_k":3,"hosting":"cloud","tags":["t"],"steering_concepts":[]}`, llm.Request{N: 1, Params: llm.Params{MaxTokens: new(9), TopK: new(3)}}},
		{`{` + hi + `,"max_completion_tokens":7,"max_tokens":7,"maximum_tokens":7}`, llm.Request{N: 1, Params: llm.Params{MaxTokens: new(7)}}},
		{`{` + hi + `,"maximum_tokens":8}`, llm.Request{N: 1, Params: llm.Params{MaxTokens: new(8)}}},
		{`{` + hi + `,"temperature":0,"top_p":1,"n":128,"stream":true,"seed":-9223372036854775808}`, llm.Request{N: 128, Stream: true, Params: llm.Params{Temperature: new(0.0), TopP: new(1.0), Seed: new(int64(-1 << 63))}}},
		{`{` + hi + `,"stop":"\n","presence_penalty":-2,"frequency_penalty":2}`, llm.Request{N: 1, Params: llm.Params{Stop: []string{"\n"}, PresencePenalty: new(-2.0), FrequencyPenalty: new(2.0)}}},
		{`{` + hi + `,"stop":["a","b","c","d"]}`, llm.Request{N: 1, Params: llm.Params{Stop: []string{"a", "b", "c", "d"}}}},
		{`{` + hi + `,"stop":[],"logit_bias":{}}`, llm.Request{N: 1, Params: llm.Params{Stop: []string{}, LogitBias: map[int]float64{}}}},
		{`{` + hi + `,"logit_bias":{"50256":-100,"0":100}}`, llm.Request{N: 1, Params: llm.Params{LogitBias: map[int]float64{50256: -100, 0: 100}}}},
		{`{` + hi + `,"logprobs":true}`, llm.Request{N: 1, Params: llm.Params{Logprobs: new(0)}}},
		{`{` + hi + `,"logprobs":true,"top_logprobs":20}`, llm.Request{N: 1, Params: llm.Params{Logprobs: new(20)}}},
		{`{` + hi + `,"logprobs":false}`, llm.Request{N: 1}},
		{`{` + hi + `,"user":"u","metadata":{"k":"v"},"safety_identifier":"s","prompt_cache_key":"k","prompt_cache_retention":"24h","parallel_tool_calls":false}`, llm.Request{N: 1}},
		{`{` + hi + `,"store":false,"service_tier":"auto","response_format":{ "type" : "text" },"modalities":[ "text" ],"tools":[],"tool_choice":"none","audio":null}`, llm.Request{N: 1}},
	} {
		test.want.Prompts, test.want.Defaults = chat, defaults
		got, err := translate(test.body)
		if err != nil || !reflect.DeepEqual(*got, test.want) {
			t.Errorf("%s: got %+v, %v", test.body, got, err)
		}
	}
}

func TestMessages(t *testing.T) {
	body := `{"messages":[
		{"role":"developer","content":"be brief"},
		{"role":"system","content":""},
		{"role":"user","content":[{"type":"text","text":"a","prompt_cache_breakpoint":{"mode":"explicit"}},{"type":"text","text":"b","cache_control":{"type":"ephemeral"}}],"name":"Ann"},
		{"role":"assistant","content":[{"type":"text","text":"x","role":"assistant","refusal":null,"annotations":[],"reasoning":"hm","reasoning_content":"hm"}]},
		{"role":"assistant","content":"x","refusal":null,"annotations":[],"audio":null,"function_call":null,"tool_calls":null},
		{"role":"assistant","content":null,"name":"helper","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}}]},
		{"role":"tool","content":[{"type":"text","text":"4"},{"type":"text","text":"2"}],"tool_call_id":"c1","name":"f"},
		{"role":"assistant","content":"y","parsed":{"a":1},"provider_specific_fields":{"refusal":null},"tool_calls":[
			{"id":"c2","index":0,"type":"function","function":{"name":"f","arguments":"","parsed_arguments":{"x":[1]}}},
			{"id":"c1","index":1,"type":"function","function":{"name":"g","arguments":"{}"}}]}]}`
	text := func(s ...string) (parts []llm.Part) {
		for _, s := range s {
			parts = append(parts, llm.Part{Text: s})
		}
		return parts
	}
	want := []llm.Message{
		{Role: "system", Parts: text("be brief")},
		{Role: "system", Parts: text("")},
		{Role: "user", Parts: text("a\n", "b")},
		{Role: "assistant", Parts: text("x")},
		{Role: "assistant", Parts: text("x")},
		{Role: "assistant", Calls: []llm.Call{{ID: "c1", Name: "f", Arguments: `{"a": 1}`}}},
		{Role: "tool", Parts: text("4\n", "2"), CallID: "c1"},
		{Role: "assistant", Parts: text("y"), Calls: []llm.Call{{ID: "c2", Name: "f", Arguments: "{}"}, {Index: 1, ID: "c1", Name: "g", Arguments: "{}"}}},
	}
	got, err := translate(body)
	if err != nil || !reflect.DeepEqual(got.Prompts[0].Messages, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestNames: texts begin with the names of users if there are several, as AutoGen's agents have them.
func TestNames(t *testing.T) {
	const ann, bob, eve = `{"role":"user","content":"x","name":"Ann"}`, `{"role":"user","content":"Bob said:\nz","name":"Bob"}`, `{"role":"assistant","content":"y","name":"Eve"}`
	const more = `{"role":"user","content":"x"},` + eve
	for list, want := range map[string]string{
		ann + `,` + more + `,` + ann:             "x|x|y|x",
		ann + `,` + more + `,` + bob + `,` + ann: "Ann said:\nx|x|y|Bob said:\nz|Ann said:\nx",
	} {
		got, err := translate(`{"messages":[` + list + `]}`)
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, m := range got.Prompts[0].Messages {
			text, _ := llm.Prompt{Parts: m.Parts}.Text()
			texts = append(texts, text)
		}
		if s := strings.Join(texts, "|"); s != want {
			t.Errorf("%s: got %q", list, s)
		}
	}
}

// TestParameters: every row has a note, and neutral values are JSON. The tables themselves
// check that every key has a row.
func TestParameters(t *testing.T) {
	for _, p := range slices.Concat(Parameters(), CompletionParameters(), EmbeddingParameters(), tokenizeTable.Parameters(""), RerankParameters(), ScoreParameters(), EmbedParameters(), InputsParameters()) {
		if p.Note == "" || len(p.Neutral) > 0 && p.Disposition != wire.Refused {
			t.Errorf("%+v", p)
		}
		for _, v := range p.Neutral {
			if !json.Valid([]byte(v)) {
				t.Errorf("%s: neutral %s", p.Name, v)
			}
		}
	}
}

// TestDispositions sends every top-level key and compares the effect with the table.
func TestDispositions(t *testing.T) {
	plain, err := translate(`{` + hi + `}`)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{ // a value that is not the default
		"max_tokens": "5", "max_completion_tokens": "5", "maximum_tokens": "5", "temperature": "0.5", "top_p": "0.5", "n": "2", "stream": "true",
		"stop": `"x"`, "seed": "1", "presence_penalty": "1", "frequency_penalty": "1", "logit_bias": `{"1":1}`, "logprobs": "true",
		"user": `"x"`, "safety_identifier": `"x"`, "metadata": `{"a":"b"}`, "prompt_cache_key": `"x"`, "prompt_cache_retention": `"24h"`, "prompt_cache_options": `{"ttl":"30m"}`,
		"response_format": `{"type":"json_object"}`, "tools": `[` + weather + `]`,
		"tool_choice": `"required","tools":[` + weather + `]`, "parallel_tool_calls": `false,"tools":[` + weather + `]`,
	}
	for _, p := range Parameters() {
		value, ok := values[p.Name]
		if p.Disposition == wire.Refused {
			value, ok = `{"x":1}`, true
		}
		if !ok || strings.Contains(p.Name, ".") {
			continue
		}
		got, err := translate(`{` + hi + `,"` + p.Name + `":` + value + `}`)
		switch same := reflect.DeepEqual(got, plain); {
		case p.Disposition == wire.Refused:
			if e, ok := errors.AsType[*llm.Error](err); !ok || e.Code != llm.Unsupported || e.Param != p.Name {
				t.Errorf("%s: %v", p.Name, err)
			}
		case err != nil || same != (p.Disposition == wire.NoEffect):
			t.Errorf("%s is %s, but the request is the same: %v, %v", p.Name, p.Disposition, same, err)
		}
	}
}

// FuzzChat: no body makes the dialect panic, every refusal is one with a status of
// the client's fault, and accepted values are in range.
func FuzzChat(f *testing.F) {
	f.Add([]byte(`{` + hi + `,"stop":["a"],"n":3,"logit_bias":{"5":-1},"logprobs":true,"top_logprobs":3,"max_tokens":9000}`))
	f.Add([]byte(`{"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}],"tools":[],"temperature":2,"top_p":0.1}`))
	f.Add([]byte(`{"messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":"x","tool_call_id":"c"}],"stream":true,"stream_options":{"include_usage":true}}`))
	f.Add([]byte(`{` + hi + `,"tools":[` + weather + `],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"weather"}}]}},"parallel_tool_calls":false}`))
	f.Add([]byte(`{` + hi + `,"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"string"},"strict":true}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := translate(string(body))
		if err != nil {
			if e, ok := errors.AsType[*llm.Error](err); !ok || httpx.Status(e.Code) != 400 || e.Message == "" {
				t.Fatalf("%q: %v", body, err)
			}
			return
		}
		p := req.Effective()
		bad := req.N < 1 || req.N > maxChoices || len(req.Prompts) != 1 || len(req.Prompts[0].Messages) == 0 ||
			p.MaxTokens != nil && *p.MaxTokens < 1 || p.TopK != nil && *p.TopK < 0 || *p.Temperature < 0 || *p.Temperature > 2 ||
			p.TopP != nil && (*p.TopP <= 0 || *p.TopP > 1) || len(p.Stop) > maxStops || slices.Contains(p.Stop, "") ||
			p.Logprobs != nil && (*p.Logprobs < 0 || *p.Logprobs > maxTopLogprobs)
		bad = bad || p.Schema != nil && p.Schema[0] != '{' || len(p.Tools) == 0 && (p.MustCall != nil || p.OneCall != nil)
		for _, tool := range p.Tools {
			bad = bad || tool.Name == "" || tool.Parameters[0] != '{'
		}
		for id, bias := range p.LogitBias {
			bad = bad || id < 0 || bias < -100 || bias > 100
		}
		if bad {
			t.Errorf("%q was taken as %+v", body, req)
		}
	})
}
