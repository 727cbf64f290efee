package httpx

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strings"
	"sync"
	"time"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// A Record holds the data of a request for the log line and the metrics. It has no
// field for prompts, answers or credentials.
type Record struct {
	ID      string // also in the header X-Request-Id
	Method  string
	Route   string // the pattern, so that it can be a metric label
	Model   string
	Family  string // of the model: local, bedrock, sagemaker
	Dialect string // of the route
	Trace   Trace  // the trace that the request belongs to
	Span    any    // of the request, for who made it when it began; nil: none

	Permission Permission // required by the route
	Status     int
	Read       int64 // bytes of the request's body that were read, decompressed
	Bytes      int64 // of the answer's body
	Start      time.Time
	FirstByte  time.Duration // since Start, 0 if nothing was sent
	FirstText  time.Duration // since Start, when the model produced its first piece; 0 if it produced none
	Duration   time.Duration
	Usage      llm.Usage
	Prices     *llm.Prices   // of the model that answers; nil: unknown
	Computed   time.Duration // since Start, whose computing is in the cost of Usage
	Principal  string        // the sender, "" if no credentials were required; for the log, not for labels
	Err        *llm.Error
	Fallbacks  []string // models that failed before another one answered, or before all failed: "name: code"

	// Wrote, if set, is called with each piece of the model's answer, by one goroutine at a time.
	Wrote func()

	// Header is the header of the answer. Values set before the first byte are sent. Once a
	// model is asked, [Record.SetHeader] sets them.
	Header http.Header

	keepAlive time.Duration // the silence after which a stream sends one; 0: none
	beginning *sync.Mutex   // guards Header and Status; nil if keepAlive is 0
	maxBody   int64
	lease     *lease // of the body; nil outside of a mux
	errors    Errors // the shape of the request's errors
}

// CostHeader is the header of an answer with its cost in US dollars. Streams do not have it,
// because the cost is known at their end.
const CostHeader = "X-Glossa-Cost"

// Count adds the usage of a model call, and writes the cost so far to the header of an answer
// that has not begun.
func (rec *Record) Count(u llm.Usage) {
	rec.Usage.Add(u)
	if rec.Usage.Cost.Known {
		rec.SetHeader(func(h http.Header) { h.Set(CostHeader, rec.Usage.Cost.USD.String()) })
	}
}

// SetHeader calls set with the header of an answer that has not begun. Unlike the header
// itself, it may be used while a stream sends keep-alives.
func (rec *Record) SetHeader(set func(http.Header)) {
	defer rec.lock()()
	if rec.Status == 0 && rec.Header != nil {
		set(rec.Header)
	}
}

// lock keeps keep-alives from beginning the answer, until the returned function is called.
func (rec *Record) lock() (unlock func()) {
	if rec.beginning == nil {
		return func() {}
	}
	rec.beginning.Lock()
	return rec.beginning.Unlock
}

// Piece records a piece of the model's answer: the time of the first one, and that it was
// produced now.
func (rec *Record) Piece() {
	if rec.FirstText == 0 {
		rec.FirstText = time.Since(rec.Start)
	}
	if rec.Wrote != nil {
		rec.Wrote()
	}
}

// Fault returns the parts of the error of rec that may be logged: the code, the
// outermost name of the parameter and, for a server fault, its cause, with the stack
// of a panic. They do not contain the client's input.
func (rec *Record) Fault() (code, param, cause string) {
	e := rec.Err
	if e == nil {
		return "", "", ""
	}
	if e.Code != wire.UnknownParam { // which may hold a prompt in the wrong place
		param = outermost(e.Param)
	}
	if e.Err != nil && (e.Code == llm.Internal || e.Code == llm.Upstream || e.Code == llm.Unavailable || e.Code == llm.Full) {
		cause = e.Err.Error()
	}
	return string(e.Code), param, cause
}

// outermost returns the first name of a path such as output_type.KEY; the rest may be
// the client's input.
func outermost(param string) string {
	if i := strings.IndexAny(param, ".["); i >= 0 {
		return param[:i]
	}
	return param
}

type recordKey struct{}

// RecordOf returns the record of the request that ctx belongs to, or outside of a
// request a new, unused one.
func RecordOf(ctx context.Context) *Record {
	if rec, ok := ctx.Value(recordKey{}).(*Record); ok {
		return rec
	}
	return &Record{maxBody: DefaultMaxBody, Header: http.Header{}}
}

// requestID returns the client's request id if it is valid, else a new one.
func requestID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	if id != "" && len(id) <= 128 && printable(id) {
		return id
	}
	var b [12]byte
	rand.Read(b[:])
	return "req_" + hex.EncodeToString(b[:])
}

func printable(s string) bool {
	for _, c := range []byte(s) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return true
}

// tracker records status, size and timing of a response.
type tracker struct {
	http.ResponseWriter
	rec *Record
}

func (t *tracker) WriteHeader(status int) {
	defer t.rec.lock()()
	if t.rec.Status == 0 && status >= http.StatusOK {
		t.rec.Status = status
		t.rec.FirstByte = time.Since(t.rec.Start)
	}
	t.ResponseWriter.WriteHeader(status)
}

func (t *tracker) Write(b []byte) (int, error) {
	if t.rec.Status == 0 {
		t.WriteHeader(http.StatusOK)
	}
	n, err := t.ResponseWriter.Write(b)
	t.rec.Bytes += int64(n)
	return n, err
}

// Unwrap lets [http.ResponseController] flush.
func (t *tracker) Unwrap() http.ResponseWriter { return t.ResponseWriter }
