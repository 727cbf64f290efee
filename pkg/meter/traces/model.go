package traces

import (
	"context"
	"iter"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"glossa/pkg/httpx"
	"glossa/pkg/intercept"
	"glossa/pkg/llm"
)

// Model returns a model whose calls have spans.
func (t *Traces) Model(m *llm.Model) *llm.Model {
	if t == nil {
		return m
	}
	return intercept.Wrap(m, tracer{t})
}

type tracer struct{ *Traces }

// A call is a call of a model that runs.
type call struct {
	traces *Traces
	ctx    context.Context // with the call's span
	span   trace.Span
	local  bool
	name   string // of the method

	started  atomic.Int64 // when it got a worker, Unix nanoseconds; 0: not yet
	began    time.Time
	first    time.Time // when the first piece came
	usage    *llm.Usage
	finishes []string
}

// Intercept implements [intercept.Interceptor].
func (t tracer) Intercept(ctx context.Context, of *intercept.Call, next intercept.Next) iter.Seq2[intercept.Piece, error] {
	if of.Free {
		return next(ctx, of)
	}
	return func(yield func(intercept.Piece, error) bool) {
		c := t.begin(ctx, of)
		if !c.span.IsRecording() {
			next(ctx, of)(yield)
			return
		}
		var failed error
		defer func() { c.end(failed) }() // even in a panic
		ctx := httpx.WithParent(ctx, traceparent(c.span.SpanContext()))
		if c.local {
			ctx = llm.WithStart(ctx, func() { c.started.CompareAndSwap(0, time.Now().UnixNano()) })
		}
		for p, err := range next(ctx, of) {
			failed = err
			c.piece(&p)
			if !yield(p, err) {
				return
			}
		}
	}
}

// begin starts the span of a call.
func (t tracer) begin(ctx context.Context, of *intercept.Call) *call {
	kind, provider := trace.SpanKindClient, of.Model.Family
	if named, ok := map[string]string{"bedrock": "aws.bedrock", "sagemaker": "aws.sagemaker"}[provider]; ok {
		provider = named
	}
	if of.Model.InProcess {
		kind, provider = trace.SpanKindInternal, "glossa"
	}
	operation := operationOf(of)
	c := &call{traces: t.Traces, local: of.Model.InProcess, name: of.Name, began: time.Now()}
	c.ctx, c.span = t.tracer.Start(t.parentOf(&httpx.RecordOf(ctx).Trace), operation+" "+of.Model.Name,
		trace.WithSpanKind(kind), trace.WithTimestamp(c.began), trace.WithAttributes(
			attribute.String("gen_ai.operation.name", operation), attribute.String("gen_ai.provider.name", provider),
			attribute.String("gen_ai.request.model", of.Model.Name)))
	if req, ok := of.Request.(*llm.Request); ok && c.span.IsRecording() {
		c.span.SetAttributes(settings(req)...)
	}
	return c
}

// operationOf returns the name of an operation; the conventions know the first three.
func operationOf(of *intercept.Call) string {
	switch req := of.Request.(type) {
	case *llm.Request:
		if len(req.Prompts) > 0 && req.Prompts[0].Messages != nil {
			return "chat"
		}
		return "text_completion"
	case *intercept.Invocation:
		return "text_completion"
	}
	if of.Name == "embed" {
		return "embeddings"
	}
	return of.Name
}

// settings returns the settings of a request.
func settings(req *llm.Request) (list []attribute.KeyValue) {
	if n := req.MaxTokens; n != nil {
		list = append(list, attribute.Int("gen_ai.request.max_tokens", *n))
	}
	for name, v := range map[string]*float64{
		"temperature": req.Temperature, "top_p": req.TopP, "presence_penalty": req.PresencePenalty, "frequency_penalty": req.FrequencyPenalty,
	} {
		if v != nil {
			list = append(list, attribute.Float64("gen_ai.request."+name, *v))
		}
	}
	if k := req.TopK; k != nil {
		list = append(list, attribute.Int("gen_ai.request.top_k", *k))
	}
	if n := req.Rows(); n > 1 {
		list = append(list, attribute.Int("gen_ai.request.choice.count", n))
	}
	if req.Schema != nil {
		list = append(list, attribute.String("gen_ai.output.type", "json"))
	}
	return append(list, attribute.Bool("gen_ai.request.stream", req.Stream))
}

// piece notes when the answer began, why rows ended, and the usage.
func (c *call) piece(p *intercept.Piece) {
	if c.first.IsZero() && p.Answers() {
		c.first = time.Now()
		if !c.local {
			c.span.AddEvent("first token", trace.WithTimestamp(c.first))
		}
	}
	if p.Usage != nil {
		c.usage = p.Usage
	}
	if p.Chunk.Finish != "" {
		c.finishes = append(c.finishes, string(p.Chunk.Finish))
	}
}

// end ends the span, and makes those of its stages.
func (c *call) end(err error) {
	now := time.Now()
	if u := c.usage; u != nil {
		c.span.SetAttributes(attribute.Int("gen_ai.usage.input_tokens", u.Input), attribute.Int("gen_ai.usage.output_tokens", u.Output))
		if u.Cached > 0 {
			c.span.SetAttributes(attribute.Int("gen_ai.usage.cache_read.input_tokens", u.Cached))
		}
	}
	if c.finishes != nil {
		c.span.SetAttributes(attribute.StringSlice("gen_ai.response.finish_reasons", c.finishes))
	}
	if err != nil {
		code := string(llm.AsError(err).Code) // the message may quote the client
		c.span.SetAttributes(attribute.String("error.type", code))
		c.span.SetStatus(codes.Error, code)
	}
	if c.local {
		c.stages(now)
	}
	c.span.End(trace.WithTimestamp(now))
}

// stages makes the spans of a local call: the time until it got a worker and, of a text, until
// the first token and until the last.
func (c *call) stages(end time.Time) {
	started := time.Unix(0, c.started.Load())
	if c.started.Load() == 0 { // it never ran
		c.stage("queue", c.began, end)
		return
	}
	c.stage("queue", c.began, started)
	switch {
	case c.name != "generate" && c.name != "invoke":
		c.stage("compute", started, end)
	case c.first.IsZero():
		c.stage("prefill", started, end)
	default:
		c.stage("prefill", started, c.first)
		c.stage("decode", c.first, end)
	}
}

func (c *call) stage(name string, from, to time.Time) {
	_, span := c.traces.tracer.Start(c.ctx, name, trace.WithTimestamp(from))
	span.End(trace.WithTimestamp(to))
}
