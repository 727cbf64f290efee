package httpx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"glossa/pkg/llm"
)

// A Mux serves a route table.
type Mux struct {
	Routes   []Route
	Known    []Route // that answers to unknown paths name; nil: Routes
	Fallback Errors  // shapes the 404 of paths that are like no route; nil: {"error": message}

	// Browsers configures which web pages may use the routes.
	Browsers Browsers
	// Guard, if set, sees each request before its handler and may reject it.
	Guard func(r *http.Request, route *Route) (*http.Request, error)
	// Begin, if set, is called with each request's record before its guard and handler.
	Begin func(*Record)
	// Observe, if set, is called with each request's record after its answer.
	Observe func(*Record)
	// Log receives one line for each request; nil discards them.
	Log *slog.Logger
	// Bodies bounds the bodies in memory; nil: the mux has its own.
	Bodies *Bodies
	// KeepAlive is the silence after which a stream sends a keep-alive, see [Stream.Await]; 0:
	// it sends none.
	KeepAlive time.Duration
}

// Handler mounts the routes. It panics if two of them conflict.
func (m *Mux) Handler() http.Handler {
	mux := http.NewServeMux()
	bodies := cmp.Or(m.Bodies, &Bodies{})
	paths := map[string][]Route{} // by pattern
	var inners []inner
	for _, route := range m.Routes {
		in, plain, ok := innerOf(route.Pattern)
		if ok {
			inners = append(inners, in)
		}
		mux.Handle(route.Method+" "+plain, m.serve(&route, bodies))
		paths[plain] = append(paths[plain], route)
	}
	for plain, routes := range paths {
		wrong := wrongMethod(routes)
		for _, pattern := range patterns(plain, routes, paths) {
			mux.Handle(pattern, m.serve(wrong, bodies))
		}
	}
	if paths["/"] == nil {
		mux.Handle("/", m.serve(m.noRoute(), bodies))
	}
	return fold(inners, mux)
}

// wrongMethod answers methods that no route of a path has; OPTIONS is answered
// earlier.
func wrongMethod(routes []Route) *Route {
	var taken []string
	metrics := false
	for _, route := range routes {
		taken = append(taken, route.Method)
		metrics = metrics || route.private()
	}
	allow := strings.Join(taken, ", ")
	return &Route{
		Pattern: routes[0].Pattern, Permission: Public, Errors: routes[0].Errors, errorsOf: routes[0].errorsOf, metrics: metrics,
		Handle: func(w http.ResponseWriter, _ *http.Request) error {
			w.Header().Set("Allow", allow)
			return llm.Errorf(NoMethod, "this path supports only %s", allow)
		},
	}
}

// patterns returns the patterns of ServeMux for the methods that no route of a path has. If a
// wildcard of another path matches the path, they name methods: ServeMux rejects a pattern
// that has more methods than a wider one.
func patterns(plain string, routes []Route, paths map[string][]Route) []string {
	wider := slices.ContainsFunc(slices.Collect(maps.Keys(paths)), func(other string) bool { return other != plain && covers(other, plain) })
	if !wider {
		return []string{plain}
	}
	var list []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions} {
		taken := func(r Route) bool {
			return r.Method == method || method == http.MethodHead && r.Method == http.MethodGet // which answers HEAD, too
		}
		if !slices.ContainsFunc(routes, taken) {
			list = append(list, method+" "+plain)
		}
	}
	return list
}

// covers reports whether wildcards of the pattern wide, each of one segment, match the other
// segments of narrow.
func covers(wide, narrow string) bool {
	a, b := strings.Split(wide, "/"), strings.Split(narrow, "/")
	return slices.EqualFunc(a, b, func(w, n string) bool {
		return w == n || strings.HasPrefix(w, "{") && w != "{$}" && !strings.HasPrefix(n, "{")
	})
}

// serve returns the handler of a route, with everything that surrounds each request.
func (m *Mux) serve(route *Route, bodies *Bodies) http.Handler {
	limit := route.MaxBody
	if limit == 0 {
		limit = DefaultMaxBody
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &Record{
			ID: requestID(r), Method: r.Method, Route: route.Pattern, Dialect: route.Dialect, Permission: route.Permission,
			Trace: traceOf(r.Header), Start: time.Now(), Header: w.Header(), maxBody: limit, lease: &lease{of: bodies}, errors: route.shape(r.Header), keepAlive: m.KeepAlive,
		}
		if m.KeepAlive > 0 {
			rec.beginning = new(sync.Mutex)
		}
		t := &tracker{w, rec}
		w.Header().Set("X-Request-Id", rec.ID)
		rec.tellID(w.Header())
		from := pageOf(r)
		refused := m.Browsers.check(r, from, route)
		m.Browsers.setCORS(w.Header(), r, from, route, refused == nil)
		if r.Method == http.MethodOptions && refused == nil {
			t.WriteHeader(http.StatusNoContent)
			return
		}
		ctx := context.WithValue(r.Context(), recordKey{}, rec)
		cut := func() { _ = http.NewResponseController(w).SetWriteDeadline(time.Now()) } // a writer without deadlines is not a connection
		r = r.WithContext(llm.WithCut(ctx, cut))
		if r.Body != nil {
			r.Body = http.MaxBytesReader(w, r.Body, limit)
		}
		if m.Begin != nil {
			m.Begin(rec)
		}
		defer m.finish(rec)
		defer rec.lease.release()
		err := refused
		if err == nil {
			err = m.call(t, r, route)
		}
		switch {
		case err == nil && rec.Status == 0:
			t.WriteHeader(http.StatusOK)
		case err != nil:
			rec.Err = brief(asError(r.Context(), err))
			if rec.Status != 0 && rec.Err.Code != Gone && w.Header().Get("Content-Length") != "" {
				panic(http.ErrAbortHandler) // the answer has a length: an error would be a part of it
			}
			answer(t, rec) // a client that left does not receive it
			if rec.Err.Code == Gone {
				rec.Status = statusGone
			}
		}
	})
}

// tellID sets the header in which the clients of a dialect look for the id of a request.
func (rec *Record) tellID(header http.Header) {
	if own, ok := rec.errors.(IDHeader); ok {
		header.Set(own.RequestIDHeader(), rec.ID)
	}
}

// call runs the guard and the handler; a panic becomes an error, with its stack for the log.
func (m *Mux) call(w http.ResponseWriter, r *http.Request, route *Route) (err error) {
	defer func() {
		switch p := recover(); {
		case p == http.ErrAbortHandler: //nolint:errorlint // net/http compares this very value
			panic(p)
		case p != nil:
			cause := fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			err = &llm.Error{Code: llm.Internal, Message: "internal error", Err: cause}
		}
	}()
	if m.Guard != nil {
		if r, err = m.Guard(r, route); err != nil {
			return err
		}
	}
	if route.Method == http.MethodGet || route.Method == http.MethodDelete {
		if err := noBody(r); err != nil {
			return err
		}
	}
	return route.Handle(w, r)
}

// asError is [llm.AsError] that also recognises clients that left. When the server
// stops, the context of a connected client is cancelled too, but with a cause.
func asError(ctx context.Context, err error) *llm.Error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return e
	}
	if !errors.Is(err, context.Canceled) {
		return llm.AsError(err)
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		return &llm.Error{Code: llm.Overloaded, Message: "the server is shutting down: try again", RetryAfter: time.Second, Err: cause}
	}
	return &llm.Error{Code: Gone, Message: "the client disconnected", Err: err}
}

// Bounds of an error's texts, in bytes.
const (
	maxParam   = 200
	maxMessage = 1000
)

// brief shortens an error that quotes the client's input, which may be megabytes.
func brief(e *llm.Error) *llm.Error {
	if len(e.Param) <= maxParam && len(e.Message) <= maxMessage {
		return e
	}
	cut := func(s string, n int) string {
		if len(s) <= n {
			return s
		}
		return strings.ToValidUTF8(s[:n], "") + "…"
	}
	short := *e
	short.Param, short.Message = cut(e.Param, maxParam), cut(e.Message, maxMessage)
	return &short
}

// answer writes the error of rec: as a status, or as the end of a stream.
func answer(w *tracker, rec *Record) {
	if rec.Status != 0 {
		if _, err := w.Write(rec.errors.InBand(rec.Err)); err == nil {
			_ = http.NewResponseController(w).Flush()
		}
		return
	}
	h := w.Header()
	if wait := rec.Err.RetryAfter; wait > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	}
	for _, key := range []string{"Cache-Control", "Content-Encoding", "Content-Length", "Etag", "Last-Modified"} {
		h.Del(key) // they were set for another answer
	}
	status, body := rec.errors.Body(rec.Err)
	if own, ok := body.(Identified); ok {
		own.SetRequestID(rec.ID)
	}
	if err := JSON(w, status, body); err != nil && rec.Status == 0 {
		w.WriteHeader(http.StatusInternalServerError) // the shape is at fault
	}
}

// finish completes the record: metrics, then the one log line.
func (m *Mux) finish(rec *Record) {
	rec.Duration = time.Since(rec.Start)
	if m.Observe != nil {
		m.Observe(rec)
	}
	if m.Log != nil {
		rec.log(m.Log)
	}
}

// log writes the log line of rec.
func (rec *Record) log(to *slog.Logger) {
	attrs := append(make([]slog.Attr, 0, 20),
		slog.String("id", rec.ID), slog.String("method", rec.Method), slog.String("route", rec.Route),
		slog.Int("status", rec.Status), slog.Int64("bytes", rec.Bytes), slog.Duration("duration", rec.Duration))
	text := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, value))
		}
	}
	text("dialect", rec.Dialect)
	text("trace", rec.Trace.ID())
	text("principal", rec.Principal)
	if rec.Model != "" {
		text("model", rec.Model)
		text("family", rec.Family)
		attrs = append(attrs, slog.Duration("first_byte", rec.FirstByte))
		if rec.FirstText > 0 {
			attrs = append(attrs, slog.Duration("first_text", rec.FirstText))
		}
		attrs = append(attrs, slog.Int("tokens_in", rec.Usage.Input), slog.Int("tokens_out", rec.Usage.Output))
		if rec.Usage.Cost.Known {
			attrs = append(attrs, slog.String("cost", rec.Usage.Cost.USD.String()))
		}
	}
	level := slog.LevelInfo
	if rec.Fallbacks != nil {
		attrs = append(attrs, slog.Any("fallbacks", rec.Fallbacks))
	}
	code, param, cause := rec.Fault()
	text("code", code)
	text("param", param)
	if text("cause", cause); cause != "" {
		level = slog.LevelError
	}
	to.LogAttrs(context.Background(), level, "request", attrs...)
}
