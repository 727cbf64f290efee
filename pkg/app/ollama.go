package app

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"strings"
	"time"

	"glossa/pkg/account"
	"glossa/pkg/dialect/ollama"
	"glossa/pkg/host"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// ollama returns the routes of Ollama's dialect.
func (a *App) ollama() []httpx.Route {
	return ollama.Routes(ollama.Config{
		Models: a.Models(),
		Held: func() map[string]time.Time {
			leaves := map[string]time.Time{}
			for _, held := range a.catalog.Held() {
				leaves[held.Name] = held.Leaves
			}
			return leaves
		},
		Keep: func(ctx context.Context, name string, idle time.Duration) error {
			if p, ok := account.PrincipalOf(ctx); ok && p.Role != account.Admin {
				return nil // others use the model too
			}
			return a.catalog.Keep(ctx, name, idle)
		},
	})
}

// ollamaVersion is the version of Ollama whose API is served. GitHub Copilot refuses versions before
// 0.6.4, and Open WebUI fails if it is not made of numbers. This is the first one with all of our paths
// below /v1.
const ollamaVersion = "0.14.2"

// ServeOllama answers Ollama's API alone, whole, as [App.Serve] answers all others: on ln, where
// no other dialect has its paths.
func (a *App) ServeOllama(ctx context.Context, ln net.Listener) error {
	cfg := a.host()
	cfg.Grace = cmp.Or(cfg.Grace, Grace)
	return host.Serve(ctx, ln, a.mux(a.browsers(ln.Addr()), a.ollamaRoutes(), ollama.Errors).Handler(), cfg)
}

// ollamaRoutes returns the routes of a port of Ollama: its own, and below /v1 those of the dialects that
// it speaks too.
func (a *App) ollamaRoutes() []httpx.Route {
	routes := append(a.own("ollama"),
		httpx.Route{Method: http.MethodGet, Pattern: "/api/version", Permission: httpx.Public, Errors: ollama.Errors, Handle: tellOllamaVersion},
		httpx.Route{Method: http.MethodGet, Pattern: "/{$}", Permission: httpx.Public, Errors: ollama.Errors, Handle: greetOllama},
	)
	for _, family := range []string{"openai", "embeddings", "responses", "messages"} {
		for _, r := range a.routes(family) {
			if strings.HasPrefix(r.Pattern, "/v1/") {
				routes = append(routes, r)
			}
		}
	}
	return routes
}

func tellOllamaVersion(w http.ResponseWriter, _ *http.Request) error {
	return httpx.JSON(w, http.StatusOK, map[string]string{"version": ollamaVersion})
}

// greetOllama says what clients of Ollama look for at the root.
func greetOllama(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if _, err := w.Write([]byte("Ollama is running")); err != nil {
		return &llm.Error{Code: httpx.Gone, Message: "the client disconnected", Err: err}
	}
	return nil
}
