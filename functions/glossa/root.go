package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Groups of commands in the help.
const (
	groupUse      = "use"
	groupMake     = "make"
	groupAccounts = "accounts"
	groupAbout    = "about"
)

// root returns the tree of commands.
func (p *program) root() *cobra.Command {
	c := &cobra.Command{
		Use:   "glossa",
		Short: "Serve language models and manage them",
		Long: `glossa serves language models over HTTP, on your machine with one command or
from AWS Lambda. It also trains, downloads, measures and publishes models.`,
		Example: `  glossa serve
  glossa chat novels
  glossa run Qwen/Qwen3-0.6B
  glossa serve --checkpoints runs`,
		Args: subcommand, SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	show := c.Flags().Bool("version", false, "print the version and exit")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *show {
			return p.printVersion(false)
		}
		return c.Help()
	}
	c.PersistentFlags().StringVar(&p.settings.path, "config", "", "`file` of settings; glossa config shows the default [$"+configVariable+"]")
	c.SetHelpFunc(p.help)
	c.SetFlagErrorFunc(p.flagError)
	c.AddGroup(
		&cobra.Group{ID: groupUse, Title: "Use models:"}, &cobra.Group{ID: groupMake, Title: "Make models:"},
		&cobra.Group{ID: groupAccounts, Title: "Manage accounts:"}, &cobra.Group{ID: groupAbout, Title: "Other commands:"},
	)
	add := func(group string, commands ...*cobra.Command) {
		for _, sub := range commands {
			sub.GroupID = group
			c.AddCommand(sub)
		}
	}
	add(groupUse, p.runCommand(), p.serveCommand(), p.chatCommand(), p.modelsCommand(), p.pullCommand())
	add(groupMake, p.trainCommand(), p.packCommand(), p.publishCommand(), p.benchCommand(), p.estimateCommand(), p.corpusCommand())
	add(groupAccounts, p.userCommand(), p.keyCommand(), p.teamCommand())
	add(groupAbout, p.configCommand(), p.healthCommand(), p.functionCommand(), p.versionCommand(), p.completionCommand(), p.manCommand())
	help := p.helpCommand()
	help.GroupID = groupAbout
	c.SetHelpCommand(help)
	return c
}

// errUsage marks errors of the command line, which end with [exitUsage].
var errUsage = errors.New("usage")

// A usageError is an error of the command line.
type usageError struct{ error }

// Is reports whether target is [errUsage].
func (e usageError) Is(target error) bool { return target == errUsage }

// Unwrap returns the error itself.
func (e usageError) Unwrap() error { return e.error }

// usagef formats an error of the command line.
func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// positional returns a check of the number of arguments. The names are those of the usage line,
// of which the first n are required.
func positional(n int, names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < n:
			return usagef("missing argument %s", names[len(args)])
		case len(args) > len(names):
			return usagef("unexpected argument %q", args[len(names)])
		}
		return nil
	}
}

// subcommand rejects the arguments of a command that has commands of its own.
func subcommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return unknownCommand(c, args[0])
}

// needsSubcommand is the action of a command that does nothing without a command of its own.
func needsSubcommand(c *cobra.Command, _ []string) error {
	return usagef("missing command: %s", strings.Join(commandNames(c), ", "))
}

// commandNames returns the names of a command's visible commands.
func commandNames(c *cobra.Command) (names []string) {
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return names
}

// unknownCommand returns the error of a misspelt command.
func unknownCommand(c *cobra.Command, name string) error {
	return usagef("unknown command %q%s", name, didYouMean(name, commandNames(c)))
}

// didYouMean returns the known words that a misspelt one may stand for; "" if there is none.
func didYouMean(word string, known []string) string {
	near := &cobra.Command{SuggestionsMinimumDistance: 2} // mistakes, as in cobra's own suggestions
	if len(word) < 4 {
		near.SuggestionsMinimumDistance = 1
	}
	for _, name := range known {
		near.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	words := near.SuggestionsFor(word)
	if len(words) == 0 {
		return ""
	}
	for i := range words {
		words[i] = fmt.Sprintf("%q", words[i])
	}
	return "; did you mean " + strings.Join(words, " or ") + "?"
}

// flagError rewrites an error of the flags: it names the flag, and suggests the nearest one.
func (p *program) flagError(c *cobra.Command, err error) error {
	if name, ok := p.misspelt(c); ok {
		return unknownCommand(c, name)
	}
	if missing, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return p.unknownFlag(c, missing)
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return usagef("--%s: %w", invalid.GetFlag().Name, valueError(invalid.GetFlag(), invalid.GetValue(), invalid.Unwrap()))
	}
	if without, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return usagef("--%s needs a value", without.GetFlag().Name)
	}
	return usageError{err}
}

// misspelt returns the first argument of a command that has commands, if it is none of them:
// the flags of an unknown command are unknown too.
func (p *program) misspelt(c *cobra.Command) (name string, ok bool) {
	if !c.HasSubCommands() {
		return "", false
	}
	_, rest, _ := c.Root().Find(p.args) // c, which was found before
	if len(rest) == 0 || strings.HasPrefix(rest[0], "-") {
		return "", false
	}
	return rest[0], true
}

// unknownFlag returns the error of a flag that does not exist.
func (p *program) unknownFlag(c *cobra.Command, missing *pflag.NotExistError) error {
	names := flagNames(c)
	for _, arg := range p.args { // Go's own flags accept one dash
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		if len(name) > 1 && strings.HasPrefix(arg, "-") && slices.Contains(names, "--"+name) {
			return usagef("unknown flag %q; did you mean %q?", "-"+name, "--"+name)
		}
	}
	if missing.GetSpecifiedShortnames() != "" {
		return usagef("unknown flag %q", "-"+missing.GetSpecifiedShortnames())
	}
	name := "--" + missing.GetSpecifiedName()
	return usagef("unknown flag %q%s", name, didYouMean(name, names))
}

// flagNames returns the flags of a command as they are written.
func flagNames(c *cobra.Command) (names []string) {
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	return names
}

// valueError says what a flag's value must be.
func valueError(f *pflag.Flag, value string, err error) error {
	switch f.Value.Type() {
	case "int", "int64":
		return fmt.Errorf("%q must be an integer", value)
	case "uint64":
		return fmt.Errorf("%q must be an integer and not negative", value)
	case "float64":
		return fmt.Errorf("%q must be a number", value)
	case "bool":
		return fmt.Errorf("%q must be true or false", value)
	case "duration":
		return fmt.Errorf("%q must be a duration with a unit, such as 30s or 5m", value)
	}
	return err
}
