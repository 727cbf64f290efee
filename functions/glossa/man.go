package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"glossa/pkg/version"
)

// manCommand returns glossa man.
func (p *program) manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write the manual pages into a directory", Args: positional(1, "DIR"),
		Long:    "Write the manual pages, one for each command, into a directory, which is\ncreated if it is missing.",
		Example: "  glossa man /usr/local/share/man/man1", DisableFlagsInUseLine: true,
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			return writePages(c.Root(), args[0])
		},
	}
}

// writePages writes the pages of a command and of its commands.
func writePages(c *cobra.Command, dir string) error {
	c.InitDefaultHelpFlag()
	name := pageName(c) + ".1"
	if err := os.WriteFile(filepath.Join(dir, name), []byte(manPage(c)), 0o644); err != nil {
		return err
	}
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		if err := writePages(sub, dir); err != nil {
			return err
		}
	}
	return nil
}

// pageName returns the name of a command's page: glossa-models-add.
func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// A page is a manual page in the language of man(7). We write it ourselves: the libraries for
// cobra add a Markdown parser and its expressions to every start, or lose the examples.
type page struct{ strings.Builder }

// manPage returns the page of a command.
func manPage(c *cobra.Command) string {
	var p page
	v := version.Read()
	date, _, _ := strings.Cut(v.Time, "T")
	p.macro("TH", strings.ToUpper(pageName(c)), "1", date, "glossa "+v.Version, "glossa")
	p.macro("SH", "NAME")
	p.text(pageName(c) + " - " + strings.ToLower(c.Short[:1]) + c.Short[1:])
	p.macro("SH", "SYNOPSIS")
	for i, line := range synopsis(c) {
		if i > 0 {
			p.macro("br")
		}
		p.text(line)
	}
	p.macro("SH", "DESCRIPTION")
	p.body(description(c))
	p.commands(c)
	p.options(c)
	if c.HasExample() {
		p.macro("SH", "EXAMPLES")
		p.literal(c.Example)
	}
	p.settings(c)
	p.macro("SH", "EXIT STATUS")
	p.text("0 if the command succeeds, 1 if it fails, 2 if its arguments are wrong.")
	p.related(c)
	return p.String()
}

// commands lists the commands of a command.
func (p *page) commands(c *cobra.Command) {
	if !c.HasAvailableSubCommands() {
		return
	}
	p.macro("SH", "COMMANDS")
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			p.macro("TP")
			p.macro("B", sub.Name())
			p.text(sub.Short + ".")
		}
	}
}

// options lists the flags of a command.
func (p *page) options(c *cobra.Command) {
	p.macro("SH", "OPTIONS")
	visit := func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		p.macro("TP")
		p.macro("BI", name, strings.TrimSuffix(" "+value, " "))
		if d := f.DefValue; d != "" && d != "0" && d != "false" && d != "[]" {
			usage += " (default " + d + ")"
		}
		p.text(usage)
	}
	c.LocalFlags().VisitAll(visit)
	c.InheritedFlags().VisitAll(visit)
}

// settings describes the environment and the file on the pages that depend on all of them.
func (p *page) settings(c *cobra.Command) {
	if c.Name() != "config" && c.Name() != "serve" {
		return
	}
	p.macro("SH", "ENVIRONMENT")
	for _, s := range allSettings() {
		p.macro("TP")
		p.macro("B", s.variable)
		p.text(s.meaning)
	}
	p.macro("SH", "FILES")
	p.macro("TP")
	p.macro("I", "glossa/config.json")
	p.text("The file of settings, in the directory of the user's configuration: $XDG_CONFIG_HOME or ~/.config, on macOS ~/Library/Application Support, on Windows %AppData%.")
}

// related lists the pages of the parent and of the commands.
func (p *page) related(c *cobra.Command) {
	var names []string
	if c.HasParent() {
		names = append(names, pageName(c.Parent()))
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, pageName(sub))
		}
	}
	p.macro("SH", "SEE ALSO")
	for i, name := range names {
		end := ","
		if i == len(names)-1 {
			end = ""
		}
		p.macro("BR", name, "(1)"+end)
	}
}

// body writes paragraphs; indented ones are literal.
func (p *page) body(text string) {
	for i, paragraph := range strings.Split(text, "\n\n") {
		if i > 0 {
			p.macro("PP")
		}
		if strings.HasPrefix(paragraph, "  ") {
			p.literal(paragraph)
			continue
		}
		p.text(strings.ReplaceAll(paragraph, "\n", " "))
	}
}

// literal writes lines that are not filled.
func (p *page) literal(text string) {
	p.macro("nf")
	p.macro("RS", "4")
	for line := range strings.Lines(text) {
		p.text(strings.TrimRight(strings.TrimPrefix(line, "  "), "\n"))
	}
	p.macro("RE")
	p.macro("fi")
}

// escapes are the characters with a meaning in the text.
var escapes = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)

// text writes one line.
func (p *page) text(line string) {
	line = escapes.Replace(line)
	if strings.HasPrefix(line, ".") {
		line = `\&` + line
	}
	p.WriteString(line + "\n")
}

// macro writes a request with its arguments.
func (p *page) macro(name string, args ...string) {
	p.WriteString("." + name)
	for _, arg := range args {
		fmt.Fprintf(p, ` "%s"`, strings.ReplaceAll(escapes.Replace(arg), `"`, `\(dq`))
	}
	p.WriteString("\n")
}
