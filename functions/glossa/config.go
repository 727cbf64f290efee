package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// configCommand returns glossa config.
func (p *program) configCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "config", Short: "Show the settings and where each comes from",
		Long: `Show the effective settings and where each comes from. A flag of a command
prevails over the environment, which prevails over the file of settings.

The file holds one JSON object. Its keys are the names of the settings, which
are also the flags of glossa serve:

  {"port": 9000, "checkpoints": "/srv/models", "memory": "8GiB"}

The variable of a setting is GLOSSA_ and its name in capitals, such as
GLOSSA_LOG_LEVEL for log-level; that of table-name is GLOSSA_TABLE. An unknown
key of the file is an error. Secrets are masked.`,
		Example: "  glossa config\n  GLOSSA_PORT=9000 glossa config --json", Args: positional(0),
	}
	asJSON := jsonFlag(c.Flags())
	c.RunE = func(*cobra.Command, []string) error {
		shown, err := p.effective()
		if err != nil {
			return err
		}
		path, _ := p.settings.configFile()
		if *asJSON {
			return printJSON(p.stdout, map[string]any{"file": path, "settings": shown})
		}
		state := ""
		if path == "" {
			state = "none, because there is no home directory: --config names one"
		} else if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			state = " (does not exist)"
		}
		fmt.Fprintf(p.stdout, "settings file: %s%s\n\n", path, state)
		t := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "SETTING\tVALUE\tSOURCE") // errors come with Flush
		for _, s := range shown {
			fmt.Fprintf(t, "%s\t%s\t%s\n", s.Name, orDash(s.Value), s.Source)
		}
		return t.Flush()
	}
	return c
}

// A shownSetting is a setting with its value and source for the user.
type shownSetting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"` // default, a variable or the path of the file
}

// effective returns the settings without the flags of a command line.
func (p *program) effective() (list []shownSetting, err error) {
	f := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	new(serveOptions).flags(f)
	if err := p.settings.fill(f, serveSettings(f)); err != nil {
		return nil, err
	}
	if _, err := p.environment(); err != nil {
		return nil, err
	}
	path, _ := p.settings.configFile()
	for _, s := range allSettings() {
		shown := shownSetting{Name: s.name, Value: p.settings.get(s.variable)}
		if flag := f.Lookup(s.name); flag != nil {
			shown.Value = flag.Value.String()
		}
		if s.name == "keys" && shown.Value != "" {
			shown.Value = "********"
		}
		switch p.settings.sourceOf(s.variable) {
		case fromEnvironment:
			shown.Source = "$" + s.variable
		case fromFile:
			shown.Source = path
		default:
			shown.Source = "default"
		}
		list = append(list, shown)
	}
	return list, nil
}

// jsonFlag adds the flag of listings for programs.
func jsonFlag(f *pflag.FlagSet) *bool { return f.Bool("json", false, "print JSON") }

// printJSON prints a value as indented JSON.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// orDash returns text, or a dash for an empty cell of a table.
func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
