package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var updateReadme = flag.Bool("update", false, "rewrite the outputs in every README.md")

// root is the directory of the repository.
const root = "../.."

// TestMain lets the test binary act as the program, so that the documents' commands run as
// for a user.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "glossa" {
		main()
	}
	file := filepath.Join(os.TempDir(), "glossa-no-such-directory", "config.json")
	if err := errors.Join(os.Setenv("XDG_CONFIG_HOME", file), os.Setenv("HOME", file), os.Setenv("GLOSSA_HOME", os.DevNull)); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// Every README.md shows the outputs of its commands, and tables generated from the program.
func TestReadme(t *testing.T) {
	for _, tool := range []string{"sh", "curl", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed: the documents' commands are not run", tool)
		}
	}
	for _, path := range documents(t) {
		t.Run(path, func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join(root, path))
			if err != nil {
				t.Fatal(err)
			}
			old := string(b)
			text := replaceSections(t, old)
			if console.MatchString(text) && !runElsewhere[path] {
				text = rerun(t, text, newServers(t))
			}
			switch {
			case *updateReadme:
				if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			case volatile(text) != volatile(old):
				t.Errorf("%s is outdated (run go test ./functions/glossa -run TestReadme -update):\n%s", path, firstDifference(volatile(old), volatile(text)))
			}
		})
	}
}

// runElsewhere holds the documents whose commands another test runs: pkg/app has a table with
// the records of schemas/README.md.
var runElsewhere = map[string]bool{"schemas/README.md": true}

// documents returns the paths of every README.md, relative to the root.
func documents(t *testing.T) (list []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.Name() == "README.md":
			list = append(list, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// startServer runs glossa serve on a free port and returns its address. Output after the
// address goes to rest. A nil writer discards.
func startServer(t *testing.T, program string, log, rest io.Writer, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, append([]string{"serve", "--port", "0"}, args...)...)
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if rest != nil {
		go io.Copy(rest, lines) // until the server ends
	}
	address := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(line)
	if address == "" {
		t.Fatalf("the server says %q", line)
	}
	return address
}

var (
	// console is a block of commands, "$ command", each followed by its output.
	console = regexp.MustCompile("(?s)```console\n(.*?)```")
	// file is a block that commands read as a file; its name follows the language.
	file = regexp.MustCompile("(?s)```json (\\S+)\n(.*?)```")
)

// rerun returns the text with the current output of each console command. A command goes on
// in the next line inside quotes, after a backslash and after a pipe.
func rerun(t *testing.T, text string, s *servers) string {
	for _, block := range file.FindAllStringSubmatch(text, -1) {
		if err := os.WriteFile(filepath.Join(s.dir, block[1]), []byte(block[2]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return console.ReplaceAllStringFunc(text, func(block string) string {
		var out strings.Builder
		out.WriteString("```console\n")
		command := ""
		for line := range strings.Lines(console.FindStringSubmatch(block)[1]) {
			if first, ok := strings.CutPrefix(line, "$ "); ok && command == "" {
				command = first
			} else if command != "" {
				command += line
			} else {
				continue
			}
			out.WriteString(line)
			if complete(command) {
				out.WriteString(shell(t, command, s))
				command = ""
			}
		}
		return out.String() + "```"
	})
}

// complete reports whether a command of a shell ends: outside of quotes, and not after a
// backslash or a pipe.
func complete(command string) bool {
	var quote rune
	escaped := false
	for _, c := range strings.TrimSuffix(command, "\n") {
		switch {
		case escaped:
			escaped = false
		case c == '\\' && quote != '\'':
			escaped = true
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote:
			quote = 0
		}
	}
	return quote == 0 && !escaped && !strings.HasSuffix(command, "|\n")
}

// shell runs a command and returns its output, as a terminal shows it.
func shell(t *testing.T, command string, s *servers) string {
	cmd := exec.CommandContext(t.Context(), "sh", "-c", s.real(t, command))
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "PATH="+s.dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	b, err := cmd.Output()
	if err != nil {
		t.Errorf("%s: %v\n%s", command, err, &stderr)
	}
	out := strings.ReplaceAll(s.shown(string(b)), "\r", "")
	if out != "" && !strings.HasSuffix(out, "\n") {
		out += "\n"
	}
	return strings.ReplaceAll(out, "\n\n", "\n")
}

// volatile masks ids, times and speeds, which differ between runs.
func volatile(s string) string {
	for pattern, mask := range map[string]string{
		`cmpl-[0-9a-f]{24}`: "cmpl-ID",
		`gls_[\w-]{43}`:     "gls_KEY",
		`…[\w-]{4} `:        "…LAST ",
		`20\d\d-\d\d-\d\d`:  "DATE",
		`req_[0-9a-f]{24}`:  "req_ID",
		`"created": ?\d+`:   `"created":TIME`,
		`"(time|Timestamp|latency|time_to_first_token)": ?("[^"]*"|[\d.]+)`: `"$1":TIME`,
		`(?m)^(X-Ratelimit-Reset-\w+|Age): .*`:                              "$1: TIME",
		`[0-9.,]+ tokens/s`:                                                 "SPEED tokens/s",
		`[0-9.,]+ (m?s)\b`:                                                  "TIME $1",
		`(-?\d\.\d{4})\d*`:                                                  "$1",
		`("logprob":-\d+(\.\d+)?e-)`:                                        "$1",
		`(?s)<!-- generated: speed -->.*?<!-- end -->`:                      "SPEED",
	} {
		s = regexp.MustCompile(pattern).ReplaceAllString(s, mask)
	}
	return s
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d is\n%s\nand would be\n%s", i+1, x[i], y[i])
		}
	}
	return "one is longer"
}
