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
	cutTimeout        = time.Second            // for cancelled requests to end, after the grace
	silenceTimeout    = 200 * time.Millisecond // for connections without a request, once ctx is done
	stallBytes        = 64 << 10               // of an answer within Config.Stall
)

// Serve runs h under plain net/http on ln until ctx is done, then lets running requests and streams end for up to
// cfg.Grace. Those still running then have their contexts cancelled and their connections closed, and the error says so.
// A stream may last for as long as its client reads it. Serve closes ln.
func Serve(ctx context.Context, ln net.Listener, h http.Handler, cfg Config) error {
	base, cut := context.WithCancelCause(context.Background())
	defer cut(nil)
	var silent unusedConns
	srv := &http.Server{
		Handler:           recovered(h, cfg),
		ConnState:         silent.state,
		ReadTimeout:       cmp.Or(cfg.BodyTimeout, defaultBodyTimeout),
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          log.New(io.Discard, "", 0), // panics go to the hook; the rest is noise from clients
	}
	sender := cfg.Sender
	if sender == nil {
		sender = remoteHost
	}
	ln = share(ln, cmp.Or(cfg.Connections, defaultConnections), sender)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }() // ends with Shutdown or Close below
	select {
	case err := <-served:
		return fmt.Errorf("host: serve %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	defer time.AfterFunc(silenceTimeout, silent.end).Stop()
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

// remoteHost returns an address without its port.
func remoteHost(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	return host
}

func shutdown(srv *http.Server, grace time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	return srv.Shutdown(ctx)
}

// recovered recovers panics of h: before any output a panic becomes a 500, after that the connection is closed.
func recovered(h http.Handler, cfg Config) http.Handler {
	stall := cmp.Or(cfg.Stall, defaultStall)
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w := &plainWriter{ResponseWriter: rw, stall: stall}
		defer func() {
			w.extend() // for the bytes that the server still has to send
			value := recover()
			if value == nil {
				return
			}
			report(cfg.Panicked, r, value)
			if w.wrote || value == http.ErrAbortHandler {
				panic(http.ErrAbortHandler)
			}
			clear(rw.Header())
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(rw, errorBody(internalError)) // a client that is gone receives no answer
		}()
		h.ServeHTTP(w, r)
	})
}
