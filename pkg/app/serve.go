package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"glossa/pkg/account"
	"glossa/pkg/host"
	"glossa/pkg/httpx"
)

// Grace is the longest time that streams may continue after the server begins to stop.
const Grace = 30 * time.Second

// Listen listens on addr, a host and a port. Without keys, addr must be a loopback address
// unless open is set.
func (a *App) Listen(ctx context.Context, addr string, open bool) (net.Listener, error) {
	var config net.ListenConfig
	ln, err := config.Listen(ctx, "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is in use by another program: stop it or choose another port", addr)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", addr, err)
	}
	if tcp, ok := ln.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() && !a.cfg.Auth && !open {
		_ = ln.Close() // no connection was accepted
		return nil, fmt.Errorf("%s is reachable from other machines, and no key is required:"+
			" use --auth with --accounts or GLOSSA_KEYS, or --open", addr)
	}
	return ln, nil
}

// Serve answers requests on ln until ctx is done, and then lets running streams
// end within [Grace].
func (a *App) Serve(ctx context.Context, ln net.Listener, families ...string) error {
	defer a.Close()
	a.local.HoldBallast()
	cfg := a.host()
	cfg.Grace = cmp.Or(cfg.Grace, Grace)
	defer a.startBatches(ctx)()
	return host.Serve(ctx, ln, a.handler(a.browsers(ln.Addr()), families), cfg)
}

// browsers configures which web pages may use the server that listens at an address.
func (a *App) browsers(at net.Addr) httpx.Browsers {
	b := httpx.Browsers{CheckHost: !a.cfg.Auth || len(a.cfg.Hosts) > 0, Hosts: a.cfg.Hosts, Origins: a.cfg.Origins}
	if tcp, ok := at.(*net.TCPAddr); ok {
		b.Loopback = tcp.IP.IsLoopback()
	}
	if name, _, err := net.SplitHostPort(a.cfg.Listen); err == nil && httpx.CheckNames([]string{name}) == nil {
		b.Hosts = append(slices.Clone(b.Hosts), name)
	}
	return b
}

func (a *App) host() host.Config {
	cfg := a.cfg.Host
	cfg.Shutdown, cfg.Sender = a.Close, account.Address
	if a.cfg.Log != nil {
		cfg.Panicked = func(r *http.Request, value any, stack []byte) {
			a.cfg.Log.LogAttrs(r.Context(), slog.LevelError, "panic",
				slog.String("path", r.URL.Path), slog.Any("value", value), slog.String("stack", string(stack)))
		}
	}
	return cfg
}

// NewLog returns the log of a program: JSON lines, or text for a terminal.
func NewLog(w io.Writer, level slog.Level) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return slog.New(slog.NewTextHandler(w, options))
		}
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

// Main is the main function of a family's function: under Lambda it answers
// invocations, elsewhere plain HTTP on GLOSSA_LISTEN. It ends the process.
func Main(family string) {
	if err := Function(family); err != nil {
		fmt.Fprintln(os.Stderr, "glossa:", err)
		os.Exit(1)
	}
}

// Function is [Main] without its end: it returns only outside of Lambda, or if it cannot start.
func Function(family string) error {
	cfg, err := Environment()
	if err != nil {
		return err
	}
	cfg.Log = NewLog(os.Stderr, cfg.Level)
	cfg.Uploads = family == "alpha"
	if host.OnLambda(os.Getenv) {
		cfg.Metrics = os.Stdout
		if cfg.Table == "" {
			cfg.KeepResponses = -1 // the next request may come to another instance
		}
	}
	a, err := New(cfg)
	if err != nil {
		return err
	}
	if host.OnLambda(os.Getenv) {
		a.local.HoldBallast()
		go a.Report(context.Background()) // in parallel with the first request, which does not wait for it
		cfg := a.host()
		if family == "batches" && a.batches != nil {
			cfg.Event = func(ctx context.Context, payload []byte) bool {
				defer a.settle(ctx)
				return a.batches.event(ctx, payload)
			}
		}
		host.Start(a.settled(a.Handler(family)), cfg)
		return nil
	}
	a.Report(context.Background())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the process at once
	ln, err := a.Listen(ctx, cfg.Listen, !cfg.Auth)
	if err != nil {
		return err
	}
	cfg.Log.Info("serving", slog.String("address", ln.Addr().String()), slog.String("family", family))
	return a.Serve(ctx, ln, family)
}
