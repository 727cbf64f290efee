package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
	cutTimeout        = time.Second // for cut requests to notice, after the grace
)

// Serve runs h under plain net/http on ln until ctx is done, then lets running requests and streams end for up to
// cfg.Grace. Those still running then have their contexts cancelled and their connections closed, and the error says so.
// There is no write timeout: a stream may last. Serve closes ln.
func Serve(ctx context.Context, ln net.Listener, h http.Handler, cfg Config) error {
	base, cut := context.WithCancelCause(context.Background())
	defer cut(nil)
	srv := &http.Server{
		Handler:           recovered(h, cfg.Panicked),
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          log.New(io.Discard, "", 0), // panics go to the hook; the rest is clients' noise
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }() // ends with Shutdown or Close below
	select {
	case err := <-served:
		return fmt.Errorf("host: serve %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	grace := cmp.Or(cfg.Grace, defaultServeGrace)
	err := shutdown(srv, grace)
	if err != nil {
		cut(fmt.Errorf("host: stopped after a grace of %v", grace))
		if shutdown(srv, cutTimeout) != nil {
			err = errors.Join(err, srv.Close())
		}
		err = fmt.Errorf("host: requests were cut after a grace of %v: %w", grace, err)
	}
	<-served
	return err
}

func shutdown(srv *http.Server, grace time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	return srv.Shutdown(ctx)
}

// recovered stops the panics of h: before it has written a panic becomes a 500, after that the connection is cut.
func recovered(h http.Handler, hook func(*http.Request, any, []byte)) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w := &plainWriter{ResponseWriter: rw}
		defer func() {
			value := recover()
			if value == nil {
				return
			}
			report(hook, r, value)
			if w.wrote || value == http.ErrAbortHandler {
				panic(http.ErrAbortHandler)
			}
			clear(rw.Header())
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(rw, errorBody(internalError)) // a client that is gone gets no answer
		}()
		h.ServeHTTP(w, r)
	})
}

// plainWriter knows whether the handler has begun its answer.
type plainWriter struct {
	http.ResponseWriter
	wrote bool
}

// WriteHeader begins the answer; informational statuses do not.
func (w *plainWriter) WriteHeader(status int) {
	w.wrote = w.wrote || status >= 200
	w.ResponseWriter.WriteHeader(status)
}

// Write begins or continues the answer.
func (w *plainWriter) Write(p []byte) (int, error) {
	w.wrote = true
	return w.ResponseWriter.Write(p)
}

// Flush sends what was written.
func (w *plainWriter) Flush() { _ = w.FlushError() } // http.Flusher has no error; the next Write returns it

// FlushError is Flush with the reason why it failed.
func (w *plainWriter) FlushError() error {
	w.wrote = true
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap lets http.ResponseController reach the server's writer.
func (w *plainWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
