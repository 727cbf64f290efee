// Package traces makes spans of requests with the SDK of OpenTelemetry and exports them by
// OTLP: one of the request, and below it one of each call of a model, with its time in the
// queue, until the first token and until the last. It knows the record of a request and the
// calls of models, and refuses to know prompts, answers and credentials: no span holds one.
//
// Sources: OpenTelemetry, "Semantic conventions for HTTP spans" and "Semantic conventions for
// generative client AI spans".
package traces

import (
	"context"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"glossa/pkg/httpx"
	"glossa/pkg/version"
)

// Traces makes spans. A nil *Traces makes none.
type Traces struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	amazon   bool
}

// Config configures [New].
type Config struct {
	Exporter sdk.SpanExporter
	Failed   func(error) // is called when spans are lost, with the reason
	// Amazon is set if AWS X-Ray decides which requests are sampled. Otherwise its header of a
	// request that is not sampled says nothing: Lambda sends it wherever X-Ray is not used.
	Amazon bool
}

// New returns traces. The environment configures the sampler, the batches and
// the resource, as OpenTelemetry defines; the service's name is glossa unless it says otherwise.
func New(cfg Config) *Traces {
	named, _ := resource.New(context.Background(), // its detectors read the environment alone
		resource.WithAttributes(attribute.String("service.name", "glossa"), attribute.String("service.version", version.Read().Version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	p := sdk.NewTracerProvider(sdk.WithBatcher(reporting{cfg.Exporter, cfg.Failed}), sdk.WithResource(named))
	return &Traces{p, p.Tracer("glossa"), cfg.Amazon}
}

// reporting is an exporter whose errors are reported here. The SDK reports those that it gets to
// one handler of the process.
type reporting struct {
	sdk.SpanExporter
	failed func(error)
}

// ExportSpans implements [sdk.SpanExporter].
func (r reporting) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if err := r.SpanExporter.ExportSpans(ctx, spans); err != nil {
		r.failed(err)
	}
	return nil
}

// Flush exports the spans that have ended.
func (t *Traces) Flush(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.ForceFlush(ctx)
}

// Close exports the spans that have ended, and ends.
func (t *Traces) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// Begin starts the span of a request of a dialect, with the client's span as its parent. Calls of
// other services belong to it.
func (t *Traces) Begin(rec *httpx.Record) {
	if t == nil || rec.Dialect == "" {
		return
	}
	_, span := t.tracer.Start(t.parentOf(&rec.Trace), rec.Method+" "+rec.Route,
		trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(rec.Start), trace.WithAttributes(
			attribute.String("http.request.method", rec.Method), attribute.String("http.route", rec.Route),
			attribute.String("glossa.dialect", rec.Dialect), attribute.String("glossa.request.id", rec.ID)))
	rec.Span = span
	rec.Trace.Parent = traceparent(span.SpanContext())
}

// Observe ends the span of a request.
func (t *Traces) Observe(rec *httpx.Record) {
	span, ok := rec.Span.(trace.Span)
	if t == nil || !ok {
		return
	}
	span.SetAttributes(attribute.Int("http.response.status_code", rec.Status), attribute.Int64("http.response.body.size", rec.Bytes))
	if code, _, _ := rec.Fault(); code != "" {
		span.SetAttributes(attribute.String("error.type", code))
		if rec.Status >= 500 { // others are the client's
			span.SetStatus(codes.Error, code)
		}
	}
	if len(rec.Fallbacks) > 0 {
		span.SetAttributes(attribute.StringSlice("glossa.fallbacks", rec.Fallbacks))
	}
	span.End(trace.WithTimestamp(rec.Start.Add(rec.Duration)))
}

// parentOf returns a context with the span that the headers of a request name: that of the W3C's
// header, else that of AWS X-Ray.
func (t *Traces) parentOf(of *httpx.Trace) context.Context {
	ctx := context.Background()
	switch {
	case of.Parent != "":
		return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": of.Parent, "tracestate": of.State})
	case of.Amazon != "":
		if parent, ok := fromAmazon(of.Amazon); ok && (parent.IsSampled() || t.amazon) {
			return trace.ContextWithRemoteSpanContext(ctx, parent)
		}
	}
	return ctx
}

// fromAmazon reads X-Ray's header: Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1.
// Without a parent there is only the trace to belong to, which a span needs a parent for.
//
// Source: AWS X-Ray Developer Guide, "Tracing header".
func fromAmazon(header string) (trace.SpanContext, bool) {
	var cfg trace.SpanContextConfig
	var err error
	for field := range strings.SplitSeq(header, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		switch name {
		case "Root":
			cfg.TraceID, err = trace.TraceIDFromHex(strings.ReplaceAll(strings.TrimPrefix(value, "1-"), "-", ""))
		case "Parent":
			cfg.SpanID, err = trace.SpanIDFromHex(value)
		case "Sampled":
			cfg.TraceFlags = cfg.TraceFlags.WithSampled(value == "1")
		}
		if err != nil {
			return trace.SpanContext{}, false
		}
	}
	cfg.Remote = true
	sc := trace.NewSpanContext(cfg)
	return sc, sc.IsValid()
}

// traceparent returns the W3C's header of a span.
func traceparent(sc trace.SpanContext) string {
	return "00-" + sc.TraceID().String() + "-" + sc.SpanID().String() + "-0" + strconv.Itoa(int(sc.TraceFlags()&trace.FlagsSampled))
}
