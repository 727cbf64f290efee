package app

import (
	"cmp"
	"context"
	"net"
	"net/http"

	"glossa/pkg/dialect/ollama"
	"glossa/pkg/host"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// ollama returns the routes of Ollama's dialect.
func (a *App) ollama() []httpx.Route {
	return ollama.Routes(ollama.Config{Models: a.Models(), Held: func() (names []string) {
		for _, held := range a.catalog.Held() {
			names = append(names, held.Name)
		}
		return names
	}})
}

// ServeOllama answers Ollama's API alone, whole, as [App.Serve] answers all others: on ln, where
// no other dialect has its paths.
func (a *App) ServeOllama(ctx context.Context, ln net.Listener) error {
	cfg := a.host()
	cfg.Grace = cmp.Or(cfg.Grace, Grace)
	routes := append(a.own("ollama"), versionRoute(), httpx.Route{Method: http.MethodGet, Pattern: "/{$}", Permission: httpx.Public, Errors: ollama.Errors, Handle: greetOllama})
	return host.Serve(ctx, ln, a.mux(a.browsers(ln.Addr()), routes, ollama.Errors).Handler(), cfg)
}

// greetOllama says what clients of Ollama look for at the root.
func greetOllama(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if _, err := w.Write([]byte("Ollama is running")); err != nil {
		return &llm.Error{Code: httpx.Gone, Message: "the client disconnected", Err: err}
	}
	return nil
}
