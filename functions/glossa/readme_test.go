package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"glossa/infra/plan"
	"glossa/pkg/app"
	"glossa/pkg/dialect/alephalpha"
	"glossa/pkg/dialect/alpha"
	"glossa/pkg/dialect/invoke"
	"glossa/pkg/dialect/lamini"
	"glossa/pkg/dialect/openai"
	"glossa/pkg/dialect/textsynth"
	"glossa/pkg/wire"
)

var updateReadme = flag.Bool("update", false, "rewrite the outputs in README.md")

const readme = "../../README.md"

// TestMain lets the test binary act as the program, so that the README's commands run as
// for a user.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "glossa" {
		main()
	}
	file := filepath.Join(os.TempDir(), "glossa-no-such-directory", "config.json")
	if err := errors.Join(os.Setenv("XDG_CONFIG_HOME", file), os.Setenv("HOME", file)); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// The README shows the outputs of its commands, and tables generated from the program.
func TestReadme(t *testing.T) {
	for _, tool := range []string{"sh", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed: the README's commands are not run", tool)
		}
	}
	b, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	old := string(b)
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "glossa")); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	standIns(t)
	text := replaceSections(t, old)
	text = rerun(t, text, &servers{dir, map[string]string{}})
	switch {
	case *updateReadme:
		if err := os.WriteFile(readme, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	case volatile(text) != volatile(old):
		t.Errorf("README.md is outdated (run go test ./functions/glossa -update):\n%s", firstDifference(volatile(old), volatile(text)))
	}
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

// rerun returns the text with the current output of each console command.
func rerun(t *testing.T, text string, s *servers) string {
	for _, block := range file.FindAllStringSubmatch(text, -1) {
		if err := os.WriteFile(filepath.Join(s.dir, block[1]), []byte(block[2]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return console.ReplaceAllStringFunc(text, func(block string) string {
		var out strings.Builder
		out.WriteString("```console\n")
		for line := range strings.Lines(console.FindStringSubmatch(block)[1]) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				out.WriteString(line)
				out.WriteString(shell(t, command, s))
			}
		}
		return out.String() + "```"
	})
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
		`"created":\d+`:     `"created":TIME`,
		`"(time|Timestamp|latency|time_to_first_token)":("[^"]*"|[\d.]+)`: `"$1":TIME`,
		`(?m)^(X-Ratelimit-Reset-\w+|Age): .*`:                            "$1: TIME",
		`[0-9.,]+ tokens/s`:                                               "SPEED tokens/s",
		`[0-9.,]+ (m?s)\b`:                                                "TIME $1",
		`(-?\d\.\d{4})\d*`:                                                "$1",
		`("logprob":-\d+(\.\d+)?e-)`:                                      "$1",
		`(?s)<!-- generated: speed -->.*?<!-- end -->`:                    "SPEED",
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

// section is a generated part of the README.
var section = regexp.MustCompile(`(?s)<!-- generated: (\w+) -->\n.*?<!-- end -->`)

func replaceSections(t *testing.T, text string) string {
	return section.ReplaceAllStringFunc(text, func(old string) string {
		name := section.FindStringSubmatch(old)[1]
		made := ""
		switch name {
		case "openai":
			made = parameterTable(openai.Parameters())
		case "completions":
			made = parameterTable(openai.CompletionParameters())
		case "embeddings":
			made = parameterTable(openai.EmbeddingParameters())
		case "lamini":
			made = parameterTable(lamini.Parameters())
		case "invoke":
			made = parameterTable(invoke.Parameters())
		case "alpha":
			made = parameterTable(alpha.Parameters())
		case "alephalpha":
			made = parameterTable(alephalpha.Parameters())
		case "textsynth":
			made = parameterTable(textsynth.Parameters())
		case "environment":
			made = "| variable | meaning |\n|---|---|\n"
			for _, v := range app.Variables() {
				made += fmt.Sprintf("| `%s` | %s |\n", v[0], v[1])
			}
		case "contexts":
			made = "| context | default | |\n|---|---|---|\n"
			for _, c := range plan.Contexts() {
				made += fmt.Sprintf("| `%s` | %s | %s |\n", c.Name, c.Default, c.Meaning)
			}
		case "records":
			made = recordTable(t)
		case "quality", "speed", "architectures", "phrases", "forms", "suites", "masks", "gateway", "starts":
			b, err := os.ReadFile(map[string]string{
				"forms": "../../pkg/starter/testdata/forms.md", "suites": "../../pkg/grammar/testdata/suites.md", "masks": "../../pkg/grammar/testdata/bench.md",
				"gateway": "../../.ci/peers/gateway/results.md", "starts": "../testdata/start.md",
				"quality": "../../pkg/starter/testdata/quality.md", "speed": "../../pkg/starter/testdata/speed.md",
				"phrases": "../../pkg/starter/testdata/phrases/quality.md", "architectures": "../../pkg/engine/arch/testdata/architectures.md",
			}[name])
			if err != nil {
				t.Error(err)
				return old
			}
			made = firstTable(string(b))
		default:
			t.Errorf("nothing generates the section %q", name)
		}
		return "<!-- generated: " + name + " -->\n" + made + "<!-- end -->"
	})
}

// firstTable returns the lines of the first table of a text.
func firstTable(text string) string {
	var table strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "|") {
			table.WriteString(line)
		} else if table.Len() > 0 {
			break
		}
	}
	return table.String()
}

func parameterTable(list []wire.Parameter) string {
	var b strings.Builder
	b.WriteString("| parameter | in the process | by a remote model | |\n|---|---|---|---|\n")
	for _, p := range list {
		note := p.Text()
		if len(p.Neutral) > 0 {
			note += "; taken: `" + strings.Join(p.Neutral, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", p.Name, p.Disposition, cmp.Or(p.Remote, string(p.Disposition)), note)
	}
	return b.String()
}
