package traces

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// model is a model with a fixed answer.
type model struct {
	pieces []llm.Chunk
	err    error
	seen   func(context.Context)
}

func (m model) Generate(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		llm.Started(ctx)
		if m.seen != nil {
			m.seen(ctx)
		}
		for _, c := range m.pieces {
			if !yield(c, nil) {
				return
			}
		}
		if m.err != nil {
			yield(llm.Chunk{}, m.err)
		}
	}
}

// ask serves a request that asks m, and returns its spans.
func ask(t *testing.T, header http.Header, info llm.ModelInfo, m model) tracetest.SpanStubs {
	t.Helper()
	return askWith(t, Config{}, header, info, m)
}

func askWith(t *testing.T, cfg Config, header http.Header, info llm.ModelInfo, m model) tracetest.SpanStubs {
	t.Helper()
	kept := tracetest.NewInMemoryExporter()
	cfg.Exporter, cfg.Failed = kept, func(err error) { t.Error(err) }
	traces := New(cfg)
	three, half := 3, 0.5
	req := &llm.Request{Prompts: []llm.Prompt{{Messages: []llm.Message{{Role: "user"}}}}, Params: llm.Params{MaxTokens: &three, Temperature: &half}}
	mux := httpx.Mux{Begin: traces.Begin, Observe: traces.Observe, Routes: []httpx.Route{{
		Method: "POST", Pattern: "/v1/ask", Dialect: "openai",
		Handle: func(w http.ResponseWriter, r *http.Request) error {
			for _, err := range traces.Model(&llm.Model{ModelInfo: info, Backend: m}).Generate(r.Context(), req) {
				if err != nil {
					return err
				}
			}
			_, err := w.Write([]byte("ok"))
			return err
		},
	}}}
	r, _ := http.NewRequestWithContext(t.Context(), "POST", "/v1/ask", http.NoBody)
	for name := range header {
		r.Header[name] = header[name]
	}
	mux.Handler().ServeHTTP(discard{}, r)
	if err := traces.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	spans := kept.GetSpans()
	if err := traces.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return spans
}

type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}

// describe returns a line for each span, in the order of their starts.
func describe(spans tracetest.SpanStubs) []string {
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int {
		if c := a.StartTime.Compare(b.StartTime); c != 0 {
			return c
		}
		return b.EndTime.Compare(a.EndTime) // the longer one is the outer one
	})
	names := map[string]string{}
	for _, s := range spans {
		names[s.SpanContext.SpanID().String()] = s.Name
	}
	var lines []string
	for _, s := range spans {
		parent := names[s.Parent.SpanID().String()]
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s < %s %s %s", s.Name, parent, s.SpanKind, s.Status.Code)))
	}
	return lines
}

// value returns an attribute of the span of a name.
func value(spans tracetest.SpanStubs, name, key string) attribute.Value {
	for _, s := range spans {
		for _, kv := range s.Attributes {
			if s.Name == name && string(kv.Key) == key {
				return kv.Value
			}
		}
	}
	return attribute.Value{}
}

var (
	local = llm.ModelInfo{Name: "novels", Family: "local", InProcess: true}
	far   = llm.ModelInfo{Name: "claude", Family: "bedrock"}
	whole = []llm.Chunk{{Text: "a"}, {Text: "b", Finish: llm.FinishLength, Usage: &llm.Usage{Input: 5, Cached: 2, Output: 2}}}
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestLocal(t *testing.T) {
	spans := ask(t, http.Header{"Traceparent": {parent}, "Tracestate": {"a=b"}}, local, model{pieces: whole})
	want := []string{
		"POST /v1/ask <  server Unset", "chat novels < POST /v1/ask internal Unset",
		"queue < chat novels internal Unset", "prefill < chat novels internal Unset", "decode < chat novels internal Unset",
	}
	got := describe(spans)
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, s := range spans {
		if s.SpanContext.TraceID().String() != "0af7651916cd43dd8448eb211c80319c" || s.SpanContext.TraceState().String() != "a=b" {
			t.Errorf("%s is of %s %s", s.Name, s.SpanContext.TraceID(), s.SpanContext.TraceState())
		}
		if s.EndTime.Before(s.StartTime) {
			t.Errorf("%s ends before it starts", s.Name)
		}
		if s.Name == "POST /v1/ask" && s.Parent.SpanID().String() != "b7ad6b7169203331" {
			t.Errorf("the parent of the request is %s", s.Parent.SpanID())
		}
	}
	for key, want := range map[string]string{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "glossa", "gen_ai.request.model": "novels", "gen_ai.request.max_tokens": "3",
		"gen_ai.request.temperature": "0.5", "gen_ai.usage.input_tokens": "5", "gen_ai.usage.output_tokens": "2",
		"gen_ai.usage.cache_read.input_tokens": "2", "gen_ai.response.finish_reasons": `["length"]`, "gen_ai.request.stream": "false",
	} {
		if got := value(spans, "chat novels", key).String(); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	for key, want := range map[string]string{"http.request.method": "POST", "http.route": "/v1/ask", "http.response.status_code": "200", "glossa.dialect": "openai"} {
		if got := value(spans, "POST /v1/ask", key).String(); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}

// A remote call gets its own span as the parent, and none of its errors' texts is in a span.
func TestRemote(t *testing.T) {
	sent := ""
	spans := ask(t, nil, far, model{pieces: whole[:1], err: llm.Errorf(llm.Upstream, "secret text"), seen: func(ctx context.Context) {
		r, _ := http.NewRequestWithContext(ctx, "GET", "http://x", http.NoBody)
		_, _ = httpx.Traced(doer(func(r *http.Request) { sent = r.Header.Get("Traceparent") })).Do(r)
	}})
	if got := describe(spans); len(got) != 2 || got[1] != "chat claude < POST /v1/ask client Error" || got[0] != "POST /v1/ask <  server Error" {
		t.Errorf("%q", got)
	}
	for _, s := range spans {
		if s.Name == "chat claude" {
			if want := traceparent(s.SpanContext); sent != want {
				t.Errorf("the call has the parent %q, want %q", sent, want)
			}
			if len(s.Events) != 1 || s.Events[0].Name != "first token" {
				t.Errorf("events %v", s.Events)
			}
		}
		if strings.Contains(fmt.Sprint(s.Attributes, s.Status), "secret") {
			t.Errorf("%v %v", s.Attributes, s.Status)
		}
	}
	if got := value(spans, "chat claude", "gen_ai.provider.name").String(); got != "aws.bedrock" {
		t.Errorf("provider %q", got)
	}
	if got := value(spans, "chat claude", "error.type").String(); got != string(llm.Upstream) {
		t.Errorf("error %q", got)
	}
}

type doer func(*http.Request)

func (d doer) Do(r *http.Request) (*http.Response, error) { d(r); return nil, errors.New("sent") }

// X-Ray's header is a parent, too. Without sampling nothing is recorded, and the trace is passed on.
func TestParents(t *testing.T) {
	root := "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled="
	if spans := ask(t, http.Header{"X-Amzn-Trace-Id": {root + "1"}}, local, model{pieces: whole}); len(spans) != 5 || spans[0].SpanContext.TraceID().String() != "5759e988bd862e3fe1be46a994272793" {
		t.Errorf("%v", describe(spans))
	}
	sent := ""
	seen := func(ctx context.Context) { sent = httpx.RecordOf(ctx).Trace.Parent }
	unsampled := http.Header{"X-Amzn-Trace-Id": {root + "0"}}
	if spans := ask(t, unsampled, local, model{pieces: whole}); len(spans) != 5 || spans[0].SpanContext.TraceID().String() == "5759e988bd862e3fe1be46a994272793" {
		t.Errorf("where X-Ray does not decide: %v", describe(spans))
	}
	if spans := askWith(t, Config{Amazon: true}, unsampled, local, model{pieces: whole, seen: seen}); len(spans) != 0 || !strings.HasPrefix(sent, "00-5759e988bd862e3fe1be46a994272793-") || !strings.HasSuffix(sent, "-00") {
		t.Errorf("%v, passed on %q", describe(spans), sent)
	}
	for _, bad := range []string{"Root=1-5759e988-bd862e3fe1be46a994272793", "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=x;Sampled=1"} {
		if spans := ask(t, http.Header{"X-Amzn-Trace-Id": {bad}}, local, model{pieces: whole}); len(spans) != 5 {
			t.Errorf("%s: %v", bad, describe(spans))
		}
	}
}

// Requests that belong to no dialect, such as probes, have no spans.
func TestProbes(t *testing.T) {
	traces := New(Config{Exporter: tracetest.NewInMemoryExporter()})
	rec := &httpx.Record{Method: "GET", Route: "/health", Start: time.Now()}
	traces.Begin(rec)
	traces.Observe(rec)
	if rec.Span != nil || rec.Trace.Parent != "" {
		t.Errorf("%+v", rec)
	}
	var none *Traces
	none.Begin(rec)
	none.Observe(rec)
	m := &llm.Model{}
	if none.Model(m) != m || none.Flush(t.Context()) != nil || none.Close(t.Context()) != nil {
		t.Error("without traces something is done")
	}
}

// BenchmarkCall measures a call of a model with traces off, unsampled and sampled.
func BenchmarkCall(b *testing.B) {
	req := &llm.Request{Prompts: []llm.Prompt{{}}}
	m := &llm.Model{ModelInfo: local, Backend: model{pieces: whole}}
	run := func(b *testing.B, ctx context.Context, m *llm.Model) {
		b.ReportAllocs()
		for b.Loop() {
			for _, err := range m.Generate(ctx, req) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	var none *Traces
	b.Run("off", func(b *testing.B) { run(b, b.Context(), none.Model(m)) })
	for name, sampler := range map[string]sdk.Sampler{"unsampled": sdk.NeverSample(), "sampled": sdk.AlwaysSample()} {
		b.Run(name, func(b *testing.B) {
			p := sdk.NewTracerProvider(sdk.WithSampler(sampler), sdk.WithBatcher(tracetest.NewNoopExporter()))
			run(b, b.Context(), (&Traces{provider: p, tracer: p.Tracer("glossa")}).Model(m))
		})
	}
}

// Lost spans are reported once, to those that lost them, however many traces a process has.
func TestLostSpans(t *testing.T) {
	lost := map[string][]string{}
	open := func(name string) *Traces {
		e := NewExporter(func(context.Context, []byte) error { return errors.New(name) }, time.Second)
		return New(Config{Exporter: e, Failed: func(err error) { lost[name] = append(lost[name], err.Error()) }})
	}
	list := []*Traces{open("a"), open("b")}
	for _, traces := range list {
		_, span := traces.tracer.Start(t.Context(), "request")
		span.End()
		if err := traces.Flush(t.Context()); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"a", "b"} {
		if got := lost[name]; len(got) != 1 || got[0] != name {
			t.Errorf("%s has lost %q", name, got)
		}
	}
	for _, traces := range list {
		if err := traces.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
