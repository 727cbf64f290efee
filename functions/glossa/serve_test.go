package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"glossa/pkg/app"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/checkpoint/checkpointtest"
	"glossa/pkg/home"
)

// goldenRun returns a directory with the run "golden".
func goldenRun(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	run := filepath.Join(dir, "golden")
	if err := os.Mkdir(run, 0o755); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := checkpoint.WriteALPH(&b, checkpointtest.Golden()); err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string]string{
		"checkpoint-7.json": b.String(), "metrics.jsonl": `{"loss":1.5,"valLoss":1.25}`,
		"config.json": `{"modelConfig":{"vocabSize":3,"blockSize":4,"nLayer":1,"nEmbd":4,"nHead":2,"dropout":0}}`,
	} {
		if err := os.WriteFile(filepath.Join(run, file), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestServe starts the server, runs the command that it prints and stops it.
func TestServe(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	out, stdout := io.Pipe()
	status := make(chan int, 1)
	var logs bytes.Buffer
	go func() {
		status <- run(ctx, []string{"serve", "--port", "0", "--checkpoints", goldenRun(t)}, nil, stdout, &logs)
	}()
	curl := regexp.MustCompile(`^curl (http://127\.0\.0\.1:\d+)(/v1/chat/completions) -d '(.*)'$`)
	var command []string
	for lines := bufio.NewScanner(out); command == nil && lines.Scan(); {
		command = curl.FindStringSubmatch(lines.Text())
	}
	if command == nil {
		t.Fatal("no request is shown")
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	// The golden model knows two letters, and no more than 4 tokens.
	body := regexp.MustCompile(`"content": "[^"]*"`).ReplaceAllString(command[3], `"content": "a"`)
	res, err := http.Post(command[1]+command[2], "application/x-www-form-urlencoded", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 || !strings.Contains(string(answer), `"chat.completion"`) {
		t.Errorf("%d, %s, %v", res.StatusCode, answer, err)
	}
	res.Body.Close()
	stop()
	if got := <-status; got != 0 {
		t.Errorf("status %d: %s", got, logs.String())
	}
}

// The first problems of models are printed, and the command that lists more of the same models.
func TestServeTellsProblems(t *testing.T) {
	o := &serveOptions{checkpoints: "runs", table: "glossa", memory: "8GiB"}
	problems := []error{errors.New("one"), errors.New("two"), errors.New("three"), errors.New("four")}
	for n, want := range []string{
		"", ", with 1 problem:\n  one", ", with 2 problems:\n  one\n  two", ", with 3 problems:\n  one\n  two\n  three",
		", with 4 problems:\n  one\n  two\n  three\nall are listed by glossa models --checkpoints runs --table-name glossa --memory 8GiB",
	} {
		var out strings.Builder
		if o.tell(&out, problems[:n]); out.String() != want {
			t.Errorf("%d: %q", n, out.String())
		}
	}
}

// A server whose directory of batches cannot be written works without it, and says so.
func TestServeWithoutBatches(t *testing.T) {
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("there is no directory that nobody can write")
	}
	dir := t.TempDir()
	t.Setenv(home.Variable, dir)
	if err := os.Symlink("/proc/self", filepath.Join(dir, "batches")); err != nil {
		t.Fatal(err)
	}
	var logs bytes.Buffer
	cfg, err := serveWith(t, &logs)
	if err != nil || cfg.Batches != "" || !strings.Contains(logs.String(), "no batches") {
		t.Errorf("%q, %v, %s", cfg.Batches, err, logs.String())
	}
	if cfg, err = serveWith(t, &logs, "--batches", dir); err != nil || cfg.Batches != dir {
		t.Errorf("%q, %v", cfg.Batches, err)
	}
}

// The memory of a request follows the memory and the workers of flags as it does those of variables.
func TestServeRequestMemory(t *testing.T) {
	var logs bytes.Buffer
	flags, err := serveWith(t, &logs, "--memory", "1GiB", "--workers", "4")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GLOSSA_MEMORY", "1GiB")
	t.Setenv("GLOSSA_WORKERS", "4")
	variables, err := serveWith(t, &logs, "--workers", "4")
	if err != nil || flags.RequestMemory != variables.RequestMemory {
		t.Errorf("%d with flags, %d with variables, %v", flags.RequestMemory, variables.RequestMemory, err)
	}
}

// serveWith returns the configuration of glossa serve with flags.
func serveWith(t *testing.T, logs *bytes.Buffer, args ...string) (app.Config, error) {
	t.Helper()
	o, f := &serveOptions{}, pflag.NewFlagSet("serve", pflag.ContinueOnError)
	o.flags(f)
	if err := f.Parse(args); err != nil {
		t.Fatal(err)
	}
	return o.configure(&program{stdout: io.Discard, stderr: logs})
}

func TestServeRefuses(t *testing.T) {
	for args, want := range map[string]struct {
		status int
		says   string
	}{
		"--bogus":                      {2, "unknown flag \"--bogus\"\nRun 'glossa serve --help' for usage."},
		"extra":                        {2, `unexpected argument "extra"`},
		"--auth --open":                {2, "cannot be used together"},
		"--port 70000":                 {2, "--port"},
		"--workers -1":                 {2, "--workers"},
		"--memory 8":                   {2, "--memory: \"8\" is a size of 8 bytes: did you mean 8GB?"},
		"--quant q9":                   {2, "--quant: \"q9\" must be "},
		"--namespace AWS/x":            {2, "--namespace"},
		"--hosts glossa:8080":          {2, "--hosts"},
		"--keep-alive 1ms":             {2, "--keep-alive: must be 0 or from 100ms to 5m"},
		"--origins app.example.com":    {2, "--origins"},
		"--auth":                       {1, "GLOSSA_KEYS"},
		"--host 0.0.0.0 --port 0":      {1, "--open"},
		"--checkpoints /no/such/place": {1, "checkpoints directory"},
	} {
		var out, errs bytes.Buffer
		got := run(t.Context(), append([]string{"serve"}, strings.Fields(args)...), nil, &out, &errs)
		if got != want.status || !strings.Contains(errs.String(), want.says) {
			t.Errorf("%s: status %d, %s; want %d, %q", args, got, errs.String(), want.status, want.says)
		}
	}
}

// Flags override the environment, which overrides the file.
func TestServeSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(file, []byte(`{"hosts": ["of.file"], "origins": "https://of.file", "port": 9000, "auth": true, "memory": "2GiB"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(configVariable, file)
	t.Setenv("GLOSSA_HOSTS", "of.env")
	t.Setenv("GLOSSA_PORT", "9001")
	configured := func(args ...string) (app.Config, *serveOptions) {
		p, o := &program{stdout: io.Discard, stderr: io.Discard}, &serveOptions{}
		f := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		o.flags(f)
		if err := errors.Join(f.Parse(args), p.settings.fill(f, serveSettings(f)), o.check(&p.settings, f)); err != nil {
			t.Fatal(err)
		}
		cfg, err := o.configure(p)
		if err != nil {
			t.Fatal(err)
		}
		return cfg, o
	}
	cfg, _ := configured()
	if !slices.Equal(cfg.Hosts, []string{"of.env"}) || !slices.Equal(cfg.Origins, []string{"https://of.file"}) ||
		cfg.Listen != "localhost:9001" || !cfg.Auth || cfg.Memory != 2<<30 {
		t.Errorf("without flags: %v, %v, %s, %v, %d", cfg.Hosts, cfg.Origins, cfg.Listen, cfg.Auth, cfg.Memory)
	}
	cfg, o := configured("--hosts", "a,b", "--origins", "*", "--open", "--port", "0")
	if !slices.Equal(cfg.Hosts, []string{"a", "b"}) || !slices.Equal(cfg.Origins, []string{"*"}) || cfg.Listen != "localhost:0" {
		t.Errorf("with flags: %v, %v, %s", cfg.Hosts, cfg.Origins, cfg.Listen)
	}
	if cfg.Auth || !o.open {
		t.Error("--auth of the file prevails over --open of the command line")
	}
}

func TestModels(t *testing.T) {
	dir := goldenRun(t)
	if err := os.Mkdir(filepath.Join(dir, "broken"), 0o755); err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string]string{"config.json": "{", "checkpoint-1.json": strings.Repeat(" ", 1024)} {
		if err := os.WriteFile(filepath.Join(dir, "broken", file), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	if got := run(t.Context(), []string{"models", "--checkpoints", dir}, nil, &out, &errs); got != 0 {
		t.Fatalf("status %d: %s", got, errs.String())
	}
	fields := regexp.MustCompile(` {2,}`)
	var rows []string
	for line := range strings.Lines(out.String()) {
		rows = append(rows, fields.ReplaceAllString(strings.TrimSpace(line), "|"))
	}
	if rows[0] != "NAME|FAMILY|TYPE|STEP|CONTEXT|PARAMS|LOSS|SOURCE" || rows[1] != "golden|local|Alpha|7|4|256|1.250|"+dir {
		t.Errorf("%q", rows)
	}
	if !strings.Contains(out.String(), "not served: "+dir+": run broken: config.json") {
		t.Error(out.String())
	}
}

// What does not fit into the memory of glossa serve --memory is a problem of the listing, too.
func TestModelsMemory(t *testing.T) {
	t.Setenv("GLOSSA_MEMORY", "1GiB")
	const refused = " of memory, for its weights and the longest batch, and models may use 1.0 MiB here"
	for args, want := range map[string]struct {
		status int
		part   string
	}{
		"models --memory 1MB":                {0, refused},
		"models list --json --memory 1MiB":   {0, refused},
		"models check --memory 1MiB":         {1, refused},
		"models show sentences --memory 1MB": {0, refused},
		"models show novels --memory 1MiB":   {0, "does not fit into 1.0 MB"},
		"models show novels":                 {0, "memory stored"},
		"models --memory 8":                  {2, `--memory: "8" is a size of 8 bytes: did you mean 8GB?`},
	} {
		status, out := operate(t, strings.Fields(args)...)
		if status != want.status || !strings.Contains(out, want.part) {
			t.Errorf("%s: status %d, %s", args, status, out)
		}
	}
}

// Every flag of glossa serve is a setting, with a variable and a key of the file.
func TestServeFlagsAreSettings(t *testing.T) {
	f := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	new(serveOptions).flags(f)
	names := serveSettings(f)
	f.VisitAll(func(flag *pflag.Flag) {
		if !slices.Contains(names, flag.Name) || settingName(variable(flag.Name)) != flag.Name {
			t.Errorf("--%s is no setting", flag.Name)
		}
	})
}

func TestHelp(t *testing.T) {
	for args, want := range map[string]int{"": 0, "help": 0, "--help": 0, "serve -h": 0, "models --help": 0, "nope": 2} {
		var out, errs bytes.Buffer
		if got := run(t.Context(), strings.Fields(args), nil, &out, &errs); got != want || out.Len()+errs.Len() == 0 {
			t.Errorf("%q: status %d, %s%s", args, got, &out, &errs)
		}
	}
	for n, want := range map[int64]string{256: "256", 1500: "1.5K", 1_700_000: "1.7M", 7_000_000_000: "7.0B"} {
		if got := count(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// The address that a server prints is one that this machine reaches.
func TestReachable(t *testing.T) {
	for _, c := range []struct{ listens, prints string }{
		{"127.0.0.1:8080", "127.0.0.1:8080"},
		{"0.0.0.0:80", "127.0.0.1:80"},
		{"[::]:8080", "127.0.0.1:8080"},
		{"[::1]:8080", "[::1]:8080"},
	} {
		addr, err := net.ResolveTCPAddr("tcp", c.listens)
		if err != nil {
			t.Fatal(err)
		}
		if got := reachable(addr); got != c.prints {
			t.Errorf("%s: got %s, want %s", c.listens, got, c.prints)
		}
	}
}
