package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// withConfig writes a file of settings and sets the environment to it.
func withConfig(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(configVariable, file)
	return file
}

// glossa config shows each setting with its source, and no secret.
func TestConfig(t *testing.T) {
	file := withConfig(t, `{"port": 9000, "hosts": ["a.example", "b.example"], "auth": true, "log-level": "warn", "keys": "admin:hush-of-the-file"}`)
	t.Setenv("GLOSSA_PORT", "9001")
	t.Setenv("GLOSSA_KEYS", "admin:hush-of-the-environment")
	status, out, errs := glossa(t, "", "config --json")
	if status != 0 || strings.Contains(out, "hush") {
		t.Fatalf("status %d, %s%s", status, out, errs)
	}
	var shown struct {
		File     string
		Settings []shownSetting
	}
	if err := json.Unmarshal([]byte(out), &shown); err != nil || shown.File != file {
		t.Fatal(err, shown.File)
	}
	got := map[string]shownSetting{}
	for _, s := range shown.Settings {
		got[s.Name] = s
	}
	for _, want := range []shownSetting{
		{"port", "9001", "$GLOSSA_PORT"}, {"hosts", "a.example,b.example", file}, {"auth", "true", file}, {"log-level", "warn", file},
		{"keys", "********", "$GLOSSA_KEYS"}, {"host", "localhost", "default"}, {"workers", "8", "default"}, {"table-name", "", "default"},
	} {
		if got[want.Name] != want {
			t.Errorf("%v, want %v", got[want.Name], want)
		}
	}
	if status, out, _ := glossa(t, "", "config"); status != 0 || !strings.Contains(out, "settings file: "+file+"\n") || strings.Contains(out, "hush") {
		t.Errorf("status %d, %s", status, out)
	}
	other := filepath.Join(t.TempDir(), "other.json")
	if err := os.WriteFile(other, []byte(`{"host": "0.0.0.0"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, out, _ := glossa(t, "", "config --config "+other); !strings.Contains(out, "0.0.0.0") {
		t.Errorf("--config has no effect: %s", out)
	}
}

// The default file may be missing; the commands without settings never read it.
func TestConfigDefault(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the directory of configurations is another one")
	}
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	if _, out, _ := glossa(t, "", "config"); !strings.HasPrefix(out, "settings file: "+filepath.Join(dir, "glossa", "config.json")+" (does not exist)\n") {
		t.Error(out)
	}
	if err := os.Mkdir(filepath.Join(dir, "glossa"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "glossa", "config.json"), []byte(`{"table-name": "t", "accounts": "/nowhere/a.json"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, _, errs := glossa(t, "", "key list"); status != 1 || !strings.Contains(errs, "/nowhere/a.json") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// A file of an editor on Windows is read, and one without a home is not named.
func TestConfigForms(t *testing.T) {
	withConfig(t, "\ufeff{\r\n\"port\": 9000}\r\n")
	if status, out, errs := glossa(t, "", "config"); status != 0 || !strings.Contains(out, " 9000 ") {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
	withConfig(t, "[]")
	if _, _, errs := glossa(t, "", "config"); !strings.HasSuffix(errs, ": must be a JSON object\n") {
		t.Error(errs)
	}
	for _, name := range []string{configVariable, "XDG_CONFIG_HOME", "HOME", "AppData"} {
		t.Setenv(name, "")
	}
	if status, out, errs := glossa(t, "", "config"); status != 0 || !strings.HasPrefix(out, "settings file: none, because there is no home directory") {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
}

// A number out of range is an error that names the place where it is.
func TestWrongSettings(t *testing.T) {
	file := withConfig(t, `{"port": 99999}`)
	if status, _, errs := glossa(t, "", "serve"); status != exitFailure || !strings.Contains(errs, file+": port must be between 0 and 65535, not 99999") {
		t.Errorf("status %d, %s", status, errs)
	}
	t.Setenv("GLOSSA_WORKERS", "0")
	if status, _, errs := glossa(t, "", "serve --port 0"); status != exitFailure || !strings.Contains(errs, "GLOSSA_WORKERS must be a positive integer, not 0") {
		t.Errorf("status %d, %s", status, errs)
	}
	if status, _, errs := glossa(t, "", "serve --port 0 --workers -1"); status != exitUsage || !strings.Contains(errs, "--workers must be a positive integer, not -1") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// A mistake in the file is an error with the file and the key.
func TestConfigRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{"prot": 1}`:                `unknown setting "prot"; did you mean "port"?`,
		`{"listen": ":80"}`:          `unknown setting "listen"`,
		`{"port": "x"}`:              `port: "x" must be an integer`,
		`{"port": {}}`:               "port: must be a string, a number, true, false or a list of strings",
		`{"hosts": [1]}`:             "hosts: must be a string",
		`{"auth": null}`:             "auth: must be a string",
		`{"auth": "maybe"}`:          `auth: "maybe" must be true or false`,
		`{"memory": "much"}`:         "memory: GLOSSA_MEMORY: ",
		`{"listed-only": "perhaps"}`: "listed-only: GLOSSA_LISTED_ONLY: ",
		`[]`:                         "must be a JSON object",
		``:                           "must be a JSON object",
	} {
		file := withConfig(t, text)
		for _, args := range []string{"config", "serve --port 0", "models"} {
			if status, _, errs := glossa(t, "", args); status != exitFailure || !strings.Contains(errs, ": "+file+": "+want) {
				t.Errorf("%s with %s: status %d, %q, want %q", args, text, status, errs, want)
			}
		}
		for _, args := range []string{"version", "help serve", "completion bash"} {
			if status, _, errs := glossa(t, "", args); status != 0 {
				t.Errorf("%s with %s: %s", args, text, errs)
			}
		}
	}
	if status, _, errs := glossa(t, "", "config --config /no/such/file"); status != exitFailure || !strings.Contains(errs, "/no/such/file") {
		t.Errorf("status %d, %s", status, errs)
	}
	withConfig(t, "{}")
	t.Setenv("GLOSSA_PORT", "x")
	if status, _, errs := glossa(t, "", "serve"); status != exitFailure || !strings.Contains(errs, `GLOSSA_PORT: "x" must be an integer`) {
		t.Errorf("status %d, %s", status, errs)
	}
}

// Log lines are JSON where no terminal is, unless the user asks for text.
func TestLogFormats(t *testing.T) {
	for format, want := range map[string]string{"auto": `"msg":"hello"`, "json": `"msg":"hello"`, "text": " INF hello port=80\n"} {
		var out bytes.Buffer
		log, err := newLog(&out, format, slog.LevelInfo)
		if err != nil {
			t.Fatal(err)
		}
		log.Info("hello", "port", 80)
		log.Debug("nothing")
		if !strings.Contains(out.String(), want) || strings.Contains(out.String(), "\x1b") || strings.Count(out.String(), "\n") != 1 {
			t.Errorf("%s: %q", format, out.String())
		}
	}
}

// The version is the one thing that a report of a fault needs.
func TestVersion(t *testing.T) {
	_, want, _ := glossa(t, "", "version")
	for _, part := range []string{"glossa ", "\nrevision  ", "\ndate      ", "\ngo        go1.", "\nplatform  " + runtime.GOOS + "/" + runtime.GOARCH + "\n", "\nkernels   "} {
		if !strings.Contains("\n"+want, part) {
			t.Errorf("no %q in %q", part, want)
		}
	}
	if status, out, _ := glossa(t, "", "--version"); status != 0 || out != want {
		t.Errorf("--version: %d, %q", status, out)
	}
	var b build
	if _, out, _ := glossa(t, "", "version --json"); json.Unmarshal([]byte(out), &b) != nil || b.Version == "" || b.Kernels == "" || b.Platform == "" {
		t.Errorf("%+v", b)
	}
}

// Listings are also JSON.
func TestListingsJSON(t *testing.T) {
	t.Setenv("GLOSSA_ACCOUNTS", filepath.Join(t.TempDir(), "accounts.json"))
	for _, args := range []string{"key create ci --role client", "user add ann --role admin"} {
		if status, _, errs := glossa(t, password, args); status != 0 {
			t.Fatal(errs)
		}
	}
	for args, want := range map[string]string{"models --json": "novels", "models list --json": "novels", "key list --json": "ci", "user list --json": "ann"} {
		status, out, errs := glossa(t, "", args)
		var lists map[string][]any
		if err := json.Unmarshal([]byte(out), &lists); err != nil || status != 0 {
			t.Errorf("%s: %d, %v, %s%s", args, status, err, out, errs)
		}
		if !strings.Contains(out, `"name": "`+want+`"`) || strings.Contains(out, "argon2id") || strings.Contains(out, `"id"`) {
			t.Errorf("%s: %s", args, out)
		}
	}
}

// No file makes the parser panic, and what it accepts are known settings.
func FuzzSettings(f *testing.F) {
	for _, text := range []string{`{}`, `{"port": 1}`, `{"hosts": ["a", "b"], "auth": true}`, `{"keys": null}`, `[`, `{"port": 1e999}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		values, err := parseSettings(text)
		for variable := range values {
			if err != nil || !strings.HasPrefix(variable, "GLOSSA_") {
				t.Errorf("%s, %v", variable, err)
			}
		}
	})
}
