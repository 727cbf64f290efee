package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// tool skips the test where a program is missing.
func tool(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not installed", name)
	}
}

// Shells accept their scripts.
func TestCompletionScripts(t *testing.T) {
	for shell, check := range map[string][]string{"bash": {"bash", "-n"}, "zsh": {"zsh", "-n"}, "fish": {"fish", "--no-execute"}} {
		t.Run(shell, func(t *testing.T) {
			script, notes, err := output(t.Context(), "completion", shell)
			if err != nil || notes != "" || !strings.Contains(script, "glossa __complete") && !strings.Contains(script, "__complete") {
				t.Fatalf("%v, %q, %d bytes", err, notes, len(script))
			}
			file := filepath.Join(t.TempDir(), "glossa."+shell)
			if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
				t.Fatal(err)
			}
			tool(t, check[0])
			if out, err := exec.CommandContext(t.Context(), check[0], append(check[1:], file)...).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	if script, _, err := output(t.Context(), "completion", "powershell"); err != nil || !strings.Contains(script, "Register-ArgumentCompleter") {
		t.Errorf("powershell: %v", err)
	}
}

// Commands, flags, their values and the names of models are completed.
func TestCompletes(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"mine", "other.gguf", "third.safetensors", ".hidden"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	names := "abc chords forms mine novels other third tools " // that may chat
	complete := func(args ...string) string {
		t.Helper()
		out, _, err := output(t.Context(), append([]string{"__completeNoDesc"}, args...)...)
		if err != nil {
			t.Error(err)
		}
		return strings.ReplaceAll(out, "\n", " ")
	}
	for want, args := range map[string][]string{
		"serve :4":   {"serv"},
		names + ":4": {"chat", "--checkpoints", dir, ""},
		":4":         {"chat", "novels", ""},
		"abc chords forms mine novels other phrases sentences third tools :4": {"models", "show", "--checkpoints", dir, ""},
		"--log-format :4":   {"serve", "--log-f"},
		"auto text json :4": {"serve", "--log-format", ""},
		":16":               {"serve", "--checkpoints", ""},
		"chords :4":         {"corpus", "ch"},
	} {
		if got := complete(args...); strings.TrimSpace(got) != want {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
	t.Setenv("GLOSSA_CHECKPOINTS", dir)
	if got := complete("chat", ""); !strings.HasPrefix(got, names) {
		t.Errorf("of the environment: %q", got)
	}
}

// Every command has a manual page, which the formatters accept.
func TestManPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	if _, _, err := output(t.Context(), "man", dir); err != nil {
		t.Fatal(err)
	}
	var pages []string
	each((&program{}).root(), func(c *cobra.Command) {
		file := filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{".TH ", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS", "SEE ALSO"} {
			if !bytes.Contains(text, []byte(part)) {
				t.Errorf("%s has no %s", file, part)
			}
		}
		pages = append(pages, file)
	})
	if all, err := os.ReadDir(dir); err != nil || len(all) != len(pages) {
		t.Errorf("%d files, want %d, %v", len(all), len(pages), err)
	}
	t.Run("man", func(t *testing.T) {
		tool(t, "man")
		for _, file := range pages {
			out, err := exec.CommandContext(t.Context(), "man", "--warnings", "-l", file).CombinedOutput()
			if err != nil || bytes.Contains(out, []byte("warning")) || !bytes.Contains(out, []byte("EXIT STATUS")) {
				t.Errorf("%s: %v: %s", file, err, out)
			}
		}
	})
	t.Run("mandoc", func(t *testing.T) {
		tool(t, "mandoc")
		out, err := exec.CommandContext(t.Context(), "mandoc", append([]string{"-T", "lint", "-W", "warning"}, pages...)...).CombinedOutput()
		for line := range strings.Lines(string(out)) {
			if !strings.Contains(line, "missing date") { // that of the commit, which tests do not know
				t.Errorf("%v: %s", err, line)
			}
		}
	})
}
