// Package emf writes the measurements of requests in CloudWatch's embedded metric format:
// CloudWatch Logs extracts the metrics, so no API has to be called. It knows the record of
// a request, and refuses to know models, dialects and where lines go.
//
// The line is also the log line of the request: the format allows other members besides
// the metrics, so logs, which are billed by the byte and by the write, are written only
// once. Requests that run no model have a line without metrics.
//
// Sources: Amazon CloudWatch User Guide, "Specification: Embedded metric format" and its
// JSON schema; CloudWatch API Reference, Dimension; the metrics invocations and latency of
// API layer, the latter with the unit of this package.
package emf

import (
	"io"
	"strings"
	"sync"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// DefaultNamespace is the namespace of API layer.
const DefaultNamespace = "Codenator/api-layer/"

// Config configures a [Meter].
type Config struct {
	Writer    io.Writer               // each line is one Write; writes do not overlap
	Namespace string                  // of the metrics; "": [DefaultNamespace]; see [CheckNamespace]
	Known     func(model string) bool // reports whether a model may become a dimension; nil: none may

	// Experts returns how the experts of a model were found so far that stay in its file; zeros if
	// none do. nil: not measured.
	Experts func(model string) llm.ExpertUse
}

// A Meter writes lines.
type Meter struct {
	known      func(string) bool
	directives [1 << traits]string // by the traits of a request

	lines sync.Pool // of *line

	experts expertCounts

	mu sync.Mutex
	to io.Writer
}

// Traits of a request, as bits of an index.
const (
	hasModel = 1 << iota
	hasFamily
	hasDialect
	hasFirst
	hasCost
	hasExperts
	traits = 6
)

// New returns a meter.
func New(cfg Config) *Meter {
	if cfg.Namespace == "" {
		cfg.Namespace = DefaultNamespace
	}
	m := &Meter{known: cfg.Known, to: cfg.Writer, experts: expertCounts{read: cfg.Experts}}
	for has := range m.directives {
		m.directives[has] = directive(cfg.Namespace, has)
	}
	return m
}

// directive returns the part of a line that defines the metrics for CloudWatch, after
// the timestamp. Each request counts in the set without dimensions and once for each of
// its dimensions, which stay few: the models of the catalog, the families, the
// dialects.
func directive(namespace string, has int) string {
	b := []byte(`,"CloudWatchMetrics":[{"Namespace":`)
	b = quote(b, namespace)
	b = append(b, `,"Dimensions":[`...)
	for i, name := range []string{"model", "family", "dialect"} { // the bits in their order
		if has&(1<<i) != 0 {
			b = append(append(append(b, `["`...), name...), `"],`...)
		}
	}
	b = append(b, `[]],"Metrics":[{"Name":"invocations","Unit":"Count"},{"Name":"latency","Unit":"Milliseconds"},`...)
	if has&hasFirst != 0 {
		b = append(b, `{"Name":"time_to_first_token","Unit":"Milliseconds"},`...)
	}
	if has&hasCost != 0 {
		b = append(b, `{"Name":"cost","Unit":"None"},`...)
	}
	if has&hasExperts != 0 {
		b = append(b, `{"Name":"expert_hits","Unit":"Count"},{"Name":"expert_misses","Unit":"Count"},`...)
	}
	b = append(b, `{"Name":"tokens_in","Unit":"Count"},{"Name":"tokens_out","Unit":"Count"},{"Name":"errors","Unit":"Count"}]}]}`...)
	return string(b)
}

// A line is a reused buffer for one line.
type line struct{ b []byte }

// Observe writes the line of a request; it is the Observe hook of an [httpx.Mux]. A
// line that cannot be written is lost: it could be reported nowhere.
func (m *Meter) Observe(rec *httpx.Record) {
	l, ok := m.lines.Get().(*line)
	if !ok {
		l = &line{make([]byte, 0, 2048)}
	}
	l.b = append(m.append(l.b[:0], rec), '\n')
	m.mu.Lock()
	_, _ = m.to.Write(l.b)
	m.mu.Unlock()
	if cap(l.b) <= 64<<10 { // a buffer with a long cause is not reused
		m.lines.Put(l)
	}
}

// append appends the line of rec to b.
func (m *Meter) append(b []byte, rec *httpx.Record) []byte {
	code, param, cause := rec.Fault()
	b = append(b, '{')
	if rec.Permission == httpx.Inference {
		b = m.metrics(b, rec)
	} else {
		b = append(b, `"latency":`...)
		b = milliseconds(b, rec.Duration)
	}
	level := `,"level":"INFO","msg":"request","time":"`
	if cause != "" {
		level = `,"level":"ERROR","msg":"request","time":"`
	}
	b = append(b, level...)
	b = append(rec.Start.Add(rec.Duration).UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z07:00"), '"')
	b = text(b, "id", rec.ID)
	b = text(b, "method", rec.Method)
	b = text(b, "route", rec.Route)
	b = number(b, "status", int64(rec.Status))
	b = number(b, "bytes", rec.Bytes)
	b = text(b, "model", rec.Model)
	b = text(b, "family", rec.Family)
	b = text(b, "dialect", rec.Dialect)
	b = text(b, "trace", rec.Trace.ID())
	b = text(b, "principal", rec.Principal)
	b = list(b, "fallbacks", rec.Fallbacks)
	b = text(b, "code", code)
	b = text(b, "param", param)
	b = text(b, "cause", cause[:min(len(cause), maxCause)])
	return append(b, '}')
}

// maxCause bounds the cause of an error, which may be a stack, in bytes. A line may
// have a quarter of a megabyte, and escapes can take six bytes for one.
const maxCause = 16 << 10

// metrics appends the metadata and the values of the metrics.
func (m *Meter) metrics(b []byte, rec *httpx.Record) []byte {
	has := 0
	if m.known != nil && value(rec.Model) && m.known(rec.Model) {
		has |= hasModel
	}
	if value(rec.Family) {
		has |= hasFamily
	}
	if value(rec.Dialect) {
		has |= hasDialect
	}
	if rec.FirstText > 0 {
		has |= hasFirst
	}
	if rec.Usage.Cost.Known {
		has |= hasCost
	}
	var hits, misses int64
	if has&hasModel != 0 {
		if hits, misses = m.experts.since(rec.Model); hits+misses > 0 {
			has |= hasExperts
		}
	}
	b = append(b, `"_aws":{"Timestamp":`...)
	b = integer(b, rec.Start.UnixMilli())
	b = append(b, m.directives[has]...)
	b = append(b, `,"invocations":1,"latency":`...)
	b = milliseconds(b, rec.Duration)
	if has&hasFirst != 0 {
		b = append(b, `,"time_to_first_token":`...)
		b = milliseconds(b, rec.FirstText)
	}
	if has&hasCost != 0 { // in US dollars
		b = append(append(b, `,"cost":`...), rec.Usage.Cost.USD.String()...)
	}
	if has&hasExperts != 0 {
		b = number(b, "expert_hits", hits)
		b = number(b, "expert_misses", misses)
	}
	b = number(b, "tokens_in", int64(rec.Usage.Input))
	b = number(b, "tokens_out", int64(rec.Usage.Output))
	failed := int64(0)
	if rec.Err != nil && rec.Err.Code != httpx.Gone { // a client that leaves is not an error
		failed = 1
	}
	return number(b, "errors", failed)
}

const maxValue = 1024 // bytes of a dimension's value

// value reports whether s is valid as the value of a dimension: ASCII without control
// characters, not blank, and not too long (CloudWatch API Reference, Dimension).
func value(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return len(s) <= maxValue && strings.Trim(s, " ") != ""
}

// milliseconds appends a duration with three decimals.
func milliseconds(b []byte, d time.Duration) []byte {
	us := max(0, d.Microseconds())
	b = append(integer(b, us/1000), '.')
	return append(b, byte('0'+us/100%10), byte('0'+us/10%10), byte('0'+us%10))
}
