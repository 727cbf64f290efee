package openai

import (
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
	"glossa/pkg/wire"
)

// ids returns the prompt that is token ids.
func ids(list ...int) llm.Prompt { return llm.Prompt{Parts: []llm.Part{{Tokens: list}}} }

// complete decodes and translates a body.
func complete(body string) (*llm.Request, error) {
	var in completionRequest
	if err := completionTable.Decode([]byte(body), &in); err != nil {
		return nil, err
	}
	return in.request()
}

func TestCompletionRequest(t *testing.T) {
	one := []llm.Prompt{llm.Text("a")}
	for _, test := range []struct {
		body string
		want llm.Request
	}{
		{`"prompt":"a"`, llm.Request{Prompts: one, N: 1}},
		{`"prompt":null`, llm.Request{Prompts: []llm.Prompt{llm.Text("")}, N: 1}},
		{`"max_tokens":null,"echo":null,"logprobs":null,"best_of":null,"suffix":null,"stop":null,"user":"u"`, llm.Request{Prompts: []llm.Prompt{llm.Text("")}, N: 1}},
		{`"prompt":["a","\""]`, llm.Request{Prompts: []llm.Prompt{llm.Text("a"), llm.Text(`"`)}, N: 1}},
		{`"prompt":[ 5, 0 ]`, llm.Request{Prompts: []llm.Prompt{ids(5, 0)}, N: 1}},
		{`"prompt":[[5],[6,7]]`, llm.Request{Prompts: []llm.Prompt{ids(5), ids(6, 7)}, N: 1}},
		{`"prompt":"a","max_tokens":0,"echo":true,"logprobs":0`, llm.Request{Prompts: one, N: 1, Params: llm.Params{MaxTokens: new(0), Echo: new(true), Logprobs: new(0)}}},
		{`"prompt":"a","max_tokens":100000,"n":2,"best_of":3,"seed":1234,"suffix":""`, llm.Request{Prompts: one, N: 2, Params: llm.Params{MaxTokens: new(100000), BestOf: new(3), Seed: new(int64(1234))}}},
		{`"prompt":"a","stream":true,"best_of":1,"stop":["1","2","3","4","5","6"],"logit_bias":{"3":-1},"temperature":0,"top_p":0.5,"presence_penalty":1,"frequency_penalty":-1`, llm.Request{
			Prompts: one, N: 1, Stream: true, Params: llm.Params{
				BestOf: new(1), Stop: []string{"1", "2", "3", "4", "5", "6"}, LogitBias: map[int]float64{3: -1},
				Temperature: new(0.0), TopP: new(0.5), PresencePenalty: new(1.0), FrequencyPenalty: new(-1.0),
			},
		}},
	} {
		test.want.Defaults = llm.Params{MaxTokens: new(16), Temperature: new(1.0)}
		got, err := complete(`{"model":"m",` + test.body + `}`)
		if err != nil || !reflect.DeepEqual(*got, test.want) {
			t.Errorf("%s: got %+v, %v", test.body, got, err)
		}
	}
}

// TestBadCompletions and TestBadEmbeddings compare the parameter that the answer to each
// body names, and the beginning of its message.
func TestBadCompletions(t *testing.T) {
	refusals(t, "/v1/completions", `"model":"novels-5hr","prompt":"a"`, []refusal{
		{`{"prompt":"a"}`, "model", "Invalid value for 'model': is required"},
		{`{"model":"","prompt":"a"}`, "model", "Invalid value for 'model': is required"},
		{`{"model":"novels-5hr","prompt":[]}`, "prompt", "Invalid value for 'prompt': must not be an empty array"},
		{`{"model":"novels-5hr","prompt":[[]]}`, "prompt[0]", "Invalid value for 'prompt[0]': must have at least one token id"},
		{`{"model":"novels-5hr","prompt":["a",null]}`, "prompt[1]", "Invalid value for 'prompt[1]': must be a string, not null"},
		{`{"model":"novels-5hr","prompt":["a",1]}`, "prompt", "Invalid value for 'prompt': must be a string, not number"},
		{`{"model":"novels-5hr","prompt":[1,"a"]}`, "prompt", "Invalid value for 'prompt': must be an integer, not string"},
		{`{"model":"novels-5hr","prompt":[1,null]}`, "prompt[1]", "Invalid value for 'prompt[1]': must be an integer, not null"},
		{`{"model":"novels-5hr","prompt":[[1],[2,null]]}`, "prompt[1][1]", "Invalid value for 'prompt[1][1]': must be an integer, not null"},
		{`{"model":"novels-5hr","prompt":[[1],"a"]}`, "prompt", "Invalid value for 'prompt': must be an array, not string"},
		{`{"model":"novels-5hr","prompt":[null]}`, "prompt[0]", "Invalid value for 'prompt[0]': must be an integer, not null"},
		{`{"model":"novels-5hr","prompt":[{}]}`, "prompt", "Invalid value for 'prompt': must be an integer, not object"},
		{`{"model":"novels-5hr","prompt":5}`, "prompt", "Invalid value for 'prompt': must be a string, an array of token ids"},
		{`"max_tokens":-1`, "max_tokens", "Invalid value for 'max_tokens': must not be negative"},
		{`"suffix":"x"`, "suffix", `Unsupported parameter 'suffix': text is only continued at its end; only "" is accepted`},
		{`"n":3,"best_of":2`, "best_of", "Invalid value for 'best_of': must be at least n, which is 3"},
		{`"best_of":0`, "best_of", "Invalid value for 'best_of': must be between 1 and 128"},
		{`"best_of":129`, "best_of", "Invalid value for 'best_of': must be between 1 and 128"},
		{`"best_of":2,"stream":true`, "best_of", "Invalid value for 'best_of': must not be greater than n in a stream"},
		{`"logprobs":21`, "logprobs", "Invalid value for 'logprobs': must be between 0 and 20"},
		{`"logprobs":true`, "logprobs", "Invalid value for 'logprobs': must be an integer, not bool"},
		{`"echo":1`, "echo", "Invalid value for 'echo': must be a boolean, not number"},
		{`"stop":["a"` + strings.Repeat(`,"a"`, 32) + `]`, "stop", "Invalid value for 'stop': at most 32 strings"},
		{`"temperature":3`, "temperature", "Invalid value for 'temperature': must be between 0 and 2"},
		{`"stream_options":{"include_usage":true}`, "stream_options", "Invalid value for 'stream_options': is only accepted with stream: true"},
		{`"messages":[]`, "messages", "Unrecognized request argument supplied: messages"},
		{`"model_name":"x"`, "model_name", "Unrecognized request argument supplied: model_name"},
		{`"top_k":1`, "top_k", "Unrecognized request argument supplied: top_k"},
	})
}

func TestBadEmbeddings(t *testing.T) {
	refusals(t, "/v1/embeddings", `"model":"vectors","input":"a"`, []refusal{
		{`{"model":"vectors"}`, "input", "Invalid value for 'input': is required"},
		{`{"model":"vectors","input":null}`, "input", "Invalid value for 'input': is required"},
		{`{"model":"vectors","input":""}`, "input", "Invalid value for 'input': input 0 is an empty string"},
		{`{"model":"vectors","input":["a",""]}`, "input", "Invalid value for 'input': input 1 is an empty string"},
		{`{"model":"vectors","input":[]}`, "input", "Invalid value for 'input': must not be an empty array"},
		{`{"model":"vectors","input":[[1],[]]}`, "input[1]", "Invalid value for 'input[1]': must have at least one token id"},
		{`{"model":"vectors","input":["a"` + strings.Repeat(`,"a"`, 2048) + `]}`, "input", "Invalid value for 'input': at most 2048 inputs"},
		{`"encoding_format":"int8"`, "encoding_format", `Invalid value for 'encoding_format': must be float or base64, not "int8"`},
		{`"dimensions":0`, "dimensions", "Invalid value for 'dimensions': must be at least 1"},
		{`"dimensions":3`, "dimensions", "Unsupported parameter 'dimensions': embeddings of this model have 2 dimensions"},
		{`"truncate":1`, "truncate", "Invalid value for 'truncate': must be a boolean, not number"},
		{`"truncate":"START"`, "truncate", `Invalid value for 'truncate': must be a boolean, END or NONE, not "START"`},
		{`"input_type":"image"`, "input_type", "Invalid value for 'input_type': must be "},
		{`"input_type":"query","task":"passage"`, "task", "Invalid value for 'task': contradicts input_type"},
		{`"task":"retrieval.query","prompt_name":"x"`, "prompt_name", "Invalid value for 'prompt_name': cannot be combined with input_type or task"},
		{`"task":"separation"`, "task", "Invalid value for 'task': is not one of the model's"},
		{`"input_type":"clustering"`, "input_type", "Invalid value for 'input_type': is not one of the model's"},
		{`"prompt":"a"`, "prompt", "Unrecognized request argument supplied: prompt"},
	})
}

// TestEmbeddingOptions: the words of several protocols for the same options.
func TestEmbeddingOptions(t *testing.T) {
	for body, want := range map[string]llm.EmbedRequest{
		``:                                       {},
		`,"dimensions":7`:                        {Dimensions: 7},
		`,"truncate":true`:                       {Truncate: true},
		`,"truncate":false`:                      {},
		`,"truncate":null`:                       {},
		`,"truncate":"END"`:                      {Truncate: true},
		`,"truncate":"end"`:                      {Truncate: true},
		`,"truncate":"NONE"`:                     {},
		`,"prompt_name":"s2p"`:                   {PromptName: "s2p"},
		`,"input_type":"search_query"`:           {Task: llm.EmbedQuery},
		`,"input_type":"search_document"`:        {Task: llm.EmbedDocument},
		`,"input_type":"passage"`:                {Task: llm.EmbedDocument},
		`,"task":"retrieval.passage"`:            {Task: llm.EmbedDocument},
		`,"task":"text-matching"`:                {Task: llm.EmbedSymmetric},
		`,"input_type":"query","task":"query"`:   {Task: llm.EmbedQuery},
		`,"input_type":"classification"`:         {Task: llm.EmbedClassify},
		`,"input_type":"clustering","user":"ab"`: {Task: llm.EmbedCluster},
	} {
		want.Prompts = []llm.Prompt{llm.Text("a")}
		var in embeddingRequest
		err := embeddingTable.Decode([]byte(`{"input":"a"`+body+`}`), &in)
		var got *llm.EmbedRequest
		if err == nil {
			got, err = in.request()
		}
		if err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
}

type refusal struct{ body, param, message string }

// refusals sends each body, or plain with the keys in it.
func refusals(t *testing.T, target, plain string, list []refusal) {
	h := testHandler()
	for _, test := range list {
		body := test.body
		if !strings.HasPrefix(body, "{") {
			body = `{` + plain + `,` + body + `}`
		}
		w := ask(h, "POST", target, body)
		var got openaiapi.ErrorBody
		err := json.Unmarshal(w.Body.Bytes(), &got)
		if err != nil || w.Code != http.StatusBadRequest || got.Error.Param == nil || *got.Error.Param != test.param || !strings.HasPrefix(got.Error.Message, test.message) {
			t.Errorf("%.100s: got %d %s", body, w.Code, w.Body)
		}
	}
}

func TestCompletionDispositions(t *testing.T) {
	const plain = `{"model":"m","prompt":"a"`
	want, err := complete(plain + `}`)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{
		"max_tokens": "5", "best_of": "2", "echo": "true", "logprobs": "1", "user": `"x"`, "suffix": `"x"`, "store": "true", "metadata": `{"a":"b"}`,
		"temperature": "0.5", "top_p": "0.5", "n": "2", "stream": "true", "stop": `"x"`, "seed": "1",
		"presence_penalty": "1", "frequency_penalty": "1", "logit_bias": `{"1":1}`,
	}
	for _, p := range CompletionParameters() {
		value, ok := values[p.Name]
		if !ok {
			if !strings.HasPrefix(p.Name, "stream_options") && p.Name != "model" && p.Name != "prompt" {
				t.Errorf("%s was not tried", p.Name)
			}
			continue
		}
		got, err := complete(plain + `,"` + p.Name + `":` + value + `}`)
		e, _ := errors.AsType[*llm.Error](err)
		refused := e != nil && e.Code == llm.Unsupported && e.Param == p.Name
		if same := reflect.DeepEqual(got, want); refused != (p.Disposition == wire.Refused) || same != (p.Disposition == wire.NoEffect) {
			t.Errorf("%s is %s: refused %v, without effect %v, %v", p.Name, p.Disposition, refused, same, err)
		}
	}
}

// FuzzCompletion and FuzzEmbedding: no body makes the dialect panic, every refusal is
// one with a status of the client's fault, and accepted values are in range.
func FuzzCompletion(f *testing.F) {
	f.Add([]byte(`{"model":"m","prompt":["a","b"],"n":2,"best_of":3,"echo":true,"logprobs":5,"max_tokens":0}`))
	f.Add([]byte(`{"model":"m","prompt":[[1,2],[3]],"stop":"x","stream":true,"stream_options":{"include_usage":true}}`))
	f.Add([]byte(`{"model":"m","prompt":[1,2],"suffix":"x"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := complete(string(body))
		if ours(t, body, err) {
			return
		}
		p := req.Effective()
		if len(req.Prompts) == 0 || slices.ContainsFunc(req.Prompts, empty) || req.N < 1 || req.N > maxChoices || *p.MaxTokens < 0 ||
			p.BestOf != nil && *p.BestOf < req.N || p.Logprobs != nil && (*p.Logprobs < 0 || *p.Logprobs > maxTopLogprobs) {
			t.Errorf("%q was taken as %+v", body, req)
		}
	})
}

func FuzzEmbedding(f *testing.F) {
	f.Add([]byte(`{"model":"m","input":["a","b"],"encoding_format":"base64","dimensions":3}`))
	f.Add([]byte(`{"input":[[1,2],[3]]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var in embeddingRequest
		err := embeddingTable.Decode(body, &in)
		var req *llm.EmbedRequest
		if err == nil {
			req, err = in.request()
		}
		if !ours(t, body, err) && (len(req.Prompts) == 0 || len(req.Prompts) > maxInputs || slices.ContainsFunc(req.Prompts, empty)) {
			t.Errorf("%q was taken as %+v", body, req)
		}
	})
}

// empty reports whether a prompt has neither text nor tokens of its own.
func empty(p llm.Prompt) bool {
	return len(p.Parts) != 1 || p.Parts[0].Tokens != nil && len(p.Parts[0].Tokens) == 0
}

// ours reports whether err is an error, which must be of the client.
func ours(t *testing.T, body []byte, err error) bool {
	if err == nil {
		return false
	}
	if e, ok := errors.AsType[*llm.Error](err); !ok || httpx.Status(e.Code) != 400 || e.Message == "" {
		t.Fatalf("%q: %v", body, err)
	}
	return true
}
