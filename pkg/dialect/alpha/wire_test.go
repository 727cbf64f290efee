package alpha

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// TestWire compares the exact answers of requests.
func TestWire(t *testing.T) {
	const sse, text, object = "text/event-stream; charset=utf-8", "text/plain; charset=utf-8", "application/json"
	const hi = `"messages":[{"role":"user","content":"Once"}]`
	h := newFixture()
	for _, test := range []struct {
		name, method, target, body string
		status                     int
		contentType, want          string
	}{
		{"models, newest first", "GET", "/api/models", "", 200, object,
			`[{"id":"chords-run","runId":"chords-run","name":"chords-run","step":2000,"mtime":1739950000000,"lastLoss":null,"modelConfig":null,"trainConfig":null,"domain":"chords"},` +
				`{"id":"novels-5hr","runId":"20260219","name":"novels-5hr","step":900,"mtime":1739900000123.5,"lastLoss":3.25,"modelConfig":{"nLayer":6},"trainConfig":{"lr":0.0003},"domain":"novels"}]` + "\n"},
		{"metrics", "GET", "/api/models/novels-5hr/metrics", "", 200, object,
			`{"name":"novels-5hr","from":0,"next":31,"more":true,"metrics":[{"step":1},{"step":2,"loss":1.50}]}` + "\n"},
		{"metrics, nothing new, a name with a slash", "GET", "/api/models/local/a%2Fb/metrics?from=31", "", 200, object,
			`{"name":"local/a/b","from":31,"next":31,"more":false,"metrics":[]}` + "\n"},
		{"metrics break", "GET", "/api/models/breaks/metrics", "", 502, object, `{"error":"the store is shut"}` + "\n"},
		{"inference", "GET", "/api/inference?query=Once&model=novels-5hr&steps=5&temp=0.8&topk=40", "", 200, sse,
			"data: {\"token\":\"Once\"}\n\ndata: {\"token\":\" upon\"}\n\ndata: {\"token\":\" a\"}\n\ndata: {\"token\":\" time\"}\n\ndata: [DONE]\n\n"},
		{"its alias, the default model", "GET", "/inference?query=%3Ca%3E+%C3%A9&steps=1", "", 200, sse,
			"data: {\"token\":\"<a> é\"}\n\ndata: {\"token\":\" upon\"}\n\ndata: [DONE]\n\n"},
		{"inference, no steps", "GET", "/inference?query=Once&steps=0", "", 200, sse, "data: {\"token\":\"Once\"}\n\ndata: [DONE]\n\n"},
		{"inference breaks", "GET", "/inference?query=x&model=breaks", "", 200, sse, "data: {\"token\":\"Once\"}\n\ndata: {\"error\":\"the model <x> failed\"}\n\n"},
		{"inference refused", "GET", "/inference?query=x&model=picky", "", 400, object, `{"error":"steps: this model does not support it"}` + "\n"},
		{"chat", "POST", "/api/chat", `{` + hi + `,"model":"novels-5hr","maxTokens":3,"temperature":0,"topk":1}`, 200, text, " upon a"},
		{"chat of the AI SDK", "POST", "/api/chat", `{"id":"c1","trigger":"regenerate-message","messageId":"m2","messages":[{"id":"m1","role":"user","metadata":{"a":1},` +
			`"parts":[{"type":"step-start"},{"type":"text","text":"h","state":"done","providerMetadata":{}},{"type":"data-x","data":1},{"type":"text","text":"i"}]}]}`, 200, text, " upon a time"},
		{"chat of the AI SDK, version 4", "POST", "/api/chat", `{"id":"c1","messages":[{"role":"user","content":"hi","parts":[{"type":"text","text":"hi"}]}]}`, 200, text, " upon a time"},
		{"chat, the default model", "POST", "/api/chat", `{` + hi + `}`, 200, text, " upon a time"},
		{"chat, nothing said", "POST", "/api/chat", `{` + hi + `,"model":"silent"}`, 200, text, ""},
		{"chat breaks", "POST", "/api/chat", `{` + hi + `,"model":"breaks"}`, 200, text, "Once\n[error: the model <x> failed]\n"},
		{"chat refused", "POST", "/api/chat", `{` + hi + `,"model":"full"}`, 429, object, `{"error":"8 requests are waiting"}` + "\n"},
		{"generate", "POST", "/api/generate", `{"prompt":"Once","max_tokens":2,"temperature":0.5,"model":"novels-5hr"}`, 200, object,
			`{"text":" upon","model":"novels-5hr","usage":{"prompt_tokens":1,"completion_tokens":2}}` + "\n"},
		{"generate by query", "GET", "/api/generate?prompt=Once&max_tokens=4&model=local%2Fnovels-5hr", "", 200, object,
			`{"text":" upon a time","model":"novels-5hr","usage":{"prompt_tokens":1,"completion_tokens":4}}` + "\n"},
		{"the query wins", "POST", "/api/generate?max_tokens=3&model=chords-run", `{"prompt":"Once","max_tokens":1,"model":"nope"}`, 200, object,
			`{"text":"C G","model":"chords-run","usage":{"prompt_tokens":1,"completion_tokens":2}}` + "\n"},
		{"no body, but a query", "POST", "/api/generate?prompt=x&model=remote", "", 200, object,
			`{"text":"hi","model":"remote","usage":{"prompt_tokens":1,"completion_tokens":1}}` + "\n"},
		{"generate breaks", "GET", "/api/generate?prompt=x&model=breaks", "", 502, object, `{"error":"the model <x> failed"}` + "\n"},
		{"generate refused", "GET", "/api/generate?prompt=x&model=picky", "", 400, object, `{"error":"max_tokens: this model does not support it"}` + "\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := ask(h, test.method, test.target, test.body)
			if w.Code != test.status || w.Header().Get("Content-Type") != test.contentType || w.Body.String() != test.want {
				t.Errorf("got %d %s %q", w.Code, w.Header().Get("Content-Type"), w.Body)
			}
		})
	}
	empty := httpx.Mux{Routes: Routes(Config{Models: llm.Fixed{}})}
	if w := ask(empty.Handler(), "GET", "/api/models", ""); w.Body.String() != "[]\n" {
		t.Errorf("no models: %q", w.Body)
	}
}

// TestBadInput compares the exact answer of each bad request.
func TestBadInput(t *testing.T) {
	h := newFixture()
	big := `{"prompt":"` + strings.Repeat("x", httpx.DefaultMaxBody) + `"}`
	for _, test := range []struct {
		method, target, body string
		status               int
		want                 string
	}{
		{"GET", "/api/inference", "", 400, "Empty prompt"},
		{"GET", "/api/inference?query=", "", 400, "Empty prompt"},
		{"GET", "/api/inference?query=x&model=nope", "", 400, "Unknown model"},
		{"GET", "/api/inference?query=x&steps=-1", "", 400, "steps: must not be negative"},
		{"GET", "/api/inference?query=x&steps=many", "", 400, "steps: must be an integer"},
		{"GET", "/api/inference?query=x&steps=99999999999999999999", "", 400, "steps: must be an integer"},
		{"GET", "/api/inference?query=x&steps=", "", 400, "steps: must be an integer"},
		{"GET", "/api/inference?query=x&temp=-0.1", "", 400, "temp: must not be negative"},
		{"GET", "/api/inference?query=x&temp=NaN", "", 400, "temp: must be a number"},
		{"GET", "/api/inference?query=x&temp=inf", "", 400, "temp: must be a number"},
		{"GET", "/api/inference?query=x&temp=1e999", "", 400, "temp: must be a number"},
		{"GET", "/api/inference?query=x&topk=-1", "", 400, "topk: must not be negative"},
		{"GET", "/api/inference?query=x&topk=1.5", "", 400, "topk: must be an integer"},
		{"GET", "/api/inference?query=x&query=y", "", 400, "query: appears twice"},
		{"GET", "/api/inference?query=x&top_k=3", "", 400, "top_k: unknown parameter"},
		{"GET", "/api/inference?query=%ff", "", 400, "query: not valid UTF-8"},
		{"GET", "/api/inference?query=x&%ff=1", "", 400, "the query string is not valid UTF-8"},
		{"GET", "/api/inference?query=%zz", "", 400, "the query string is malformed"},
		{"GET", "/api/inference?query=x;temp=1", "", 400, "the query string is malformed"},
		{"POST", "/api/inference", "", 405, "this path supports only GET"},
		{"POST", "/api/chat", "", 400, "the body is empty: a JSON object is expected"},
		{"POST", "/api/chat", "{", 400, "the body is not valid JSON: unexpected end of JSON input"},
		{"POST", "/api/chat", "[]", 400, "the body must be an object, not array"},
		{"POST", "/api/chat", "{\"model\":\"\xff\"}", 400, "the body is not valid UTF-8"},
		{"POST", "/api/chat", `{}`, 400, "Empty prompt"},
		{"POST", "/api/chat", `{"messages":[]}`, 400, "Empty prompt"},
		{"POST", "/api/chat", `{"messages":[{"role":"user","content":""}]}`, 400, "Empty prompt"},
		{"POST", "/api/chat", `{"messages":[{"role":"user"}]}`, 400, "messages[0].content: is required"},
		{"POST", "/api/chat", `{"messages":[{"role":"user","content":[]}]}`, 400, "messages.content: must be a string, not array"},
		{"POST", "/api/chat", `{"messages":[{"content":"x"}]}`, 400, "messages[0].role: is required"},
		{"POST", "/api/chat", `{"messages":[{"role":"user","content":"x","parts":[]}]}`, 400, "messages[0].content: differs from the text of parts: send only one of them"},
		{"POST", "/api/chat", `{"messages":[{"role":"user","parts":[]}]}`, 400, "Empty prompt"},
		{"POST", "/api/chat", `{"messages":[{"role":"user","parts":{}}]}`, 400, "messages.parts: must be an array, not object"},
		{"POST", "/api/chat", `{"messages":[{"role":"user","parts":[5]}]}`, 400, "messages[0].parts[0]: must be an object, not number"},
		{"POST", "/api/chat", `{"messages":[{"role":"user","parts":[{"text":"x"}]}]}`, 400, "messages[0].parts[0].type: is required"},
		{"POST", "/api/chat", `{"messages":[{"role":"user","parts":[{"type":"text"}]}]}`, 400, "messages[0].parts[0].text: is required"},
		{"POST", "/api/chat", `{"messages":[{"role":"user","parts":[{"type":"text","text":5}]}]}`, 400, "messages[0].parts[0].text: must be a string, not number"},
		{"POST", "/api/chat", `{"messages":[{"role":"user","parts":[{"type":"text","text":"x"},{"type":"file","url":"data:,"}]}]}`, 400, `messages[0].parts[1]: parts of type "file" of the role user are not supported: send text`},
		{"POST", "/api/chat", `{"messages":[{"role":"assistant","parts":[{"type":"tool-weather","state":"output-available"}]}]}`, 400, `messages[0].parts[0]: parts of type "tool-weather" of the role assistant are not supported: send text`},
		{"POST", "/api/chat", `{"messages":[{"role":"user","content":"x"}],"maxTokens":0}`, 400, "maxTokens: must be at least 1"},
		{"POST", "/api/chat", `{"messages":[{"role":"user","content":"x"}],"topk":-1}`, 400, "topk: must not be negative"},
		{"POST", "/api/chat", `{"messages":[{"role":"user","content":"x"}],"temperature":-1}`, 400, "temperature: must not be negative"},
		{"POST", "/api/chat", `{"messages":[{"role":"user","content":"x"}],"temperature":"hot"}`, 400, "temperature: must be a number, not string"},
		{"POST", "/api/chat", `{"messages":[{"role":"user","content":"x"}],"model":"nope"}`, 400, "Unknown model"},
		{"POST", "/api/chat", `{"messages":[{"role":"user","content":"x"}],"model":"a","model":"b"}`, 400, "model: appears twice"},
		{"POST", "/api/chat", `{"messages":[{"role":"user","content":"x"}],"max_tokens":1}`, 400, "max_tokens: unknown parameter"},
		{"GET", "/api/chat", "", 405, "this path supports only POST"},
		{"GET", "/api/generate", "", 400, "Empty prompt"},
		{"POST", "/api/generate", `{"prompt":""}`, 400, "Empty prompt"},
		{"POST", "/api/generate", `{"prompt":7}`, 400, "prompt: must be a string, not number"},
		{"POST", "/api/generate", `{"prompt":"x","max_tokens":-3}`, 400, "max_tokens: must be at least 1"},
		{"POST", "/api/generate", `{"prompt":"x","steps":3}`, 400, "steps: unknown parameter"},
		{"POST", "/api/generate?prompt=x&temperature=-1", `{}`, 400, "temperature: must not be negative"},
		{"POST", "/api/generate?prompt=x", `{`, 400, "the body is not valid JSON: unexpected end of JSON input"},
		{"POST", "/api/generate", `{"prompt":"x","model":"nope"}`, 400, "Unknown model"},
		{"POST", "/api/generate", big, 413, "the body is larger than 10485760 bytes"},
		{"DELETE", "/api/models", "", 400, "Missing ?name= parameter"},
		{"DELETE", "/api/models?name=nope", "", 404, "Model not found"},
		{"DELETE", "/api/models?model=nope", "", 400, "model: unknown parameter"},
		{"GET", "/api/models/nope/metrics", "", 404, "Model not found"},
		{"GET", "/api/models/x/metrics?from=-1", "", 400, "from: must not be negative"},
		{"GET", "/api/models/x/metrics?from=1.5", "", 400, "from: must be an integer"},
		{"GET", "/api/models/x/metrics?since=1", "", 400, "since: unknown parameter"},
		{"POST", "/api/models/x/metrics", "", 405, "this path supports only GET"},
		{"PUT", "/api/models", "", 405, "this path supports only GET, DELETE"},
		{"GET", "/api/upload", "", 405, "this path supports only POST"},
	} {
		want, err := json.Marshal(map[string]string{"error": test.want})
		if err != nil {
			t.Fatal(err)
		}
		if w := ask(h, test.method, test.target, test.body); w.Code != test.status || w.Body.String() != string(want)+"\n" {
			t.Errorf("%s %s %.60s: got %d %s", test.method, test.target, test.body, w.Code, w.Body)
		}
	}
}

const goodUpload = `{"name":"new","config":{"domain":"abc"},"step":7,"metrics":"{\"step\":7}\n","trainingData":"X:1",
	"checkpoint": {"modelConfig":{"nEmbd":4},"params":{"wte":{"shape":[1],"data":[0.5,"}]\\\""]}}, "step":7} }`

func TestUpload(t *testing.T) {
	of := func(u Upload, checkpoint string) Upload {
		u.Name, u.Checkpoint, u.Size = "new", bytes.NewReader([]byte(checkpoint)), int64(len(checkpoint))
		return u
	}
	rest := Upload{Step: 7, Config: json.RawMessage(`{"domain":"abc"}`), Metrics: "{\"step\":7}\n", TrainingData: "X:1"}
	want := of(rest, `{"modelConfig":{"nEmbd":4},"params":{"wte":{"shape":[1],"data":[0.5,"}]\\\""]}}, "step":7}`)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write([]byte(goodUpload))
	z.Close()
	b64 := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	for _, test := range []struct {
		name, body string
		headers    []string
		want       Upload
	}{
		{"JSON", goodUpload, nil, want},
		{"gzip", zipped.String(), []string{"Content-Encoding", "gzip", "Content-Type", "application/json"}, want},
		{"the least", `{"checkpoint":{"params":{},"modelConfig":{}},"step":0,"config":{},"name":"new"}`, nil,
			of(Upload{Config: json.RawMessage(`{}`)}, `{"params":{},"modelConfig":{}}`)},
		{"binary", "ALPH\x00\xff", []string{"Content-Type", "application/octet-stream", "X-Checkpoint-Name", "new", "X-Checkpoint-Step", "7",
			"X-Checkpoint-Config", b64(` {"domain":"abc"}`), "X-Checkpoint-Metrics", b64("{\"step\":7}\n"), "X-Checkpoint-TrainingData", b64("X:1")},
			of(rest, "ALPH\x00\xff")},
		{"binary, the least", "ALPH", []string{"Content-Type", "application/octet-stream; charset=binary", "X-Checkpoint-Name", "new", "X-Checkpoint-Step", "7"},
			of(Upload{Step: 7}, "ALPH")},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture()
			w := ask(f, "POST", "/api/upload", test.body, test.headers...)
			answer, err := json.Marshal(uploaded{true, "new", test.want.Step})
			if err != nil || w.Code != 200 || w.Body.String() != string(answer)+"\n" {
				t.Fatalf("got %d %s", w.Code, w.Body)
			}
			if got := f.shelf.uploads["new"]; !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v", got)
			}
			if f.shelf.open != 0 || f.shelf.held != 0 {
				t.Errorf("%d bodies and %d bytes are held", f.shelf.open, f.shelf.held)
			}
			if w := ask(f, "DELETE", "/api/models?name=new", ""); w.Code != 200 || w.Body.String() != `{"ok":true,"deleted":"new"}`+"\n" || len(f.shelf.uploads) != 0 {
				t.Errorf("deleted: %d %s", w.Code, w.Body)
			}
		})
	}
}

func TestBadUpload(t *testing.T) {
	const missing, invalid = "Missing required fields: name, config, checkpoint, step", "Invalid checkpoint: missing modelConfig or params"
	const good = `"checkpoint":{"modelConfig":{},"params":{}}`
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	z.Write([]byte(`{"name":"` + strings.Repeat("x", 1<<20) + `"}`))
	z.Close()
	binary := func(more ...string) []string {
		return append([]string{"Content-Type", "application/octet-stream"}, more...)
	}
	for _, test := range []struct {
		body    string
		headers []string
		status  int
		want    string
	}{
		{"", nil, 400, "the body is empty: a JSON object is expected"},
		{"[]", nil, 400, "the body must be an object, not array"},
		{"null", nil, 400, "the body must be an object, not null"},
		{`{"name":"x"`, nil, 400, "the body is not valid JSON: unexpected end of JSON input"},
		{"{\"name\":\"\xff\"}", nil, 400, "the body is not valid UTF-8"},
		{`{}`, nil, 400, missing},
		{`{"config":{},"step":1,` + good + `}`, nil, 400, missing},
		{`{"name":"x","step":1,` + good + `}`, nil, 400, missing},
		{`{"name":"x","config":null,"step":1,` + good + `}`, nil, 400, missing},
		{`{"name":"x","config":{},` + good + `}`, nil, 400, missing},
		{`{"name":"x","config":{},"step":1}`, nil, 400, missing},
		{`{"name":"x","config":{},"step":1,"checkpoint":null}`, nil, 400, missing},
		{`{"name":"x","config":{},"step":1,"checkpoint":"x"}`, nil, 400, invalid},
		{`{"name":"x","config":{},"step":1,"checkpoint":{}}`, nil, 400, invalid},
		{`{"name":"x","config":{},"step":1,"checkpoint":{"modelConfig":{},"params":null}}`, nil, 400, invalid},
		{`{"name":"x","config":{},"step":1,"checkpoint":{"inner":{"modelConfig":{},"params":{}}}}`, nil, 400, invalid},
		{`{"name":"x","config":[],"step":1,` + good + `}`, nil, 400, "config: must be an object"},
		{`{"name":"x","config":{},"step":-1,` + good + `}`, nil, 400, "step: must not be negative"},
		{`{"name":"x","config":{},"step":"1",` + good + `}`, nil, 400, "step: must be an integer, not string"},
		{`{"name":7,"config":{},"step":1,` + good + `}`, nil, 400, "name: must be a string, not number"},
		{`{"name":"x","config":{},"step":1,"more":1,` + good + `}`, nil, 400, "more: unknown parameter"},
		{`{"name":"x","name":"y","config":{},"step":1,` + good + `}`, nil, 400, "name: appears twice"},
		{`{` + good + `,` + good + `}`, nil, 400, "checkpoint: appears twice"},
		{`{"name":"../x","config":{},"step":1,` + good + `}`, nil, 400, "name: must be a plain name"},
		{`{"name":"` + strings.Repeat("x", 4096) + `"}`, nil, 413, "the body is larger than 4096 bytes"},
		{bomb.String(), []string{"Content-Encoding", "gzip"}, 413, "the body is larger than 4096 bytes"},
		{"{}", []string{"Content-Encoding", "gzip"}, 400, "the body is truncated or not valid gzip"},
		{"ALPH", binary(), 400, "Missing X-Checkpoint-Name or X-Checkpoint-Step headers"},
		{"ALPH", binary("X-Checkpoint-Name", "x"), 400, "Missing X-Checkpoint-Name or X-Checkpoint-Step headers"},
		{"", binary("X-Checkpoint-Name", "x", "X-Checkpoint-Step", "1"), 400, "the body is empty: a checkpoint is expected"},
		{"ALPH", binary("X-Checkpoint-Name", "x", "X-Checkpoint-Step", "one"), 400, "X-Checkpoint-Step: must be an integer"},
		{"ALPH", binary("X-Checkpoint-Name", "x", "X-Checkpoint-Step", "-1"), 400, "step: must not be negative"},
		{"ALPH", binary("X-Checkpoint-Name", "\xff", "X-Checkpoint-Step", "1"), 400, "X-Checkpoint-Name: not valid UTF-8"},
		{"ALPH", binary("X-Checkpoint-Name", "x", "X-Checkpoint-Step", "1", "X-Checkpoint-Config", "{}"), 400, "X-Checkpoint-Config: must be UTF-8 text in base64"},
		{"ALPH", binary("X-Checkpoint-Name", "x", "X-Checkpoint-Step", "1", "X-Checkpoint-Config", "e30x"), 400, "X-Checkpoint-Config: must be JSON in base64"},
		{"ALPH", binary("X-Checkpoint-Name", "x", "X-Checkpoint-Step", "1", "X-Checkpoint-Config", "W10="), 400, "config: must be an object"},
		{"ALPH", binary("X-Checkpoint-Name", "x", "X-Checkpoint-Step", "1", "X-Checkpoint-Metrics", "/w=="), 400, "X-Checkpoint-Metrics: must be UTF-8 text in base64"},
	} {
		f := newFixture()
		w := ask(f, "POST", "/api/upload", test.body, test.headers...)
		if got := strings.TrimSpace(w.Body.String()); w.Code != test.status || got != `{"error":"`+test.want+`"}` {
			t.Errorf("%.80q %q: got %d %s", test.body, test.headers, w.Code, got)
		}
		if len(f.shelf.uploads) != 0 {
			t.Errorf("%.80q was published", test.body)
		}
		if f.shelf.open != 0 || f.shelf.held != 0 {
			t.Errorf("%.80q: %d bodies and %d bytes are held", test.body, f.shelf.open, f.shelf.held)
		}
	}
	none := httpx.Mux{Routes: Routes(Config{Models: llm.Fixed{}})}
	for _, w := range []string{
		ask(none.Handler(), "POST", "/api/upload", goodUpload).Body.String(),
		ask(none.Handler(), "DELETE", "/api/models?name=x", "").Body.String(),
	} {
		if w != `{"error":"this server stores no checkpoints"}`+"\n" {
			t.Errorf("got %s", w)
		}
	}
}
