// Package upstream calls models behind endpoints that speak OpenAI's API: vLLM, llama.cpp's
// server, Ollama, LiteLLM, a provider. It knows their paths, events and errors, how much of an
// answer it reads, and which addresses may be called. Records and pkg/backend/remote define the
// bodies. It refuses to know where keys are kept.
//
// Sources: OpenAI API Reference, "Chat", "Completions", "Embeddings"; WHATWG HTML, 9.2,
// server-sent events.
package upstream

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"glossa/pkg/backend/remote"
	"glossa/pkg/schema"
	"glossa/pkg/version"
)

// A Key is the secret of an endpoint.
type Key interface {
	// Get returns it. Its error never contains it.
	Get(ctx context.Context) (string, error)
	// Forget says that the endpoint rejects old, so that it is read again.
	Forget(old string)
}

// A Target is the location of a model.
type Target struct {
	Base    *url.URL      // to which the operations' paths are added: https://llm.example.com/v1
	Model   string        // what the endpoint calls it
	Key     Key           // nil: none is sent
	Silence time.Duration // after which an endpoint that sends nothing has failed; 0 means 5 minutes
}

// New returns the backend of the model at t.
func New(client *http.Client, t Target, m remote.Model) *remote.Backend {
	m.Schema = m.Schema.For(t.Model)
	t.Silence = cmp.Or(t.Silence, 5*time.Minute)
	name, _ := json.Marshal(t.Model) // a text
	return remote.New(&endpoint{client: client, Target: t, name: name}, m)
}

// Bounds of an answer, in bytes.
const (
	maxAnswer = 64 << 20 // whole, or all of a stream
	maxEvent  = 4 << 20
	maxError  = 64 << 10
)

// grace is how long a stream may stay open after its model has finished.
const grace = 5 * time.Second

type endpoint struct {
	client *http.Client
	Target
	name []byte // of the model, as JSON
}

// Call implements [remote.Endpoint].
func (e *endpoint) Call(ctx context.Context, api remote.API, body []byte) (remote.Payload, error) {
	watch, ctx := newWatch(ctx, e.Silence)
	defer watch.stop()
	res, err := e.post(ctx, api, e.named(body, ""))
	if err != nil {
		return remote.Payload{}, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(&bounded{from: watch.reader(res.Body), left: maxAnswer})
	if err != nil {
		return remote.Payload{}, remote.Broken(op(api), cause(ctx, err), true)
	}
	return remote.Payload{Body: answer}, nil
}

// Stream implements [remote.Endpoint].
func (e *endpoint) Stream(ctx context.Context, api remote.API, body []byte) (iter.Seq2[remote.Payload, error], error) {
	watch, ctx := newWatch(ctx, e.Silence)
	res, err := e.post(ctx, api, e.named(body, `"stream_options":{"include_usage":true},`))
	if err == nil && !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		res.Body.Close()
		err = remote.Broken(op(api), errors.New("the answer is not a stream of events"), true)
	}
	if err != nil {
		watch.stop()
		return nil, err
	}
	watch.rest()
	return func(yield func(remote.Payload, error) bool) {
		defer watch.stop()
		defer res.Body.Close()
		for event, err := range events(&bounded{from: watch.reader(res.Body), left: maxAnswer}, func() { watch.shorten(grace) }) {
			if err != nil {
				yield(remote.Payload{}, remote.Broken(op(api), cause(ctx, err), true))
				return
			}
			if !yield(remote.Payload{Body: event}, nil) {
				return
			}
		}
	}, nil
}

// op names an operation in errors.
func op(api remote.API) string { return "openai " + path(api) }

// path returns the path of an operation under the base.
func path(api remote.API) string { return cmp.Or(string(api), string(schema.ChatCompletions)) }

// named returns a request with the model's name, and more members before its own.
func (e *endpoint) named(body []byte, more string) []byte {
	out := make([]byte, 0, len(body)+len(e.name)+len(more)+16)
	out = append(append(append(out, `{"model":`...), e.name...), ',')
	return append(append(out, more...), body[1:]...) // a request has members
}

// post calls an operation. If the endpoint rejects the key, which may have been replaced, it
// is read again, and another one is tried once.
func (e *endpoint) post(ctx context.Context, api remote.API, body []byte) (*http.Response, error) {
	key, err := e.key(ctx)
	for again := false; ; again = true {
		if err != nil {
			return nil, remote.Broken(op(api), err, false)
		}
		res, failed := e.send(ctx, api, key, body)
		if failed != nil {
			return nil, remote.Broken(op(api), cause(ctx, failed), false)
		}
		if res.StatusCode/100 == 2 {
			return res, nil
		}
		fault := refused(api, res, key)
		res.Body.Close()
		if res.StatusCode != http.StatusUnauthorized || e.Key == nil || again {
			return nil, fault
		}
		rejected := key
		e.Key.Forget(rejected)
		if key, err = e.key(ctx); err == nil && key == rejected {
			return nil, fault
		}
	}
}

func (e *endpoint) key(ctx context.Context) (string, error) {
	if e.Key == nil {
		return "", nil
	}
	return e.Key.Get(ctx)
}

func (e *endpoint) send(ctx context.Context, api remote.API, key string, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.Base.JoinPath(path(api)).String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", version.UserAgent())
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	return e.client.Do(r)
}

// refused returns the fault of an answer that is an error.
func refused(api remote.API, res *http.Response, key string) error {
	if res.StatusCode/100 == 3 {
		return remote.Broken(op(api), errors.New("it redirects to another address: put that one into the record"), true)
	}
	b, _ := io.ReadAll(io.LimitReader(res.Body, maxError)) // a part is better than none
	message := messageOf(b)
	if denied := res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden; denied || shows(message, key) {
		message = "" // it may quote the key
	}
	return remote.Refused(op(api), res.StatusCode, res.Header, message)
}

// shows reports whether a message has a part of the key: some servers mask the rest.
func shows(message, key string) bool {
	const part = 6 // characters
	for i := 0; i+part <= len(key); i++ {
		if strings.Contains(message, key[i:i+part]) {
			return true
		}
	}
	return key != "" && strings.Contains(message, key)
}

// messageOf returns the message of an error: OpenAI's shape, vLLM's older one, Ollama's, or
// FastAPI's.
func messageOf(body []byte) string {
	var doc struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  string          `json:"detail"`
	}
	_ = json.Unmarshal(body, &doc) // a body of another shape has no message
	var own struct {
		Message string `json:"message"`
	}
	var text string
	_ = json.Unmarshal(doc.Error, &own)
	_ = json.Unmarshal(doc.Error, &text)
	return cmp.Or(own.Message, text, doc.Message, doc.Detail)
}
