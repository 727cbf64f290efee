package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"glossa/pkg/backend/remote"
	"glossa/pkg/llm"
	"glossa/pkg/schema"
	"glossa/schemas"
)

// schemaOf returns the schema of a built-in record.
func schemaOf(t testing.TB, record string) *schema.Schema {
	t.Helper()
	b, err := schemas.Files().Open(record + ".json")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var doc struct{ Schema json.RawMessage }
	if err := json.NewDecoder(b).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	s, err := schema.Parse(doc.Schema)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// keys are the secrets of an endpoint in the order in which they replace each other.
type keys struct {
	list []string
	err  error
}

func (k *keys) Get(context.Context) (string, error) {
	if k.err != nil {
		return "", k.err
	}
	return k.list[0], nil
}

func (k *keys) Forget(old string) {
	if len(k.list) > 1 && k.list[0] == old {
		k.list = k.list[1:]
	}
}

// open returns the backend of a model at a server that lives as long as the test.
func open(t testing.TB, record string, key Key, serve http.HandlerFunc) *remote.Backend {
	t.Helper()
	return openFor(t, record, key, time.Minute, serve)
}

// openFor is open with a limit of the endpoint's silence.
func openFor(t testing.TB, record string, key Key, silence time.Duration, serve http.HandlerFunc) *remote.Backend {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL + "/v1")
	if err != nil {
		t.Fatal(err)
	}
	target := Target{Base: base, Model: "org/the \"model\"", Key: key, Silence: silence}
	quick := remote.Retry{Pause: time.Millisecond, Jitter: func() float64 { return 1 }}
	return New(NewClient(true), target, remote.Model{Schema: schemaOf(t, record), Retry: quick})
}

// patience returns the limit of silence for a test, which a busy machine does not exceed
// unless the test is of silence.
func patience(name string) time.Duration {
	if strings.HasPrefix(name, "silen") {
		return time.Second
	}
	return time.Minute
}

func chat(stream bool) *llm.Request {
	return &llm.Request{Stream: stream, Prompts: []llm.Prompt{{Messages: []llm.Message{{Role: "user", Parts: []llm.Part{{Text: "the-secret-prompt of a client"}}}}}}, Params: llm.Params{MaxTokens: new(5)}}
}

// bodyOf reads a request as one of OpenAI's API.
func bodyOf(t testing.TB, r *http.Request) map[string]any {
	t.Helper()
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		t.Error(err)
	}
	if body["model"] != "org/the \"model\"" || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s of %v as %q", r.Method, body["model"], r.Header.Get("Content-Type"))
	}
	return body
}

const whole = `{"choices":[{"message":{"content":"It stood."},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`

func TestCall(t *testing.T) {
	for _, c := range []struct {
		record, path, answer string
		key                  Key
		authorization        string
	}{
		{"openai-chat", "/v1/chat/completions", whole, &keys{list: []string{"sk-1"}}, "Bearer sk-1"},
		{"openai-completions", "/v1/completions", `{"choices":[{"text":"It stood.","finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`, nil, ""},
	} {
		b := open(t, c.record, c.key, func(w http.ResponseWriter, r *http.Request) {
			body := bodyOf(t, r)
			if r.URL.Path != c.path || r.Header.Get("Authorization") != c.authorization || body["max_tokens"] != 5.0 || body["stream"] != false || body["stream_options"] != nil {
				t.Errorf("%s, %q, %v", r.URL.Path, r.Header.Get("Authorization"), body)
			}
			io.WriteString(w, c.answer)
		})
		req := chat(false)
		if c.record == "openai-completions" {
			req.Prompts = []llm.Prompt{llm.Text("p")}
		}
		rows, usage, err := llm.Collect(b.Generate(t.Context(), req), 1)
		if err != nil || rows[0].Text != "It stood." || rows[0].Finish != llm.FinishEOS || usage.Input != 3 || usage.Output != 2 {
			t.Errorf("%s: %+v %+v %v", c.record, rows, usage, err)
		}
	}
}

// sse writes events, each at once.
func sse(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	for _, e := range events {
		io.WriteString(w, e)
		w.(http.Flusher).Flush()
	}
}

func said(text, finish string) string {
	if finish != "null" {
		finish = `"` + finish + `"`
	}
	return `data: {"choices": [{"delta": {"content": "` + text + `"}, "finish_reason": ` + finish + "}]}\n\n"
}

const counts = `data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}` + "\n\n"

func TestStream(t *testing.T) {
	for name, c := range map[string]struct {
		events []string
		open   bool // the server keeps the connection
		text   string
		used   bool
		fault  string
	}{
		"as OpenAI":            {[]string{said("It ", "null"), said("stood.", "stop"), counts, "data: [DONE]\n\n"}, true, "It stood.", true, ""},
		"without DONE":         {[]string{said("It stood.", "stop"), counts}, false, "It stood.", true, ""},
		"left open":            {[]string{said("It stood.", "stop"), counts}, true, "It stood.", true, ""},
		"comments, CRLF":       {[]string{": ping\r\n\r\nevent: x\r\nid: 1\r\n", strings.ReplaceAll(said("It stood.", "stop"), "\n", "\r\n"), "data:[DONE]\r\n\r\n"}, false, "It stood.", false, ""},
		"two lines of data":    {[]string{"data: {\"choices\":[{\"delta\":{\"content\":\"It stood.\"},\ndata: \"finish_reason\":\"stop\"}]}\n\n"}, false, "It stood.", false, ""},
		"cut":                  {[]string{said("It ", "null")}, false, "It ", false, "the stream ends before"},
		"silent":               {[]string{said("It ", "null")}, true, "It ", false, "sent nothing for too long"},
		"an error in it":       {[]string{said("It ", "null"), "data: {\"error\":{\"message\":\"x\"}}\n\n"}, false, "It ", false, "reports an error"},
		"no JSON":              {[]string{said("It ", "null"), "data: {what\n\n"}, false, "It ", false, "not JSON"},
		"a line without end":   {[]string{said("It ", "null"), "data: " + strings.Repeat("x", maxEvent+1)}, true, "It ", false, "an event has more than"},
		"an event without end": {[]string{said("It ", "null"), strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n", 5)}, true, "It ", false, "token too long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := openFor(t, "openai-chat", nil, patience(name), func(w http.ResponseWriter, r *http.Request) {
				if options, _ := bodyOf(t, r)["stream_options"].(map[string]any); options["include_usage"] != true {
					t.Errorf("%v", options)
				}
				sse(w, c.events...)
				if c.open {
					<-r.Context().Done()
				}
			})
			var text strings.Builder
			var usage llm.Usage
			var failed error
			for chunk, err := range b.Generate(t.Context(), chat(true)) {
				if failed = err; err != nil {
					break
				}
				text.WriteString(chunk.Text)
				if chunk.Usage != nil {
					usage = *chunk.Usage
				}
			}
			if text.String() != c.text || (usage.Input == 3 && usage.Output == 2) != c.used || (failed != nil) != (c.fault != "") {
				t.Errorf("%q %+v %v", text.String(), usage, failed)
			}
			if e := llm.AsError(failed); failed != nil && (e.Code != llm.Upstream || !strings.Contains(e.Message+fmt.Sprint(e.Err), c.fault) || strings.Contains(e.Message, "xxx")) {
				t.Errorf("%s: %v", e.Message, e.Err)
			}
		})
	}
}

// TestNoStream: an endpoint that does not stream is told from one that does.
func TestNoStream(t *testing.T) {
	b := open(t, "openai-chat", nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, whole)
	})
	if _, _, err := llm.Collect(b.Generate(t.Context(), chat(true)), 1); err == nil || !strings.Contains(fmt.Sprint(llm.AsError(err).Err), "not a stream") {
		t.Error(err)
	}
}

func TestRefused(t *testing.T) {
	const key = "sk-0123456789"
	for _, c := range []struct {
		status  int
		body    string
		code    llm.Code
		message string
		calls   int
	}{
		{400, `{"error":{"message":"max_tokens is too large"}}`, llm.Invalid, "rejected the request: max_tokens is too large", 1},
		{400, `{"error":"no such thing"}`, llm.Invalid, "rejected the request: no such thing", 1},
		{422, `{"detail":"bad body"}`, llm.Invalid, "rejected the request: bad body", 1},
		{400, `{"message":"the-secret-prompt of a client is bad"}`, llm.Invalid, "rejected the request", 1},
		{400, `{"message":"your key ` + key + ` may not"}`, llm.Invalid, "rejected the request", 1},
		{400, `{"message":"the key that ends in ` + key[7:] + ` may not"}`, llm.Invalid, "rejected the request", 1},
		{401, `{"error":{"message":"Incorrect API key provided: sk-01"}}`, llm.Upstream, "the provider denies access to the model", 1},
		{403, `{"error":{"message":"no access with sk-01"}}`, llm.Upstream, "the provider denies access to the model", 1},
		{404, `{"error":{"message":"no model x"}}`, llm.NotFound, "the provider has no such model: no model x", 1},
		{429, `{"error":{"message":"slow down"}}`, llm.Overloaded, "the remote model is at capacity: slow down", 3},
		{503, `<html>`, llm.Upstream, "the remote model failed", 3},
		{504, ``, llm.Timeout, "the remote model timed out", 1},
		{302, ``, llm.Upstream, "the remote model cannot be reached", 1},
	} {
		elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it followed the redirect") }))
		calls := 0
		b := open(t, "openai-chat", &keys{list: []string{key}}, func(w http.ResponseWriter, _ *http.Request) {
			calls++
			w.Header().Set("Location", elsewhere.URL)
			w.WriteHeader(c.status)
			io.WriteString(w, c.body)
		})
		_, _, err := llm.Collect(b.Generate(t.Context(), chat(false)), 1)
		elsewhere.Close()
		e := llm.AsError(err)
		if e.Code != c.code || !strings.HasPrefix(e.Message, c.message) && !strings.HasSuffix(e.Message, c.message) || calls != c.calls {
			t.Errorf("%d: %s %q after %d calls", c.status, e.Code, e.Message, calls)
		}
		if all := fmt.Sprint(e.Message, e.Err); strings.Contains(all, "sk-01") || strings.Contains(all, "the-secret-prompt") {
			t.Errorf("%d: it tells %q", c.status, all)
		}
	}
}

// TestHostileAnswers: whole answers that lie or do not end.
func TestHostileAnswers(t *testing.T) {
	for name, serve := range map[string]http.HandlerFunc{
		"a lie about the length": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, `{"choices":[]`)
		},
		"silence": func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, `{"choices":`)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
		"silence from the start": func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		},
		"no end": func(w http.ResponseWriter, _ *http.Request) {
			for piece := strings.Repeat(" ", 1<<20); ; {
				if _, err := io.WriteString(w, piece); err != nil {
					return
				}
			}
		},
		"not JSON": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `<html>`) },
		"the wrong": func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"choices":[{"message":{"content":7}}]}`)
		},
		"a broken one": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := openFor(t, "openai-chat", nil, patience(name), serve)
			_, _, err := llm.Collect(b.Generate(t.Context(), chat(false)), 1)
			if e := llm.AsError(err); err == nil || e.Code != llm.Upstream || name == "no end" && !strings.Contains(e.Err.Error(), "the answer has more than 67108864 bytes") {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestCancelled: the call ends with its client.
func TestCancelled(t *testing.T) {
	gone := make(chan struct{})
	b := open(t, "openai-chat", nil, func(w http.ResponseWriter, r *http.Request) {
		sse(w, said("It ", "null"))
		<-r.Context().Done()
		close(gone)
	})
	for range b.Generate(t.Context(), chat(true)) {
		break
	}
	<-gone
}

func TestEmbedAndRank(t *testing.T) {
	b := open(t, "openai-embeddings", nil, func(w http.ResponseWriter, r *http.Request) {
		if body := bodyOf(t, r); fmt.Sprint(body["input"], body["dimensions"]) != "[a b] 2" || r.URL.Path != "/v1/embeddings" {
			t.Error(body)
		}
		io.WriteString(w, `{"data":[{"index":1,"embedding":[3,4]},{"index":0,"embedding":[1,2]}],"usage":{"prompt_tokens":2}}`)
	})
	embedder, err := llm.As[llm.Embedder](b)
	if err != nil {
		t.Fatal(err)
	}
	vectors, usage, err := embedder.Embed(t.Context(), &llm.EmbedRequest{Prompts: []llm.Prompt{llm.Text("a"), llm.Text("b")}, Dimensions: 2})
	if err != nil || fmt.Sprint(vectors[0].Layers[0].Vectors, vectors[1].Layers[0].Vectors, usage.Input) != "[[1 2]] [[3 4]] 2" {
		t.Errorf("%v %v %v", vectors, usage, err)
	}
	for _, data := range []string{`{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}`, `{"index":2,"embedding":[1]},{"index":0,"embedding":[1]}`, `{"index":0.5,"embedding":[1]},{"index":1,"embedding":[1]}`, `{"index":-1,"embedding":[1]},{"index":1,"embedding":[1]}`} {
		b := open(t, "openai-embeddings", nil, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"data":[`+data+`]}`) })
		embedder, _ := llm.As[llm.Embedder](b)
		if _, _, err := embedder.Embed(t.Context(), &llm.EmbedRequest{Prompts: []llm.Prompt{llm.Text("a"), llm.Text("b")}}); err == nil {
			t.Errorf("%s: accepted", data)
		}
	}
	b = open(t, "openai-rerank", nil, func(w http.ResponseWriter, r *http.Request) {
		if body := bodyOf(t, r); fmt.Sprint(body["query"], body["documents"]) != "q[a b]" || r.URL.Path != "/v1/rerank" {
			t.Error(body)
		}
		io.WriteString(w, `{"results":[{"index":1,"relevance_score":0.9},{"index":0,"relevance_score":0.1}]}`)
	})
	reranker, err := llm.As[llm.Reranker](b)
	if err != nil {
		t.Fatal(err)
	}
	scores, _, err := reranker.Rerank(t.Context(), &llm.RerankRequest{Pairs: []llm.Pair{{Query: "q", Document: "a"}, {Query: "q", Document: "b"}}, Truncate: true})
	if err != nil || scores[0].Score != 0.1 || scores[1].Score != 0.9 {
		t.Errorf("%v %v", scores, err)
	}
}

// TestGrace: a stream that stays open after its model has finished ends soon, without an error.
func TestGrace(t *testing.T) {
	var shortened bool
	end := errors.New("the watch")
	from, to := io.Pipe()
	go func() {
		io.WriteString(to, said("It stood.", "stop"))
		to.CloseWithError(end)
	}()
	for event, err := range events(from, func() { shortened = true }) {
		if err != nil {
			t.Errorf("%s %v", event, err)
		}
	}
	if !shortened {
		t.Error("nobody ends it")
	}
	w, ctx := newWatch(t.Context(), time.Hour)
	defer w.stop()
	w.shorten(time.Millisecond)
	silent, to := io.Pipe()
	defer to.Close()
	go w.reader(silent).Read(make([]byte, 1))
	<-ctx.Done()
	if context.Cause(ctx) != errSilent {
		t.Error(context.Cause(ctx))
	}
}

// TestSlowClient: the time between the reads is the client's, not the endpoint's.
func TestSlowClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, ctx := newWatch(t.Context(), time.Second)
		defer w.stop()
		w.rest()
		time.Sleep(2 * time.Second)
		from := w.reader(strings.NewReader("It stood."))
		for range 3 {
			if _, err := from.Read(make([]byte, 1)); err != nil {
				t.Error(err)
			}
			time.Sleep(2 * time.Second)
		}
		if ctx.Err() != nil {
			t.Error(context.Cause(ctx))
		}
		silent, to := io.Pipe()
		go func() { <-ctx.Done(); to.CloseWithError(ctx.Err()) }()
		start := time.Now()
		if _, err := w.reader(silent).Read(make([]byte, 1)); cause(ctx, err) != errSilent || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestCause(t *testing.T) {
	w, ctx := newWatch(t.Context(), time.Millisecond)
	defer w.stop()
	<-ctx.Done()
	if err := cause(ctx, ctx.Err()); err != errSilent {
		t.Error(err)
	}
	if err := cause(t.Context(), io.ErrUnexpectedEOF); err != io.ErrUnexpectedEOF {
		t.Error(err)
	}
}
