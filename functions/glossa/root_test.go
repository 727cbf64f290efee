package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// A mistake on the command line gives one line that names it and suggests what may be meant, and
// how to get help.
func TestMistakes(t *testing.T) {
	for args, want := range map[string]string{
		"modles":                 `glossa: unknown command "modles"; did you mean "models"?`,
		"modles --json":          `glossa: unknown command "modles"; did you mean "models"?`,
		"fly":                    `glossa: unknown command "fly"`,
		"--fly":                  `glossa: unknown flag "--fly"`,
		"models chek":            `glossa models: unknown command "chek"; did you mean "check"?`,
		"models fly --record":    `glossa models: unknown command "fly"`,
		"key":                    `glossa key: missing command: create, limit, list, revoke`,
		"help modles":            `glossa help: unknown command "modles"; did you mean "models"?`,
		"help models chek":       `glossa help: unknown command "chek"; did you mean "check"?`,
		"serve --prot 1":         `glossa serve: unknown flag "--prot"; did you mean "--port"?`,
		"serve --colour":         `glossa serve: unknown flag "--colour"`,
		"serve -port 1":          `glossa serve: unknown flag "-port"; did you mean "--port"?`,
		"serve -host=x":          `glossa serve: unknown flag "-host"; did you mean "--host"?`,
		"serve -x":               `glossa serve: unknown flag "-x"`,
		"serve --port":           `glossa serve: --port needs a value`,
		"serve --port x":         `glossa serve: --port: "x" must be an integer`,
		"serve --auth=x":         `glossa serve: --auth: "x" must be true or false`,
		"serve --log-format xml": `glossa serve: --log-format: "xml" must be auto, text, json`,
		"serve --log-level loud": `glossa serve: --log-level: "loud" must be debug, info, warn or error`,
		"serve --workers 0":      `glossa serve: --workers must be a positive integer, not 0`,
		"health --timeout 3":     `glossa health: --timeout: "3" must be a duration with a unit, such as 30s or 5m`,
		"health --timeout 0s":    `glossa health: --timeout: 0s must be positive`,
		"train --lr warm":        `glossa train: --lr: "warm" must be a number`,
		"train --steps -2":       `glossa train: steps: -2 is not in 1..1073741824`,
		"train --tokenizer mine": `glossa train: tokenizer: "mine" is not bpe, char or word`,
		"corpus abc --seed -1":   `glossa corpus: --seed: "-1" must be an integer and not negative`,
		"version now":            `glossa version: unexpected argument "now"`,
		"completion tcsh":        `glossa completion: unknown shell "tcsh": must be bash, zsh, fish, powershell`,
		"models add":             `glossa models add: name either files or one model: FILE... or --name`,
	} {
		status, out, errs := glossa(t, "", args)
		first, rest, _ := strings.Cut(errs, "\n")
		path, _, _ := strings.Cut(want, ":")
		if status != exitUsage || out != "" || first != want || rest != "Run '"+path+" --help' for usage.\n" {
			t.Errorf("%s: status %d, %q%q, want %q", args, status, out, errs, want)
		}
	}
}

// each calls f for a command and all its visible commands.
func each(c *cobra.Command, f func(*cobra.Command)) {
	f(c)
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			each(sub, f)
		}
	}
}

// Every command has a help in one form, however it is asked for.
func TestHelps(t *testing.T) {
	each((&program{}).root(), func(c *cobra.Command) {
		path := strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), "glossa"), " ")
		_, want, _ := glossa(t, "", path+" --help")
		for _, args := range []string{path + " -h", "help " + path} {
			if status, out, errs := glossa(t, "", args); status != 0 || out != want || errs != "" {
				t.Errorf("%s: status %d, %q, %q", args, status, out, errs)
			}
		}
		for _, part := range []string{"\nUsage:\n  glossa ", "\nFlags:\n", "\nExamples:\n  "} {
			if !strings.Contains(want, part) {
				t.Errorf("the help of %s has no %q:\n%s", path, part, want)
			}
		}
		if c.Short == "" || strings.HasSuffix(c.Short, ".") || len(c.Short) > 70 {
			t.Errorf("%s: %q is no short description", path, c.Short)
		}
		for line := range strings.Lines(c.Long + "\n" + c.Example) {
			if len(line) > 81 && !strings.Contains(line, "https://") {
				t.Errorf("%s: a line of %d characters: %q", path, len(line), line)
			}
		}
	})
	status, out, _ := glossa(t, "", "")
	for _, part := range []string{"Use models:", "Make models:", "Manage accounts:", "  serve        Serve the models over HTTP\n"} {
		if status != 0 || !strings.Contains(out, part) {
			t.Errorf("status %d, no %q in\n%s", status, part, out)
		}
	}
}

// Help that cannot be written is an error.
func TestHelpUnwritten(t *testing.T) {
	for _, args := range []string{"", "help", "help serve", "serve --help", "--help"} {
		var errs bytes.Buffer
		if status := run(t.Context(), strings.Fields(args), nil, fullDisk{}, &errs); status != exitFailure || !strings.Contains(errs.String(), "disk full") {
			t.Errorf("%q: status %d, %s", args, status, errs.String())
		}
	}
}

// fullDisk is a writer that fails.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk full") }
