// Package app is the wiring: from the environment to the catalog, the dialects and
// the one route table, and the only reader of the environment. It knows everybody
// and does nothing itself.
package app

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"glossa/pkg/account"
	"glossa/pkg/catalog"
	"glossa/pkg/dialect/alephalpha"
	"glossa/pkg/dialect/invoke"
	"glossa/pkg/dialect/lamini"
	"glossa/pkg/dialect/openai"
	"glossa/pkg/dialect/textsynth"
	"glossa/pkg/engine"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/grammar"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/meter"
	"glossa/pkg/meter/budget"
	"glossa/pkg/page"
	"glossa/pkg/publish"
	"glossa/pkg/resilience"
)

// App is everything that answers requests.
type App struct {
	cfg      Config
	accounts *account.Accounts
	budgets  *budget.Budgets
	kernels  *kernel.Kernels
	team     *transformer.Team
	quant    string
	queue    *engine.Queue
	turns    *grammar.Turns
	bodies   *httpx.Bodies // of all handlers
	catalog  *catalog.Catalog
	answers  resilience.Store
	store    func() (*publish.Store, error) // nil: uploads are refused
	cloud    *cloud
	shelves  *shelves
	meter    Meter // nil: none

	ballast atomic.Pointer[[]byte]
}

// New wires cfg. Models are looked for, and opened, when they are asked for.
func New(cfg Config) (*App, error) {
	limitHeap(cfg)
	cloud := newCloud(cfg)
	accounts, budgets, err := accounts(cfg, cloud.table)
	if err != nil {
		return nil, err
	}
	if cfg.Checkpoints != "" && !inS3(cfg.Checkpoints) { // absolute, it cannot be the name of the starters' root
		if cfg.Checkpoints, err = filepath.Abs(cfg.Checkpoints); err != nil {
			return nil, fmt.Errorf("checkpoints directory: %w", err)
		}
	}
	a := &App{cfg: cfg, accounts: accounts, budgets: budgets, cloud: cloud, shelves: &shelves{cloud: cloud, ahead: ahead{memory: cfg.Memory}}}
	if a.kernels, err = kernels(cfg.Kernel); err != nil {
		return nil, err
	}
	a.team = transformer.NewTeam(cmp.Or(cfg.Threads, runtime.GOMAXPROCS(0)))
	if a.quant = cmp.Or(cfg.Quant, "stored"); !slices.Contains(catalog.Quants(), a.quant) {
		return nil, fmt.Errorf("GLOSSA_QUANT is %q: none of %s", a.quant, strings.Join(catalog.Quants(), ", "))
	}
	workers := cfg.Workers
	if workers == 0 {
		workers = DefaultWorkers
	}
	a.bodies = &httpx.Bodies{Total: cfg.BodyMemory}
	a.queue = engine.NewQueue(workers, WaitingPerWork*workers, int64(workers)*cfg.RequestMemory)
	a.turns = grammar.NewTurns(runtime.GOMAXPROCS(0) / 2) // the other half generates
	roots, err := roots(cfg, a.shelves)
	if err != nil {
		return nil, err
	}
	if a.store, err = uploads(cfg, cloud); err != nil {
		return nil, err
	}
	source, local, err := records(cfg, cloud.table)
	if err != nil {
		return nil, err
	}
	a.catalog = catalog.New(catalog.Config{
		Source: source, Local: local, Roots: roots, Scan: (&scanner{quant: a.quant, shelves: a.shelves}).scan, Remote: a.shelves.model, Expect: a.shelves.ahead.expect,
		Openers: map[string]catalog.Opener{
			catalog.Local: a.openLocal, catalog.Bedrock: a.openBedrock, catalog.SageMaker: a.openSageMaker,
		},
		Memory: cfg.Memory, Log: cfg.Log, ListedOnly: cfg.ListedOnly || cfg.Table == "" && cfg.Records == nil,
	})
	if cfg.Meter != nil {
		a.meter = cfg.Meter(a.queue.Stats, a.known)
	}
	return a, nil
}

func kernels(name string) (*kernel.Kernels, error) {
	if name == "" {
		return kernel.Best(), nil
	}
	k, err := kernel.ByName(name)
	if err != nil {
		return nil, fmt.Errorf("GLOSSA_KERNEL: %w", err)
	}
	return k, nil
}

// roots returns where runs are looked for.
func roots(cfg Config, s *shelves) (roots []catalog.Root, err error) {
	if cfg.Starters != nil {
		roots = append(roots, catalog.Root{Name: "starters", FS: cfg.Starters, Fixed: true})
	}
	switch dir := cfg.Checkpoints; {
	case inS3(dir):
		place, err := s.below(dir)
		if err != nil {
			return nil, fmt.Errorf("checkpoints: %w", err)
		}
		roots = append(roots, catalog.Root{Name: rootName(dir), FS: place})
	case dir != "":
		info, err := os.Stat(dir)
		switch {
		case err != nil:
			return nil, fmt.Errorf("checkpoints directory: %w", err)
		case !info.IsDir():
			return nil, fmt.Errorf("checkpoints directory %s: it is a file", dir)
		}
		roots = append(roots, catalog.Root{Name: dir, FS: os.DirFS(dir)})
	}
	return roots, nil
}

// Catalog returns the catalog, for the operator.
func (a *App) Catalog() *catalog.Catalog { return a.catalog }

// Models returns the models as requests see them. It decides the order of the interceptors,
// the outermost first: the budget pays for what the meter counts; the meter counts the
// answer that is given out, whichever model gave it; fallbacks, of the same catalog, answer
// for a model that fails; and each model has its own kept answers, which stay when it fails.
func (a *App) Models() llm.Models {
	return a.budgets.Models(meter.Models(resilience.Models(a.catalog, a.openEntry, resilience.Keep(&a.answers))))
}

// Families returns the names of the families of routes, one for each function.
func Families() []string {
	return []string{"openai", "alpha", "textsynth", "alephalpha", "lamini", "invoke"}
}

// dialect returns the routes of a family's dialect.
func (a *App) dialect(name string) []httpx.Route {
	switch name {
	case "openai":
		return openai.Routes(openai.Config{Models: a.Models()})
	case "alpha":
		return a.alpha()
	case "alephalpha":
		cfg := alephalpha.Config{Models: a.Models()}
		if a.users() {
			cfg.Login = a.login
		}
		return alephalpha.Routes(cfg)
	case "textsynth":
		return textsynth.Routes(textsynth.Config{Models: a.Models()})
	case "lamini":
		return lamini.Routes(lamini.Config{Models: a.Models()})
	case "invoke":
		return invoke.Routes(invoke.Config{Models: a.Models(), IgnoreUnmapped: a.cfg.IgnoreUnmapped, EmptyLines: a.cfg.EmptyLines})
	}
	panic("app: there is no family " + name) // a fault of the program
}

// Routes is the one route table: what the families serve, all of them if none is
// named, and what every program serves.
func (a *App) Routes(families ...string) []httpx.Route {
	if len(families) == 0 {
		families = Families()
	}
	var routes []httpx.Route
	for _, name := range families {
		routes = append(routes, a.routes(name)...)
	}
	if slices.Contains(families, "alpha") {
		routes = append(routes, page.Routes(page.Config{Elsewhere: len(families) == 1})...)
	}
	if a.meter != nil {
		routes = append(routes, a.meter.Routes()...)
	}
	routes = append(routes, a.budgets.Routes()...)
	routes = append(routes, httpx.Route{
		Method: http.MethodGet, Pattern: "/health", Permission: httpx.Public, Doc: healthDoc, Handle: health,
	})
	return append(routes, description(routes, func() []httpx.Route { return a.Routes() }))
}

func health(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, err := w.Write([]byte("Ok"))
	if err != nil {
		return &llm.Error{Code: httpx.Gone, Message: "the client left", Err: err}
	}
	return nil
}

// Handler serves the routes of the families, all of them if none is named, behind a
// gateway that finds them by the host's name.
func (a *App) Handler(families ...string) http.Handler {
	return a.handler(httpx.Browsers{CheckHost: len(a.cfg.Hosts) > 0, Hosts: a.cfg.Hosts, Origins: a.cfg.Origins}, families)
}

func (a *App) handler(browsers httpx.Browsers, families []string) http.Handler {
	mux := httpx.Mux{
		Routes:   a.Routes(families...),
		Fallback: alephalpha.Errors, // of paths at the root, where its clients look
		Browsers: browsers,
		Guard:    a.guard,
		Bodies:   a.bodies,
	}
	mux.Observe, mux.Log = a.observers()
	return mux.Handler()
}

// Report logs what is served. The catalog logs what is not.
func (a *App) Report(ctx context.Context) {
	if a.cfg.Log == nil {
		return
	}
	entries, _ := a.catalog.Entries(ctx)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	a.cfg.Log.LogAttrs(ctx, slog.LevelInfo, "models",
		slog.String("names", strings.Join(names, " ")), slog.String("kernel", a.kernels.Name()))
}
