package alephalpha

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

// translate decodes a body, with an optional model, and translates it.
func translate[Q any, R any](body []byte, request func(*Q) (R, error)) (out R, err error) {
	var in Q
	if rest, ok := strings.CutPrefix(string(body), "{"); ok && !strings.Contains(rest, `"model"`) {
		body = []byte(strings.Replace(`{"model":"luminous",`+rest, ",}", "}", 1))
	}
	if err := tableOf(reflect.TypeFor[Q]()).Decode(body, &in); err != nil {
		return out, err
	}
	return request(&in)
}

// tables returns the tables of all requests.
func tables() []*wire.Table {
	return []*wire.Table{completeTable, embedTable, semanticTable, batchTable, evaluateTable, tokenizeTable, detokenizeTable, explainTable, translateTable, tokenTable}
}

func tableOf(request reflect.Type) *wire.Table {
	list := tables()
	return list[slices.IndexFunc(list, func(t *wire.Table) bool { return t.Type() == request })]
}

func completed(body string) (*llm.Request, error) {
	return translate([]byte(body), (*completeRequest).request)
}

// TestCompleteRequest: the translation of the documented keys of /complete.
func TestCompleteRequest(t *testing.T) {
	plain := func() *llm.Request {
		return &llm.Request{Prompts: []llm.Prompt{llm.Text("x")}, N: 1, Defaults: llm.Params{Temperature: new(0.0)}}
	}
	for keys, change := range map[string]func(*llm.Request){
		``: func(*llm.Request) {},
		`"maximum_tokens":null,"temperature":null,"top_k":null,"top_p":null,"n":null,"best_of":null,"log_probs":null,"tokens":null,"stop_sequences":null,"logit_bias":null`: func(*llm.Request) {},
		`"maximum_tokens":0`:    func(r *llm.Request) { r.MaxTokens = new(0) },
		`"temperature":0.0`:     func(r *llm.Request) { r.Temperature = new(0.0) },
		`"temperature":1`:       func(r *llm.Request) { r.Temperature = new(1.0) },
		`"top_k":0,"top_p":0.0`: func(r *llm.Request) { r.TopK, r.TopP = new(0), new(1.0) },
		`"top_k":5`:             func(r *llm.Request) { r.TopK, r.Defaults.Temperature = new(5), new(1.0) },
		`"top_p":0.9`:           func(r *llm.Request) { r.TopP, r.Defaults.Temperature = new(0.9), new(1.0) },
		`"temperature":0.5,"top_k":5,"top_p":1.0`: func(r *llm.Request) {
			r.Temperature, r.TopK, r.TopP, r.Defaults.Temperature = new(0.5), new(5), new(1.0), new(1.0)
		},
		`"presence_penalty":-0.5,"frequency_penalty":2`: func(r *llm.Request) { r.PresencePenalty, r.FrequencyPenalty = new(-0.5), new(2.0) },
		`"repetition_penalties_include_prompt":true`:    func(r *llm.Request) { r.PenalizePrompt = new(true) },
		`"use_multiplicative_presence_penalty":true`:    func(r *llm.Request) { r.MultiplyPenalties = new(true) },
		`"use_multiplicative_presence_penalty":true,"use_multiplicative_frequency_penalty":false`: func(r *llm.Request) {
			r.MultiplyPenalties, r.MultiplyFrequency = new(true), new(false)
		},
		`"n":2,"best_of":3`:                        func(r *llm.Request) { r.N, r.BestOf = 2, new(3) },
		`"best_of":2`:                              func(r *llm.Request) { r.BestOf = new(2) },
		`"logit_bias":{"5":-1000,"0":0.5}`:         func(r *llm.Request) { r.LogitBias = map[int]float64{5: -1000, 0: 0.5} },
		`"log_probs":0,"tokens":true`:              func(r *llm.Request) { r.Logprobs, r.Tokens = new(0), new(true) },
		`"stop_sequences":["Question: ","Answer"]`: func(r *llm.Request) { r.Stop = []string{"Question: ", "Answer"} },
		`"echo":true,"stream":true`:                func(r *llm.Request) { r.Echo, r.Stream = new(true), true },
	} {
		want := plain()
		change(want)
		body := `{"model":"m","prompt":"x"`
		if keys != "" {
			body += "," + keys
		}
		if got, err := completed(body + "}"); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v", keys, got, err)
		}
	}
}

// TestPrompt: a prompt is a string, perhaps empty, or items.
func TestPrompt(t *testing.T) {
	for prompt, want := range map[string]llm.Prompt{
		`""`:    llm.Text(""),
		`"a\n"`: llm.Text("a\n"),
		`[]`:    {Parts: []llm.Part{}},
		`[{"type":"text","data":"a"},{"type":"token_ids","data":[1,2],"controls":null},{"type":"text","data":"","controls":[ ]}]`: {
			Parts: []llm.Part{{Text: "a"}, {Tokens: []int{1, 2}}, {}},
		},
		`[{"type":"token_ids","data":[]}]`: {Parts: []llm.Part{{Tokens: []int{}}}},
	} {
		got, err := completed(`{"prompt":` + prompt + `}`)
		if err != nil || !reflect.DeepEqual(got.Prompts, []llm.Prompt{want}) {
			t.Errorf("%s: got %+v, %v", prompt, got, err)
		}
	}
}

func TestEmbedRequest(t *testing.T) {
	for body, want := range map[string]llm.EmbedRequest{
		`{"prompt":"x","layers":[0,-1]}`: {Prompts: []llm.Prompt{llm.Text("x")}, Layers: []int{0, -1}},
		`{"prompt":"x","layers":[3],"pooling":["mean","max","last_token","abs_max","mean"]}`: {
			Prompts: []llm.Prompt{llm.Text("x")}, Layers: []int{3}, Pooling: []llm.Pooling{"mean", "max", "last_token", "abs_max"},
		},
	} {
		if got, err := translate([]byte(body), (*embedRequest).request); err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: got %+v, %v", body, got, err)
		}
	}
}

// pixel is a PNG of one pixel.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"

// A model that reads images gets those of a prompt in their places.
func TestImages(t *testing.T) {
	c := completeRequest{Prompt: json.RawMessage(`[{"type":"text","data":"x"},{"type":"image","data":"` + pixel + `"},{"type":"token_ids","data":[7]}]`)}
	req, err := c.request()
	if err != nil {
		t.Fatal(err)
	}
	parts := req.Prompts[0].Parts
	if len(parts) != 3 || parts[0].Text != "x" || parts[1].Image == nil || parts[1].Image.Type != "image/png" || len(parts[2].Tokens) != 1 {
		t.Errorf("parts %+v", parts)
	}
}

// The list of models says which of them read images: the playground sends images to these only.
func TestImageSupport(t *testing.T) {
	for _, images := range []bool{false, true} {
		if got := newModel(&llm.ModelInfo{Name: "m", Images: images}); got.ImageSupport != images {
			t.Errorf("images %v: %+v", images, got)
		}
	}
}

// TestBad compares the exact error of each body.
func TestBad(t *testing.T) {
	const invalidWord, unknown, missing = "INVALID", "UNKNOWN_PARAMETER", "MISSING_CAPABILITY"
	for _, test := range []struct{ target, keys, message, code string }{
		{"/complete", ``, "prompt: is required", invalidWord},
		{"/complete", `"logit_bias":{"1":1}`, "prompt: is required", invalidWord},
		{"/complete", `"prompt":null`, "prompt: is required", invalidWord},
		{"/complete", `"prompt":7`, "prompt: must be a string, not number", invalidWord},
		{"/complete", `"prompt":{"type":"text","data":"x"}`, "prompt: must be a string, not object", invalidWord},
		{"/complete", `"prompt":["x"]`, "prompt: must be an object, not string", invalidWord},
		{"/complete", `"prompt":[{"data":"x"}]`, `prompt[0].type: must be text, token_ids or image, not ""`, invalidWord},
		{"/complete", `"prompt":[{"type":"text","data":"x"},{"type":"image","data":"aGk=","x":1,"y":2,"size":3,"controls":[]}]`, "prompt[1].x: images are not cropped: send the part itself", missing},
		{"/complete", `"prompt":[{"type":"image","data":"aGk="}]`, `prompt[0].data: must be image/jpeg or image/png, or for remote models image/gif or image/webp, not "text/plain; charset=utf-8"`, invalidWord},
		{"/complete", `"prompt":[{"type":"text","data":"x"},{"type":"image","data":"` + pixel + `"}]`, `prompt[1]: the model "luminous" reads text only, not images`, missing},
		{"/evaluate", `"prompt":[{"type":"image","data":"` + pixel + `"}],"completion_expected":"x"`, "prompt[0]: items of type image are for completions only: send text or token_ids", missing},
		{"/complete", `"prompt":[{"type":"text"}]`, "prompt[0].data: is required", invalidWord},
		{"/complete", `"prompt":[{"type":"text","data":null}]`, "prompt[0].data: is required", invalidWord},
		{"/complete", `"prompt":[{"type":"text","data":[1]}]`, "prompt[0].data: must be a string, not array", invalidWord},
		{"/complete", `"prompt":[{"type":"token_ids","data":"x"}]`, "prompt[0].data: must be an array, not string", invalidWord},
		{"/complete", `"prompt":[{"type":"token_ids","data":[1,null]}]`, "prompt[0].data[1]: must be an integer, not null", invalidWord},
		{"/complete", `"prompt":[{"type":"token_ids","data":[1.5]}]`, "prompt[0].data: must be an integer, not number 1.5", invalidWord},
		{"/complete", `"prompt":[{"type":"text","data":"x","colour":1}]`, "prompt[0].colour: unknown parameter", unknown},
		{"/complete", `"prompt":[{"type":"text","data":"x","controls":[{"start":0,"length":1,"factor":0.5}]}]`, "prompt[0].controls: attention cannot be manipulated; only [] is accepted", missing},
		{"/complete", `"prompt":"x","model":null`, "model: is required", invalidWord},
		{"/complete", `"prompt":"x","model":7`, "model: must be a string, not number", invalidWord},
		{"/complete", `"prompt":"x","hosting":7`, "hosting: must be a string, not number", invalidWord},
		{"/complete", `"prompt":"x","colour":"blue"`, "colour: unknown parameter", unknown},
		{"/complete", `"prompt":"x","Prompt":"y"`, "Prompt: unknown parameter", unknown},
		{"/complete", `"prompt":"x","prompt":"y"`, "prompt: appears twice", invalidWord},
		{"/complete", `"prompt":"x","maximum_tokens":-1`, "maximum_tokens: must not be negative", invalidWord},
		{"/complete", `"prompt":"x","maximum_tokens":1.5`, "maximum_tokens: must be an integer, not number 1.5", invalidWord},
		{"/complete", `"prompt":"x","maximum_tokens":"5"`, "maximum_tokens: must be an integer, not string", invalidWord},
		{"/complete", `"prompt":"x","temperature":-0.1`, "temperature: must be between 0 and 1", invalidWord},
		{"/complete", `"prompt":"x","temperature":1.1`, "temperature: must be between 0 and 1", invalidWord},
		{"/complete", `"prompt":"x","temperature":"hot"`, "temperature: must be a number, not string", invalidWord},
		{"/complete", `"prompt":"x","top_k":-1`, "top_k: must not be negative", invalidWord},
		{"/complete", `"prompt":"x","top_p":1.01`, "top_p: must be between 0 and 1", invalidWord},
		{"/complete", `"prompt":"x","top_p":-0.5`, "top_p: must be between 0 and 1", invalidWord},
		{"/complete", `"prompt":"x","n":0`, "n: must be between 1 and 256", invalidWord},
		{"/complete", `"prompt":"x","n":257`, "n: must be between 1 and 256", invalidWord},
		{"/complete", `"prompt":"x","best_of":1`, "best_of: must be greater than n, which is 1", invalidWord},
		{"/complete", `"prompt":"x","best_of":3,"n":3`, "best_of: must be greater than n, which is 3", invalidWord},
		{"/complete", `"prompt":"x","log_probs":-1`, "log_probs: must not be negative", invalidWord},
		{"/complete", `"prompt":"x","log_probs":true`, "log_probs: must be an integer, not bool", invalidWord},
		{"/complete", `"prompt":"x","logit_bias":{"x":1}`, `logit_bias: "x" is not a token id`, invalidWord},
		{"/complete", `"prompt":"x","logit_bias":{"-1":1}`, `logit_bias: "-1" is not a token id`, invalidWord},
		{"/complete", `"prompt":"x","logit_bias":{"1":"x"}`, `logit_bias: must be a number, not string`, invalidWord},
		{"/complete", `"prompt":"x","stop_sequences":"x"`, "stop_sequences: must be an array, not string", invalidWord},
		{"/complete", `"prompt":"x","stop_sequences":[""]`, "stop_sequences[0]: must not be empty", invalidWord},
		{"/complete", `"prompt":"x","stop_sequences":[null]`, "stop_sequences[0]: must be a string, not null", invalidWord},
		{"/complete", `"prompt":"x","tokens":1`, "tokens: must be a boolean, not number", invalidWord},
		{"/complete", `"prompt":"x","presence_penalty":"x"`, "presence_penalty: must be a number, not string", invalidWord},
		{"/complete", `"prompt":"x","sequence_penalty":0.5`, "sequence_penalty: sequences are not penalised; only 0 or 0.0 is accepted", missing},
		{"/embed", `"prompt":"","layers":[0]`, "prompt: must not be empty", invalidWord},
		{"/embed", `"prompt":[{"type":"text","data":""},{"type":"token_ids","data":[]}],"layers":[0]`, "prompt: must not be empty", invalidWord},
		{"/embed", `"layers":[0]`, "prompt: is required", invalidWord},
		{"/embed", `"prompt":"x"`, "layers: is required", invalidWord},
		{"/embed", `"prompt":"x","layers":[]`, "layers: at least one layer is required", invalidWord},
		{"/embed", `"prompt":"x","layers":[0,null]`, "layers[1]: must be an integer, not null", invalidWord},
		{"/embed", `"prompt":"x","layers":0`, "layers: must be an array, not number", invalidWord},
		{"/embed", `"prompt":"x","layers":[0],"pooling":["mean","sum"]`, `pooling[1]: must be mean, max, last_token or abs_max, not "sum"`, invalidWord},
		{"/embed", `"prompt":"x","layers":[0],"pooling":[]`, "pooling: at least one operation is required", invalidWord},
		{"/embed", `"prompt":"x","layers":[0],"pooling":"mean"`, "pooling: must be an array, not string", invalidWord},
		{"/embed", `"prompt":"x","layers":[0],"type":"symmetric"`, "type: each layer has one embedding", missing},
		{"/evaluate", `"prompt":"x"`, "completion_expected: is required", invalidWord},
		{"/evaluate", `"prompt":"x","completion_expected":""`, "completion_expected: must not be empty", invalidWord},
		{"/evaluate", `"completion_expected":"x"`, "prompt: is required", invalidWord},
		{"/evaluate", `"prompt":"x","completion_expected":7`, "completion_expected: must be a string, not number", invalidWord},
		{"/tokenize", `"tokens":true,"token_ids":true`, "prompt: is required", invalidWord},
		{"/tokenize", `"prompt":"x","token_ids":true`, "tokens: is required", invalidWord},
		{"/tokenize", `"prompt":"x","tokens":true`, "token_ids: is required", invalidWord},
		{"/tokenize", `"prompt":"x","tokens":1,"token_ids":true`, "tokens: must be a boolean, not number", invalidWord},
		{"/detokenize", ``, "token_ids: is required", invalidWord},
		{"/detokenize", `"token_ids":null`, "token_ids: is required", invalidWord},
		{"/detokenize", `"token_ids":[null]`, "token_ids[0]: must be an integer, not null", invalidWord},
		{"/detokenize", `"token_ids":["x"]`, "token_ids: must be an integer, not string", invalidWord},
	} {
		body := `{"model":"luminous",` + test.keys
		if strings.Contains(test.keys, `"model"`) {
			body = `{` + test.keys
		}
		body = strings.TrimSuffix(body, ",") + `}`
		want, _ := json.Marshal(errorBody{test.message, test.code})
		if w := ask(newFixture(), "POST", test.target, body); w.Code != 400 || strings.TrimSpace(w.Body.String()) != string(want) {
			t.Errorf("%s %s: got %d %s", test.target, body, w.Code, w.Body)
		}
	}
	for body, message := range map[string]string{
		"": "the body is empty: a JSON object is expected", "{": "the body is not valid JSON: unexpected end of JSON input",
		"null": "the body must be an object, not null", "[]": "the body must be an object, not array", "{}": "model: is required",
	} {
		if w := ask(newFixture(), "POST", "/complete", body); w.Code != 400 || w.Body.String() != `{"error":"`+message+`","code":"INVALID"}`+"\n" {
			t.Errorf("%q: got %d %s", body, w.Code, w.Body)
		}
	}
}

// wires returns the requests by the prefix of their rows in Parameters.
func wires() map[string]reflect.Type {
	return map[string]reflect.Type{
		"/complete ": reflect.TypeFor[completeRequest](), "/embed ": reflect.TypeFor[embedRequest](), "/semantic_embed ": reflect.TypeFor[semanticRequest](),
		"/batch_semantic_embed ": reflect.TypeFor[batchRequest](), "/evaluate ": reflect.TypeFor[evaluateRequest](),
		"/tokenize ": reflect.TypeFor[tokenizeRequest](), "/detokenize ": reflect.TypeFor[detokenizeRequest](),
		"/explain ": reflect.TypeFor[explainRequest](), "/translate ": reflect.TypeFor[translateRequest](),
		"/users/me/token, /get_token ": reflect.TypeFor[tokenRequest](), "prompt.": reflect.TypeFor[item](),
	}
}

// TestParameters: every key has a row and every row a key.
func TestParameters(t *testing.T) {
	keys := map[string]bool{"/* ?nice": true}
	for route, request := range wires() {
		for key := range wire.Keys(request) {
			keys[route+key] = true
		}
	}
	for _, p := range Parameters() {
		if !keys[p.Name] || p.Note == "" || !slices.Contains([]wire.Disposition{wire.Honoured, wire.Refused, wire.NoEffect}, p.Disposition) {
			t.Errorf("%+v has no key", p)
		}
		for _, v := range p.Neutral {
			if !json.Valid([]byte(v)) || p.Disposition != wire.Refused {
				t.Errorf("%s: neutral %s", p.Name, v)
			}
		}
		delete(keys, p.Name)
	}
	for key := range keys {
		t.Errorf("%s has no disposition", key)
	}
}

// TestDispositions sends every key of a completion and checks its disposition in the table.
func TestDispositions(t *testing.T) {
	const head = `{"model":"m","prompt":"x"`
	plain, err := completed(head + "}")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{ // a value that is not the default, if not true
		"maximum_tokens": "5", "n": "2", "best_of": "2", "stop_sequences": `["x"]`, "log_probs": "1", "temperature": "0.5", "top_k": "2", "top_p": "0.5",
		"logit_bias": `{"1":1}`, "presence_penalty": "1", "frequency_penalty": "1", "tags": `["x"]`, "contextual_control_threshold": "0.5", "sequence_penalty_min_length": "3",
	}
	for _, p := range Parameters() {
		key, ok := strings.CutPrefix(p.Name, "/complete ")
		if !ok || slices.Contains([]string{"model", "prompt", "hosting"}, key) {
			continue
		}
		value, ok := values[key]
		if !ok {
			value = "true"
		}
		if p.Disposition == wire.Refused {
			value = `{"x":1}`
			for _, neutral := range append(p.Neutral, "null") {
				if got, err := completed(head + `,"` + key + `": ` + neutral + ` }`); err != nil || !reflect.DeepEqual(got, plain) {
					t.Errorf("%s: %s: %v", key, neutral, err)
				}
			}
		}
		got, err := completed(head + `,"` + key + `":` + value + `}`)
		switch same := reflect.DeepEqual(got, plain); {
		case p.Disposition == wire.Refused:
			if e, ok := errors.AsType[*llm.Error](err); !ok || e.Code != llm.Unsupported || e.Param != key {
				t.Errorf("%s: %v", key, err)
			}
		case err != nil || same != (p.Disposition == wire.NoEffect):
			t.Errorf("%s is %s, but the request is the same: %v, %v", key, p.Disposition, same, err)
		}
	}
}

// FuzzRequests: no body makes the dialect panic, every rejection is a client error, and
// accepted values are in range.
func FuzzRequests(f *testing.F) {
	for _, seed := range []string{
		`{"model":"m","prompt":"x","maximum_tokens":0,"temperature":1,"top_k":3,"top_p":0.0,"n":2,"best_of":5,"logit_bias":{"5":-1},"stop_sequences":["a"]}`,
		`{"prompt":[{"type":"text","data":"a","controls":[]},{"type":"token_ids","data":[1,2]}],"minimum_tokens":0,"log_probs":2,"stream":true}`,
		`{"prompt":"x","layers":[0,-1],"pooling":["mean"],"normalize":true}`, `{"prompt":"","completion_expected":"é"}`,
		`{"prompt":"x","representation":"query","compress_to_size":8}`, `{"prompts":["x",[{"type":"text","data":"y"}]],"representation":"document","normalize":true}`,
		`{"prompt":"x","tokens":true,"token_ids":false}`, `{"token_ids":[1,2,null]}`, `{"email":"a","password":null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		check := func(bad bool, err error, taken any) {
			if err != nil {
				if e, ok := errors.AsType[*llm.Error](err); !ok || httpx.Status(e.Code) != 400 || e.Message == "" {
					t.Errorf("%q: %v", body, err)
				}
			} else if bad {
				t.Errorf("%q was taken as %+v", body, taken)
			}
		}
		req, err := translate(body, (*completeRequest).request)
		check(err == nil && outOfRange(req), err, req)
		embed, err := translate(body, (*embedRequest).request)
		check(err == nil && (len(embed.Layers) == 0 || len(embed.Pooling) > 4 || isEmpty(embed.Prompts[0])), err, embed)
		semantic, err := translate(body, (*semanticRequest).request)
		check(err == nil && (semantic.Task == "" || isEmpty(semantic.Prompts[0])), err, semantic)
		batch, err := translate(body, (*batchRequest).request)
		check(err == nil && (batch.Task == "" || len(batch.Prompts) == 0 || len(batch.Prompts) > maxBatch || slices.ContainsFunc(batch.Prompts, isEmpty)), err, batch)
		score, err := translate(body, (*evaluateRequest).request)
		check(err == nil && score.Continuation == "", err, score)
		ids, err := translate(body, (*detokenizeRequest).ids)
		check(err == nil && ids == nil, err, ids)
		for name, err := range map[string]error{
			"tokenize": tokenizeTable.Decode(body, new(tokenizeRequest)), "token": tokenTable.Decode(body, new(tokenRequest)),
		} {
			check(false, err, name)
		}
	})
}

func outOfRange(req *llm.Request) bool {
	p := req.Effective()
	bad := req.N < 1 || req.N > 256 || len(req.Prompts) != 1 || req.Prompts[0].Messages != nil ||
		*p.Temperature < 0 || *p.Temperature > 1 || p.TopP != nil && (*p.TopP <= 0 || *p.TopP > 1) || p.TopK != nil && *p.TopK < 0 ||
		p.MaxTokens != nil && *p.MaxTokens < 0 || p.BestOf != nil && *p.BestOf <= req.N || p.Logprobs != nil && *p.Logprobs < 0 || slices.Contains(p.Stop, "")
	for id := range p.LogitBias {
		bad = bad || id < 0
	}
	return bad
}
