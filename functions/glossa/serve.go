package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"

	"glossa/pkg/app"
	"glossa/pkg/catalog"
	"glossa/pkg/cloud"
	"glossa/pkg/httpx"
	"glossa/pkg/memory"
	"glossa/pkg/meter/emf"
	"glossa/pkg/meter/prom"
	"glossa/pkg/starter"
)

const serveUsage = "[--host H] [--port N] [--checkpoints DIR|s3://BUCKET/PREFIX] [--table-name T] [--workers N] [--memory SIZE] [--quant Q] [--namespace S] [--auth [--accounts FILE] | --open] [--hosts NAME,NAME] [--origins URL,URL]"

// serve answers HTTP until a signal.
func serve(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	f := flags("serve", serveUsage, stdout)
	host := f.String("host", "localhost", "address to listen on; localhost is 127.0.0.1, reachable only from this machine")
	port := f.Int("port", 8080, "port to listen on; 0 chooses a free one")
	dir := f.String("checkpoints", "", "directory of training runs, or s3://bucket/prefix, served in addition to the starters; uploads are stored there (GLOSSA_CHECKPOINTS)")
	table := tableFlag(f)
	workers := f.Int("workers", 0, fmt.Sprintf("concurrent generations; more wait in a queue (GLOSSA_WORKERS; default %d)", app.DefaultWorkers))
	weights := f.String("memory", "", "memory for the weights of open models, such as 8GiB; the least recently used are evicted (GLOSSA_MEMORY; default three quarters)")
	quant := f.String("quant", "", "weights in memory: "+strings.Join(catalog.Quants(), ", ")+" (GLOSSA_QUANT; default stored)")
	auth := f.Bool("auth", false, "require a key of --accounts, of the table, of GLOSSA_KEYS or UPLOAD_SECRET on all but the public routes")
	accounts := f.String("accounts", "", "`file` of users and API keys, see glossa user and glossa key (GLOSSA_ACCOUNTS)")
	namespace := f.String("namespace", "", "write metrics in CloudWatch's embedded format with this namespace to stdout, instead of log lines (GLOSSA_NAMESPACE)")
	open := f.Bool("open", false, "serve other machines without requiring a key")
	hosts := f.String("hosts", "", "`names` of the server, separated by commas; without keys the server answers only these, localhost and IP addresses; * for all (GLOSSA_HOSTS)")
	origins := f.String("origins", "", "`origins` of other web pages that may use the server, separated by commas: https://app.example.com; * for all (GLOSSA_ORIGINS)")
	if err := parse(f, args, false); err != nil {
		return err
	}
	switch {
	case *auth && *open:
		return fmt.Errorf("%w: --auth and --open cannot be used together", errUsage)
	case *workers < 0:
		return fmt.Errorf("%w: --workers %d: at least 1", errUsage, *workers)
	case *port < 0 || *port > 65535:
		return fmt.Errorf("%w: --port %d: from 0 to 65535", errUsage, *port)
	}
	cfg, err := configure(*dir)
	if err != nil {
		return err
	}
	cfg.Auth, cfg.Uploads, cfg.Accounts = *auth, true, cmp.Or(*accounts, cfg.Accounts)
	cfg.Table, cfg.Listen = cmp.Or(*table, cfg.Table), net.JoinHostPort(*host, strconv.Itoa(*port))
	if err := browserFlags(&cfg, *hosts, *origins); err != nil {
		return err
	}
	cfg.Workers, cfg.Quant = cmp.Or(*workers, cfg.Workers), cmp.Or(*quant, cfg.Quant)
	if *weights != "" {
		if cfg.Memory, err = memory.ParseSize(*weights); err != nil {
			return fmt.Errorf("%w: --memory: %w", errUsage, err)
		}
	}
	if cfg.Namespace = cmp.Or(*namespace, cfg.Namespace); cfg.Namespace != "" {
		if err := emf.CheckNamespace(cfg.Namespace); err != nil {
			return fmt.Errorf("%w: --namespace: %w", errUsage, err)
		}
		cfg.Metrics = stdout
	}
	cfg.Log = app.NewLog(stderr, cfg.Level)
	a, err := app.New(cfg)
	if err != nil {
		return err
	}
	ln, err := a.Listen(ctx, cfg.Listen, *open)
	if err != nil {
		return err
	}
	a.Report(ctx)
	greet(ctx, stdout, a, ln.Addr(), *auth)
	context.AfterFunc(ctx, func() {
		cfg.Log.Info("stopping: running streams may end; a second signal ends the program at once",
			slog.Duration("grace", app.Grace))
	})
	return a.Serve(ctx, ln)
}

// browserFlags copies --hosts and --origins into cfg, if they are set.
func browserFlags(cfg *app.Config, hosts, origins string) error {
	names, err := app.ParseList(hosts, httpx.CheckNames)
	if err != nil {
		return fmt.Errorf("%w: --hosts: %w", errUsage, err)
	}
	pages, err := app.ParseList(origins, httpx.CheckOrigins)
	if err != nil {
		return fmt.Errorf("%w: --origins: %w", errUsage, err)
	}
	if names != nil {
		cfg.Hosts = names
	}
	if pages != nil {
		cfg.Origins = pages
	}
	return nil
}

// environment returns the environment's configuration, with the AWS account that the AWS
// CLI would use.
func environment() (app.Config, error) {
	cfg, err := app.Environment()
	cfg.AWS = cloud.Load
	return cfg, err
}

// configure returns the environment's configuration with this program's additions: the
// starters, the given directory and the measurements of the process.
func configure(checkpoints string) (app.Config, error) {
	cfg, err := environment()
	if err != nil {
		return cfg, err
	}
	cfg.Starters = starter.Runs()
	cfg.Auth = false // decided by flags
	cfg.Checkpoints = cmp.Or(checkpoints, cfg.Checkpoints)
	cfg.Activity = true
	cfg.Meter = func(queue func() (int, int), known func(string) bool) app.Meter {
		return prom.New(prom.Config{Queue: queue, Known: known})
	}
	return cfg, nil
}

// open returns the app of a command that does not serve.
func open(checkpoints string) (*app.App, error) {
	cfg, err := configure(checkpoints)
	if err != nil {
		return nil, err
	}
	cfg.Accounts = "" // keys are not checked
	return app.New(cfg)
}

// greet prints the server's address and a request that works.
func greet(ctx context.Context, w io.Writer, a *app.App, addr net.Addr, auth bool) {
	entries, problems := a.Catalog().Entries(ctx)
	url := "http://" + addr.String()
	fmt.Fprintf(w, "glossa serves %d %s on %s", len(entries), plural("model", len(entries)), url)
	if len(problems) > 0 {
		fmt.Fprintf(w, ", with %d %s: see glossa models", len(problems), plural("problem", len(problems)))
	}
	if len(entries) == 0 {
		fmt.Fprint(w, "\n\nPut a training run into the directory that --checkpoints names: it is served within 5 s.\n")
		return
	}
	key := ""
	if auth {
		key = " -H 'Authorization: Bearer KEY'"
	}
	fmt.Fprintf(w, "\n\ncurl %s/v1/chat/completions%s -d '{\"model\": %q, \"max_tokens\": 60, "+
		"\"messages\": [{\"role\": \"user\", \"content\": %q}]}'\n\n", url, key, entries[0].Name, "The old lighthouse")
}
