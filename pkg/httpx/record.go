package httpx

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// A Record is what the log line and the metrics tell of a request. It has no
// place for prompts, answers or credentials.
type Record struct {
	ID      string // also in the header X-Request-Id
	Method  string
	Route   string // the pattern, so that it can be a label of metrics
	Model   string
	Family  string // of the model: local, bedrock, sagemaker
	Dialect string // of the route
	Trace   Trace  // that the request belongs to

	Permission Permission // that the route needs
	Status     int
	Read       int64 // bytes of the request's body that were read, decompressed
	Bytes      int64 // of the answer's body
	Start      time.Time
	FirstByte  time.Duration // since Start, 0 if there was none
	FirstText  time.Duration // since Start: when the model gave its first piece, 0 if it gave none
	Duration   time.Duration
	Usage      llm.Usage
	Principal  string // who sent it, "" if nobody was asked; for the log, not for labels
	Err        *llm.Error
	Fallbacks  []string // models that failed before another answered, or all did: "name: code"

	// Header is that of the answer: what is put there before its first byte goes with it.
	Header http.Header

	maxBody int64
	lease   *lease // of the body; nil outside of a mux
	errors  Errors // the shape of the request's errors
}

// Count adds what a call of a model used.
func (rec *Record) Count(u llm.Usage) {
	rec.Usage.Input += u.Input
	rec.Usage.Output += u.Output
	rec.Usage.Truncated = rec.Usage.Truncated || u.Truncated
	rec.Usage.Partial = rec.Usage.Partial || u.Partial
}

// Began notes that the model gave a piece of its answer; only the first counts.
func (rec *Record) Began() {
	if rec.FirstText == 0 {
		rec.FirstText = time.Since(rec.Start)
	}
}

// Fault is what a log may tell of the error of rec: the code, the outermost name of
// the parameter, and the cause, with its stack if it was a panic, of what is no fault
// of the client. None of them has what the client sent.
func (rec *Record) Fault() (code, param, cause string) {
	e := rec.Err
	if e == nil {
		return "", "", ""
	}
	if e.Code != wire.UnknownParam { // which may be a prompt in the wrong place
		param = outermost(e.Param)
	}
	if e.Err != nil && (e.Code == llm.Internal || e.Code == llm.Upstream || e.Code == llm.Unavailable || e.Code == llm.Full) {
		cause = e.Err.Error()
	}
	return string(e.Code), param, cause
}

// outermost returns the first name of a path such as output_type.KEY: what is below it
// may be the client's own words.
func outermost(param string) string {
	if i := strings.IndexAny(param, ".["); i >= 0 {
		return param[:i]
	}
	return param
}

type recordKey struct{}

// RecordOf returns the record of the request that ctx belongs to; outside of a
// request, one that nobody reads.
func RecordOf(ctx context.Context) *Record {
	if rec, ok := ctx.Value(recordKey{}).(*Record); ok {
		return rec
	}
	return &Record{maxBody: DefaultMaxBody, Header: http.Header{}}
}

// requestID returns the client's request id if it is a sane one, else a new one.
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

// tracker notes what a handler writes.
type tracker struct {
	http.ResponseWriter
	rec *Record
}

func (t *tracker) WriteHeader(status int) {
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
