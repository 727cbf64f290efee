// Package app is the wiring: from the environment to the catalog, the dialects and the one
// route table. It is the only reader of the environment. It knows all packages, and leaves
// the work to them.
package app

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"glossa/pkg/account"
	"glossa/pkg/catalog"
	"glossa/pkg/dialect/alephalpha"
	"glossa/pkg/dialect/anthropic"
	"glossa/pkg/dialect/invoke"
	"glossa/pkg/dialect/lamini"
	"glossa/pkg/dialect/openai"
	"glossa/pkg/dialect/responses"
	"glossa/pkg/dialect/textsynth"
	"glossa/pkg/engine"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/sealed"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/grammar"
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/local"
	"glossa/pkg/memory"
	"glossa/pkg/meter"
	"glossa/pkg/meter/activity"
	"glossa/pkg/meter/budget"
	"glossa/pkg/meter/traces"
	"glossa/pkg/page"
	"glossa/pkg/publish"
	"glossa/pkg/resilience"
	"glossa/pkg/secret"
)

// App answers requests: it has the catalog, the accounts and the dialects.
type App struct {
	cfg      Config
	accounts *account.Accounts
	budgets  *budget.Budgets
	kernels  *kernel.Kernels
	queue    *engine.Queue
	turns    *grammar.Turns
	bodies   *httpx.Bodies // shared by all handlers
	catalog  *catalog.Catalog
	answers  resilience.Store
	secrets  *secret.Store
	batches  *batchWork                     // nil: there are none
	archive  responses.Store                // nil: responses are not stored
	store    func() (*publish.Store, error) // nil: uploads are rejected
	cloud    *cloud
	local    *local.Loader      // of the models in this process
	root     catalog.Root       // of cfg.Checkpoints; the zero value: there is none
	archived *sealed.Archive    // computed prompts; nil: they end with the process
	meter    Meter              // nil: none
	activity *activity.Activity // nil: not measured
	traces   *traces.Traces     // nil: there are none
}

// New wires cfg. Models are listed and opened by the first requests for them.
func New(cfg Config) (*App, error) {
	if cfg.HeapLimit > 0 {
		debug.SetMemoryLimit(cfg.HeapLimit) // otherwise the heap grows to twice its live bytes
	}
	cloud := newCloud(cfg)
	accounts, budgets, err := accounts(cfg, cloud.table)
	if err != nil {
		return nil, err
	}
	a := &App{cfg: cfg, accounts: accounts, budgets: budgets, cloud: cloud, secrets: &secret.Store{Getenv: cfg.Getenv, Fetch: cloud.secret}}
	if cfg.Getenv == nil {
		a.secrets.Getenv = func(string) string { return "" }
	}
	if a.kernels, err = kernels(cfg.Kernel); err != nil {
		return nil, err
	}
	if cfg.Quant != "" && !slices.Contains(catalog.Quants(), cfg.Quant) {
		return nil, fmt.Errorf("GLOSSA_QUANT must be one of %s, not %q", strings.Join(catalog.Quants(), ", "), cfg.Quant)
	}
	workers := cfg.Workers
	if workers == 0 {
		workers = DefaultWorkers
	}
	a.bodies = &httpx.Bodies{Total: cfg.BodyMemory}
	a.queue = engine.NewQueue(workers, WaitingPerWork*workers, int64(workers)*cfg.RequestMemory)
	a.turns = grammar.NewTurns(runtime.GOMAXPROCS(0) / 2) // the other half generates
	if a.archived, err = a.openPrefixes(); err != nil {
		return nil, err
	}
	a.local = local.New(local.Config{
		Kernels: a.kernels, Team: transformer.NewTeam(cmp.Or(cfg.Threads, runtime.GOMAXPROCS(0))), Queue: a.queue, Turns: a.turns,
		Quant: cfg.Quant, Memory: cfg.Memory, RequestMemory: cfg.RequestMemory, Prefixes: engine.NewPrefixMemory(a.prefixMemory),
		Archive: a.archived, Bucket: cloud.files,
	})
	roots, err := a.roots()
	if err != nil {
		return nil, err
	}
	if a.store, err = uploads(a.cfg, cloud); err != nil {
		return nil, err
	}
	source, starters, err := records(cfg, cloud.table)
	if err != nil {
		return nil, err
	}
	a.catalog = catalog.New(catalog.Config{
		Source: source, Local: starters, Roots: roots, Loader: a.local, Drafts: cfg.Drafts,
		Openers:  map[string]catalog.Opener{catalog.Bedrock: a.openBedrock, catalog.SageMaker: a.openSageMaker, catalog.OpenAI: a.openUpstream},
		Standard: standard(),
		Memory:   cfg.Memory, Log: cfg.Log, ListedOnly: cfg.ListedOnly || cfg.Table == "" && cfg.Records == nil,
	})
	if a.archive, err = archived(cfg, cloud.table); err != nil {
		return nil, err
	}
	if a.batches, err = a.openBatches(); err != nil {
		return nil, err
	}
	if cfg.Meter != nil {
		a.meter = cfg.Meter(Measured{Queue: a.queue.Stats, Known: a.known, Experts: a.experts})
	}
	a.activity = a.newActivity(workers)
	if a.traces, err = a.openTraces(); err != nil {
		return nil, err
	}
	return a, nil
}

// prefixMemory returns the memory that computed prompts may take now.
func (a *App) prefixMemory() int64 {
	open := int64(0)
	for _, m := range a.catalog.Held() {
		open += m.Bytes
	}
	request := cmp.Or(a.cfg.RequestMemory, engine.DefaultMaxMemory)
	return cmp.Or(memory.Prefixes(a.cfg.Memory, open, request), request/8)
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

// roots returns the directories of models: the starters, those that nothing changes, and the
// checkpoints as a.root.
func (a *App) roots() (roots []catalog.Root, err error) {
	if a.cfg.Starters != nil {
		roots = append(roots, catalog.Root{Name: "starters", FS: a.cfg.Starters, Fixed: true})
	}
	if a.cfg.Models != "" {
		root, err := a.local.Root(a.cfg.Models)
		if err != nil {
			return nil, fmt.Errorf("GLOSSA_MODELS: %w", err)
		}
		root.Fixed = true
		roots = append(roots, root)
	}
	if a.cfg.Checkpoints != "" {
		if a.root, err = a.local.Root(a.cfg.Checkpoints); err != nil {
			return nil, err
		}
		a.cfg.Checkpoints = a.root.Name
		roots = append(roots, a.root)
	}
	return roots, nil
}

// Catalog returns the catalog, for the operator.
func (a *App) Catalog() *catalog.Catalog { return a.catalog }

// Models returns the models for requests, of which each sender sees those that it may use. It
// defines the order of the interceptors, the outermost first: the budget pays for the tokens
// that the meter counts; the meter counts the final answer, whichever model gave it;
// fallbacks, of the same catalog, answer for a model that fails; each model has its own kept
// answers, which stay when it fails, and its own prices.
func (a *App) Models() llm.Models {
	return account.ModelsFor(a.budgets.Models(meter.Models(resilience.Models(a.catalog, a.openEntry, resilience.Keep(&a.answers)))))
}

// A family is a dialect, or a part of one, and the function that serves it, with its routes.
type family struct {
	name    string
	dialect string
	routes  func(a *App) []httpx.Route
}

// families is the list of families: a new dialect is a row here, its package, and its
// function in functions/NAME. OpenAI's has three, so that a deployment sizes and scales
// encoders, and what works in the background, apart from the models that clients wait for.
func families() []family {
	return []family{
		{"openai", "openai", func(a *App) []httpx.Route { return openai.GenerationRoutes(openai.Config{Models: a.Models()}) }},
		{"embeddings", "openai", func(a *App) []httpx.Route { return openai.EmbeddingRoutes(openai.Config{Models: a.Models()}) }},
		{"responses", "responses", (*App).responses},
		{"batches", "openai", (*App).batchRoutes},
		{"messages", "anthropic", func(a *App) []httpx.Route { return anthropic.Routes(anthropic.Config{Models: a.Models()}) }},
		{"ollama", "ollama", (*App).ollama},
		{"alpha", "alpha", (*App).alpha},
		{"textsynth", "textsynth", func(a *App) []httpx.Route { return textsynth.Routes(textsynth.Config{Models: a.Models()}) }},
		{"alephalpha", "alephalpha", (*App).alephalpha},
		{"lamini", "lamini", func(a *App) []httpx.Route { return lamini.Routes(lamini.Config{Models: a.Models()}) }},
		{"invoke", "invoke", func(a *App) []httpx.Route {
			return invoke.Routes(invoke.Config{Models: a.Models(), IgnoreUnmapped: a.cfg.IgnoreUnmapped, EmptyLines: a.cfg.EmptyLines})
		}},
	}
}

// CatchAll is the family whose function answers unknown paths, of all families.
const CatchAll = "alephalpha"

// Families returns the names of the families of routes, one for each function.
func Families() (names []string) {
	for _, f := range families() {
		names = append(names, f.name)
	}
	return names
}

// Dialects returns the names of the dialects that the families speak, which requests are measured by.
func Dialects() (names []string) {
	for _, f := range families() {
		if !slices.Contains(names, f.dialect) {
			names = append(names, f.dialect)
		}
	}
	return names
}

// own returns the routes of a family without those that it shares, with their dialect.
func (a *App) own(name string) []httpx.Route {
	for _, f := range families() {
		if f.name == name {
			routes := f.routes(a)
			for i := range routes {
				routes[i].Dialect = f.dialect
			}
			return routes
		}
	}
	panic("app: unknown family " + name) // a bug
}

// alephalpha returns the routes of Aleph Alpha's dialect, with logins if there are users.
func (a *App) alephalpha() []httpx.Route {
	cfg := alephalpha.Config{Models: a.Models()}
	if a.users() {
		cfg.Login = a.login
	}
	return alephalpha.Routes(cfg)
}

// Routes returns the one route table: the routes of the families, of all families if none is
// named, and those of every program.
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
	if a.activity != nil {
		routes = append(routes, a.activity.Routes()...)
	}
	routes = append(routes, a.budgets.Routes()...)
	routes = append(routes, versionRoute())
	routes = append(routes, a.healthRoutes()...)
	return append(routes, a.description(routes, func() []httpx.Route { return a.Routes() }))
}

// Handler serves the routes of the families, by default of all, behind a gateway that
// routes by host name.
func (a *App) Handler(families ...string) http.Handler {
	return a.handler(httpx.Browsers{CheckHost: len(a.cfg.Hosts) > 0, Hosts: a.cfg.Hosts, Origins: a.cfg.Origins}, families)
}

func (a *App) handler(browsers httpx.Browsers, families []string) http.Handler {
	mux := a.mux(browsers, a.Routes(families...), alephalpha.Errors) // whose clients look at the root
	if slices.Equal(families, []string{CatchAll}) {
		mux.Known = a.Routes()
	}
	return mux.Handler()
}

// mux serves routes; paths that are like none are answered with an error of the shape fallback.
func (a *App) mux(browsers httpx.Browsers, routes []httpx.Route, fallback httpx.Errors) *httpx.Mux {
	mux := &httpx.Mux{Routes: routes, Fallback: fallback, Browsers: browsers, Guard: a.guard, Bodies: a.bodies, KeepAlive: a.keepAlive()}
	mux.Begin = a.begin
	mux.Observe, mux.Log = a.observers()
	return mux
}

// keepAlive returns the silence after which a stream sends a keep-alive; none if it is not
// positive.
func (a *App) keepAlive() time.Duration { return cmp.Or(a.cfg.KeepAlive, DefaultKeepAlive) }

// Report logs the served models. The catalog logs the others.
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
