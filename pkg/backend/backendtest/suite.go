package backendtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"glossa/pkg/backend/remote"
	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
	"glossa/pkg/schema"
	"glossa/schemas"
)

// A Suite is a set of tests for a backend.
type Suite struct {
	Family string // bedrock or sagemaker
	Open   func(url string, m remote.Model) *remote.Backend

	Whole, Stream string            // paths of the two calls
	Headers       map[string]string // of each request
	Unknown       func(w *Reply)    // the answer for an unknown model
	Throttled     string            // the name of the error within a stream
	Refused       string            // the name of the error of an invalid request
}

// Credentials returns made-up credentials.
func Credentials() aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "secret"}, nil
	})
}

// Run runs the tests.
func (s *Suite) Run(t *testing.T) {
	for _, test := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"contract", s.contract}, {"paths", s.paths}, {"records", s.records}, {"rows", s.rows}, {"chat", s.chat},
		{"params", s.params}, {"stops", s.stops}, {"usage", s.usage}, {"sampling", s.sampling}, {"none", s.none}, {"big", s.big}, {"calls", s.calls}, {"invoke", s.invoke},
		{"retries", s.retries}, {"faults", s.faults}, {"inside", s.inside}, {"silence", s.silence},
		{"embeds", s.embeds}, {"embed options", s.embedOptions}, {"bad vectors", s.badVectors}, {"first failure", s.firstFailure}, {"ranks", s.ranks},
		{"cancelled", s.cancelled}, {"deadline", s.deadline}, {"left", s.left},
	} {
		t.Run(test.name, test.run)
	}
}

// record is a model without a provider.
const record = `{
	"request": {"omit_null": true,
		"defaults": {"in": "", "max": null, "temperature": null, "seed": null, "stop": null, "full": null, "stream": null, "kind": "x"},
		"mapping": {"prompt": "$.in", "max_new_tokens": "$.max", "temperature": "$.temperature", "seed": "$.seed", "stop": "$.stop",
			"return_full_text": "$.full", "stream": "$.stream"}},
	"response": {"mapping": {"generated_text": "$.text", "finish_reason": "$.why", "input_tokens": "$.read", "output_tokens": "$.wrote"}},
	"response-with-stream": {"regex_sub": "^data:",
		"mapping": {"generated_text": "$.text", "finish_reason": "$.why", "input_tokens": "$.read", "output_tokens": "$.wrote", "special": "$.special"}}
}`

// Parse returns the schema of a record.
func Parse(t testing.TB, text string) *schema.Schema {
	s, err := schema.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Quick returns retries without long pauses.
func Quick() remote.Retry {
	return remote.Retry{Pause: time.Millisecond, Jitter: func() float64 { return 1 }}
}

// start starts a service and returns it with a backend for the record without a provider.
func (s *Suite) start(t testing.TB, answer func(i int, r *Request, w *Reply)) (*Service, *remote.Backend) {
	return s.startWith(t, record, answer)
}

func (s *Suite) startWith(t testing.TB, record string, answer func(i int, r *Request, w *Reply)) (*Service, *remote.Backend) {
	service := NewService(t, s.Family, answer)
	return service, s.Open(service.URL, remote.Model{Schema: Parse(t, record), Retry: Quick()})
}

// says answers with words.
func says(words ...string) func(int, *Request, *Reply) {
	return func(_ int, r *Request, w *Reply) {
		if !r.Stream {
			b, _ := json.Marshal(map[string]any{"text": strings.Join(words, ""), "why": "stop", "read": 2, "wrote": len(words)})
			w.Whole(string(b))
			return
		}
		for _, word := range words {
			b, _ := json.Marshal(map[string]any{"text": word})
			w.Event(string(b))
		}
		w.Event(fmt.Sprintf(`{"why": "stop", "read": 2, "wrote": %d}`, len(words)))
	}
}

// ask asks for one completion of text.
func ask(text string, stream bool) *llm.Request {
	return &llm.Request{Prompts: []llm.Prompt{llm.Text(text)}, Stream: stream}
}

func collect(ctx context.Context, b llm.Backend, req *llm.Request) ([]llm.Chunk, llm.Usage, error) {
	return llm.Collect(b.Generate(ctx, req), req.Rows())
}

// streamed turns requests into streamed ones.
type streamed struct{ llm.Backend }

func (s streamed) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	r := *req
	r.Stream = true
	return s.Backend.Generate(ctx, &r)
}

func (s *Suite) contract(t *testing.T) {
	_, b := s.start(t, says("one ", "two"))
	if err := llmtest.TestBackend(t.Context(), b); err != nil {
		t.Error(err)
	}
	if err := llmtest.TestBackend(t.Context(), streamed{b}); err != nil {
		t.Error("streamed: ", err)
	}
	if _, err := llm.As[llm.Invoker](&llm.Model{Backend: b}); err != nil {
		t.Error(err)
	}
}

func (s *Suite) paths(t *testing.T) {
	service, b := s.start(t, says("one"))
	for _, stream := range []bool{false, true} {
		if _, _, err := collect(t.Context(), b, ask("p", stream)); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []string{s.Whole, s.Stream} {
		r := service.Requests()[i]
		if r.Path != want {
			t.Errorf("%s, want %s", r.Path, want)
		}
		for name, value := range s.Headers {
			if got := r.Header.Get(name); got != value {
				t.Errorf("%s: %q, want %q", name, got, value)
			}
		}
		if r.Body["in"] != "p" || r.Body["kind"] != "x" || r.Body["stream"] != (i == 1) || len(r.Body) != 3 {
			t.Errorf("body %v", r.Body)
		}
	}
}

// shipped returns the shipped schemas of the family, by sk.
func shipped(t testing.TB, family string) map[string]string {
	names, err := fs.Glob(schemas.Files(), family+"-*.json")
	if err != nil || len(names) == 0 {
		t.Fatal("no records", err)
	}
	all := map[string]string{}
	for _, name := range names {
		var item struct{ Schema json.RawMessage }
		b, err := fs.ReadFile(schemas.Files(), name)
		if err == nil {
			err = json.Unmarshal(b, &item)
		}
		if err != nil {
			t.Fatal(name, err)
		}
		all[strings.TrimSuffix(name, ".json")] = string(item.Schema)
	}
	return all
}

// codeOf returns the code of an error and its parameter, if any.
func codeOf(err error) (llm.Code, string) {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return "", ""
	}
	return e.Code, e.Param
}
