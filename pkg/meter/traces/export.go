package traces

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// An exporter sends spans as OTLP in JSON. The project's own exporter, in Protocol Buffers, would
// make a function 7 MB larger (54 %): it links gRPC, which it does not use, and with html/template
// all methods of the program.
//
// Source: OpenTelemetry Protocol 1.x, "OTLP/HTTP", "JSON Protobuf Encoding".
type exporter struct {
	send    func(ctx context.Context, body []byte) error
	timeout time.Duration
}

var _ sdk.SpanExporter = (*exporter)(nil)

// NewExporter returns an exporter that passes bodies on to send, each within timeout.
func NewExporter(send func(ctx context.Context, body []byte) error, timeout time.Duration) sdk.SpanExporter {
	return &exporter{send, timeout}
}

// ExportSpans implements [sdk.SpanExporter].
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	body, err := json.Marshal(encode(spans))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	return e.send(ctx, body)
}

// Shutdown implements [sdk.SpanExporter].
func (e *exporter) Shutdown(context.Context) error { return nil }

// The messages of OTLP, as far as they are used.
type (
	message struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   attributes   `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	attributes struct {
		Attributes []keyValue `json:"attributes"`
	}
	scopeSpans struct {
		Scope scope  `json:"scope"`
		Spans []span `json:"spans"`
	}
	scope struct {
		Name string `json:"name"`
	}
	span struct {
		TraceID    string     `json:"traceId"`
		SpanID     string     `json:"spanId"`
		TraceState string     `json:"traceState,omitempty"`
		Parent     string     `json:"parentSpanId,omitempty"`
		Flags      uint32     `json:"flags"`
		Name       string     `json:"name"`
		Kind       int        `json:"kind"`
		Start      string     `json:"startTimeUnixNano"`
		End        string     `json:"endTimeUnixNano"`
		Attributes []keyValue `json:"attributes,omitempty"`
		Events     []event    `json:"events,omitempty"`
		Status     status     `json:"status"`
	}
	event struct {
		Time string `json:"timeUnixNano"`
		Name string `json:"name"`
	}
	status struct {
		Message string `json:"message,omitempty"`
		Code    int    `json:"code,omitempty"`
	}
	keyValue struct {
		Key   string         `json:"key"`
		Value map[string]any `json:"value"`
	}
)

// Bits of the flags of a span beyond those of the W3C. Source: opentelemetry/proto/trace/v1,
// SpanFlags.
const (
	hasRemote = 0x100
	isRemote  = 0x200
)

// encode returns the message with spans, which have one resource and one scope.
func encode(spans []sdk.ReadOnlySpan) message {
	if len(spans) == 0 {
		return message{}
	}
	one := scopeSpans{Scope: scope{spans[0].InstrumentationScope().Name}}
	for _, s := range spans {
		one.Spans = append(one.Spans, encodeSpan(s))
	}
	of := attributes{keyValues(spans[0].Resource().Attributes())}
	return message{[]resourceSpans{{of, []scopeSpans{one}}}}
}

func encodeSpan(s sdk.ReadOnlySpan) span {
	sc, parent := s.SpanContext(), s.Parent()
	out := span{
		TraceID: sc.TraceID().String(), SpanID: sc.SpanID().String(), TraceState: sc.TraceState().String(),
		Name: s.Name(), Kind: int(s.SpanKind()), Start: nanoseconds(s.StartTime()), End: nanoseconds(s.EndTime()), Attributes: keyValues(s.Attributes()),
		Flags: uint32(sc.TraceFlags()) | hasRemote,
	}
	if parent.HasSpanID() {
		out.Parent = parent.SpanID().String()
	}
	if parent.IsRemote() {
		out.Flags |= isRemote
	}
	for _, e := range s.Events() {
		out.Events = append(out.Events, event{nanoseconds(e.Time), e.Name})
	}
	switch of := s.Status(); of.Code { // the numbers are others than the SDK's
	case codes.Ok:
		out.Status.Code = 1
	case codes.Error:
		out.Status = status{of.Description, 2}
	}
	return out
}

func nanoseconds(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func keyValues(list []attribute.KeyValue) (out []keyValue) {
	for _, kv := range list {
		out = append(out, keyValue{string(kv.Key), anyValue(kv.Value)})
	}
	return out
}

// anyValue returns a value of one of the types that this package sets, or that resources have.
func anyValue(v attribute.Value) map[string]any {
	switch v.Type() {
	case attribute.BOOL:
		return map[string]any{"boolValue": v.AsBool()}
	case attribute.INT64:
		return map[string]any{"intValue": strconv.FormatInt(v.AsInt64(), 10)}
	case attribute.FLOAT64:
		return map[string]any{"doubleValue": v.AsFloat64()}
	case attribute.STRINGSLICE:
		list := []any{}
		for _, s := range v.AsStringSlice() {
			list = append(list, map[string]any{"stringValue": s})
		}
		return map[string]any{"arrayValue": map[string]any{"values": list}}
	}
	return map[string]any{"stringValue": v.String()}
}
