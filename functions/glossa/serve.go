package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"glossa/pkg/app"
	"glossa/pkg/catalog"
	"glossa/pkg/httpx"
	"glossa/pkg/memory"
	"glossa/pkg/meter/emf"
	"glossa/pkg/meter/prom"
	"glossa/pkg/starter"
)

// serveOptions holds the flags of glossa serve, each of which is also a setting.
type serveOptions struct {
	host, ollama        string
	batches             string
	prefixes, kept      string
	issuers             string
	port, workers       int
	checkpoints, table  string
	memory, quant       string
	drafts              string
	auth, open          bool
	accounts, namespace string
	hosts, origins      string
	logLevel, logFormat string
	keepAlive           time.Duration
}

// flags adds the flags.
func (o *serveOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.host, "host", "localhost", "`address` to listen on; localhost is 127.0.0.1, reachable only from this machine")
	f.IntVar(&o.port, "port", 8080, "port to listen on; 0 chooses a free one")
	f.StringVar(&o.ollama, "ollama", "", "`address` on which to serve Ollama's API alone, such as localhost:11434, with its paths of /v1, for clients that need all of them")
	f.StringVar(&o.checkpoints, "checkpoints", "", "`directory` of models, or s3://bucket/prefix, served in addition to the starters; uploads are stored there (default the models of glossa pull and glossa run, without uploads)")
	f.StringVar(&o.batches, "batches", "", "`directory` of uploaded files and of batches, or none (default batches, next to the file of --accounts or the user's models)")
	f.StringVar(&o.prefixes, "prefixes", "", "`directory` or s3://bucket/prefix that keeps the beginnings which prompts have in common, encrypted, so that they need not be computed after a restart or by another server (default none)")
	f.StringVar(&o.kept, "prefixes-size", "4GiB", "maximum `size` of the directory of --prefixes; the least recently used prefixes are removed first")
	f.StringVar(&o.table, "table-name", "", tableUsage)
	f.IntVar(&o.workers, "workers", app.DefaultWorkers, "concurrent generations; further requests wait in a queue")
	f.StringVar(&o.memory, "memory", "", memoryUsage)
	f.StringVar(&o.quant, "quant", "", "`format` of weights in memory: "+strings.Join(catalog.Quants(), ", ")+" (default stored)")
	f.StringVar(&o.drafts, "drafts", "", "draft models of local models whose records name none: a `list` such as Qwen3-4B=Qwen3-0.6B, separated by commas")
	f.BoolVar(&o.auth, "auth", false, "require a key on all but the public routes: one of --accounts, of the table, of GLOSSA_KEYS or UPLOAD_SECRET")
	f.BoolVar(&o.open, "open", false, "serve other machines without requiring a key")
	f.StringVar(&o.accounts, "accounts", "", "`file` of users and API keys, see glossa user and glossa key")
	f.StringVar(&o.issuers, "issuers", "", "`file` of OpenID Connect providers whose tokens --auth accepts, or the JSON list itself")
	f.StringVar(&o.namespace, "namespace", "", "write metrics in CloudWatch's embedded format with this namespace to the standard output, instead of log lines")
	f.StringVar(&o.hosts, "hosts", "", "`names` of the server, separated by commas; without keys the server answers only these, localhost and IP addresses; * for all")
	f.StringVar(&o.origins, "origins", "", "`URLs` of other web pages that may use the server, separated by commas, such as https://app.example.com; * for all")
	f.DurationVar(&o.keepAlive, "keep-alive", app.DefaultKeepAlive, "silence after which a stream sends a keep-alive, a `time` such as 30s; 0: it sends none")
	f.StringVar(&o.logLevel, "log-level", "info", "`level` of the least important log lines: debug, info, warn or error")
	f.StringVar(&o.logFormat, "log-format", logFormats()[0], "`form` of log lines: "+strings.Join(logFormats(), ", ")+"; auto is text on a terminal and JSON elsewhere")
	withVariables(f, serveSettings(f)...)
}

// serveSettings returns the names of the flags that are settings.
func serveSettings(f *pflag.FlagSet) (names []string) {
	for _, s := range allSettings() {
		if f.Lookup(s.name) != nil {
			names = append(names, s.name)
		}
	}
	return names
}

// serveCommand returns glossa serve.
func (p *program) serveCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "serve", Short: "Serve the models over HTTP",
		Long: `Serve the starter models, and those that glossa pull and glossa run downloaded
or those of --checkpoints, over HTTP until a signal. Every flag can also be set
by its environment variable or in the file of settings, see glossa config.`,
		Example: `  glossa serve
  glossa serve --checkpoints runs --port 9000
  glossa serve --host 0.0.0.0 --auth --accounts accounts.json
  glossa serve --checkpoints s3://bucket/models --table-name glossa`,
		Args: positional(0),
	}
	o := &serveOptions{}
	o.flags(c.Flags())
	completeWords(c, "quant", catalog.Quants()...)
	completeWords(c, "log-level", "debug", "info", "warn", "error")
	completeWords(c, "log-format", logFormats()...)
	completeDirectory(c, "checkpoints")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := p.settings.fill(c.Flags(), serveSettings(c.Flags())); err != nil {
			return err
		}
		if err := o.check(&p.settings, c.Flags()); err != nil {
			return err
		}
		return p.serve(c.Context(), o)
	}
	return c
}

// check checks the flags. Of --auth and --open the one of the higher source prevails.
func (o *serveOptions) check(s *settings, f *pflag.FlagSet) error {
	switch auth, open := s.source(f.Lookup("auth")), s.source(f.Lookup("open")); {
	case !o.auth || !o.open:
	case auth == open:
		return usagef("--auth and --open cannot be used together")
	default:
		o.auth, o.open = auth > open, open > auth
	}
	switch {
	case o.workers < 1:
		return wrongSetting(s, f, "workers", "must be a positive integer")
	case o.port < 0 || o.port > 65535:
		return wrongSetting(s, f, "port", "must be between 0 and 65535")
	}
	return nil
}

// wrongSetting returns the error of a flag's value. It names the place where the value is.
func wrongSetting(s *settings, f *pflag.FlagSet, name, must string) error {
	err := fmt.Errorf("%s, not %s", must, f.Lookup(name).Value)
	switch s.source(f.Lookup(name)) {
	case fromEnvironment:
		return fmt.Errorf("%s %w", variable(name), err)
	case fromFile:
		path, _ := s.configFile()
		return fmt.Errorf("%s: %s %w", path, name, err)
	}
	return usagef("--%s %w", name, err)
}

// configure returns the configuration of a server.
func (o *serveOptions) configure(p *program) (cfg app.Config, err error) {
	if o.checkpoints == "" {
		p.makeHome()
	}
	if cfg, err = p.configure(o.checkpoints); err != nil {
		return cfg, err
	}
	cfg.Auth, cfg.Accounts = o.auth, o.accounts
	if cfg.Issuers = nil; o.issuers != "" {
		if cfg.Issuers, err = app.ReadIssuers(o.issuers); err != nil {
			return cfg, usagef("--issuers: %w", err)
		}
	}
	cfg.Prefixes = o.prefixes
	if cfg.PrefixesSize, err = memory.ParseSize(o.kept); err != nil || cfg.PrefixesSize == 0 {
		return cfg, usagef("--prefixes-size: %q must be a size such as 4GiB", o.kept)
	}
	cfg.Uploads = o.checkpoints != "" // clients write only where the operator says
	cfg.Table, cfg.Listen = o.table, net.JoinHostPort(o.host, strconv.Itoa(o.port))
	if o.quant != "" && !isFormat(o.quant) {
		return cfg, usagef("--quant: %q must be %s", o.quant, strings.Join(catalog.Quants(), ", "))
	}
	cfg.Workers, cfg.Quant = o.workers, o.quant
	if err := readMemory(o.memory, &cfg); err != nil {
		return cfg, err
	}
	cfg.RequestMemory = memory.Detect("").Request(cfg.Memory, cfg.Workers)
	if cfg.Hosts, err = app.ParseList(o.hosts, httpx.CheckNames); err != nil {
		return cfg, usagef("--hosts: %w", err)
	}
	if cfg.Origins, err = app.ParseList(o.origins, httpx.CheckOrigins); err != nil {
		return cfg, usagef("--origins: %w", err)
	}
	if cfg.KeepAlive, err = app.ParseKeepAlive(o.keepAlive); err != nil {
		return cfg, usagef("--keep-alive: %w", err)
	}
	if cfg.Drafts, err = app.ParseDrafts(o.drafts); err != nil {
		return cfg, usagef("--drafts: %w", err)
	}
	if cfg.Namespace = o.namespace; cfg.Namespace != "" {
		if err := emf.CheckNamespace(cfg.Namespace); err != nil {
			return cfg, usagef("--namespace: %w", err)
		}
		cfg.Metrics = p.stdout
	}
	if err := cfg.Level.UnmarshalText([]byte(o.logLevel)); err != nil {
		return cfg, usagef("--log-level: %q must be debug, info, warn or error", o.logLevel)
	}
	if cfg.Log, err = newLog(p.stderr, o.logFormat, cfg.Level); err != nil {
		return cfg, usageError{err}
	}
	if cfg.Batches, err = o.batchesDir(p); err != nil {
		cfg.Log.Warn("no batches: --batches names another directory, or none", slog.Any("error", err))
	}
	return cfg, nil
}

// batchesDir returns the directory of batches, "" if there is none. A server whose file system
// is read-only works without, and err says why.
func (o *serveOptions) batchesDir(p *program) (dir string, err error) {
	switch o.batches {
	case "none":
		return "", nil
	case "":
	default:
		return o.batches, nil
	}
	parent := filepath.Dir(o.accounts)
	if o.accounts == "" {
		models, err := p.modelsHome()
		if err != nil {
			return "", err
		}
		parent = filepath.Dir(models)
	}
	dir = filepath.Join(parent, "batches")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	probe, err := os.CreateTemp(dir, ".writable-*")
	if err != nil {
		return "", err
	}
	return dir, errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// serve answers HTTP until a signal.
func (p *program) serve(ctx context.Context, o *serveOptions) error {
	cfg, err := o.configure(p)
	if err != nil {
		return err
	}
	a, err := app.New(cfg)
	if err != nil {
		return err
	}
	ln, err := a.Listen(ctx, cfg.Listen, o.open)
	if err != nil {
		return err
	}
	serve := func(ctx context.Context) error { return a.Serve(ctx, ln) }
	if o.ollama != "" {
		if serve, err = withOllama(ctx, a, o, serve); err != nil {
			return errors.Join(err, ln.Close())
		}
	}
	a.Report(ctx)
	greet(ctx, p.stdout, a, ln.Addr(), o)
	context.AfterFunc(ctx, func() {
		cfg.Log.Info("stopping: running streams may end; a second signal ends the program at once",
			slog.Duration("grace", app.Grace))
	})
	return serve(ctx)
}

// withOllama returns serve with Ollama's API beside it. Both end when one does.
func withOllama(ctx context.Context, a *app.App, o *serveOptions, serve func(context.Context) error) (func(context.Context) error, error) {
	ln, err := a.Listen(ctx, o.ollama, o.open)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		beside := make(chan error, 1)
		go func() {
			defer stop()
			beside <- a.ServeOllama(ctx, ln)
		}()
		err := serve(ctx)
		stop()
		return errors.Join(err, <-beside)
	}, nil
}

// configure returns the configuration of the settings with this program's additions: the
// starters, the given directory and the measurements of the process.
func (p *program) configure(checkpoints string) (app.Config, error) {
	cfg, err := p.environment()
	if err != nil {
		return cfg, err
	}
	cfg.Starters = starter.Runs()
	cfg.Auth, cfg.Batches = false, "" // decided by flags
	cfg.Checkpoints = cmp.Or(checkpoints, cfg.Checkpoints, p.existingHome())
	cfg.Activity = true
	cfg.Meter = func(m app.Measured) app.Meter { return prom.New(prom.Config(m)) }
	return cfg, nil
}

// open returns the app of a command that does not serve. quant is the format of weights in
// memory, "" that of the settings.
func (p *program) open(checkpoints, quant string) (*app.App, error) {
	cfg, err := p.configure(checkpoints)
	if err != nil {
		return nil, err
	}
	cfg.Quant = cmp.Or(quant, cfg.Quant)
	cfg.Accounts = "" // keys are not checked
	return app.New(cfg)
}

// greet prints the server's address, the problems of its models and a request that works.
func greet(ctx context.Context, w io.Writer, a *app.App, addr net.Addr, o *serveOptions) {
	entries, problems := a.Catalog().Entries(ctx)
	url := "http://" + reachable(addr)
	fmt.Fprintf(w, "glossa serves %d %s on %s", len(entries), plural("model", len(entries)), url)
	o.tell(w, problems)
	if len(entries) == 0 {
		fmt.Fprint(w, "\n\nPut a training run into the directory that --checkpoints names: it is served within 5 s.\n")
		return
	}
	key := ""
	if o.auth {
		key = " -H 'Authorization: Bearer KEY'"
	}
	fmt.Fprintf(w, "\n\ncurl %s/v1/chat/completions%s -d '{\"model\": %q, \"max_tokens\": 60, "+
		"\"messages\": [{\"role\": \"user\", \"content\": %q}]}'\n\n", url, key, entries[0].Name, "The old lighthouse")
}

// tell prints the first problems of models, and the command that lists more.
func (o *serveOptions) tell(w io.Writer, problems []error) {
	const most = 3
	if len(problems) == 0 {
		return
	}
	fmt.Fprintf(w, ", with %d %s:", len(problems), plural("problem", len(problems)))
	for _, problem := range problems[:min(len(problems), most)] {
		fmt.Fprintf(w, "\n  %s", problem)
	}
	if len(problems) <= most {
		return
	}
	fmt.Fprint(w, "\nall are listed by glossa models")
	if o.checkpoints != "" {
		fmt.Fprintf(w, " --checkpoints %s", o.checkpoints)
	}
	if o.table != "" {
		fmt.Fprintf(w, " --table-name %s", o.table)
	}
	if o.memory != "" {
		fmt.Fprintf(w, " --memory %s", o.memory)
	}
}

// reachable returns an address of a server as this machine reaches it: a server that listens
// on all addresses also answers on 127.0.0.1.
func reachable(addr net.Addr) string {
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
	}
	return addr.String()
}
