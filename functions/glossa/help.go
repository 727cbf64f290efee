package main

import (
	"bytes"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpCommand returns glossa help.
func (p *program) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Show the help of a command",
		Example: "  glossa help serve\n  glossa help models add", DisableFlagsInUseLine: true,
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			parent, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return commandNames(parent), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			found, rest, err := c.Root().Find(args)
			if err != nil {
				return usageError{err}
			}
			if len(rest) > 0 {
				return unknownCommand(found, rest[0])
			}
			found.InitDefaultHelpFlag()
			p.help(found, nil)
			return nil
		},
	}
}

// help prints the help of a command: what it does, its usage, commands, flags and examples.
func (p *program) help(c *cobra.Command, _ []string) {
	columns := newBar(p.stdout).columns // 0 does not wrap
	w := &bytes.Buffer{}
	defer func() { _, p.unwritten = w.WriteTo(p.stdout) }()
	fmt.Fprintf(w, "%s\n\nUsage:\n", description(c))
	for _, line := range synopsis(c) {
		fmt.Fprintln(w, "  "+line)
	}
	if c.HasAvailableSubCommands() {
		printCommands(w, c)
	}
	if flags := c.LocalFlags(); flags.HasAvailableFlags() {
		fmt.Fprintf(w, "\nFlags:\n%s", flags.FlagUsagesWrapped(columns))
	}
	if flags := c.InheritedFlags(); flags.HasAvailableFlags() {
		fmt.Fprintf(w, "\nGlobal flags:\n%s", flags.FlagUsagesWrapped(columns))
	}
	if c.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", c.Example)
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\nRun '%s COMMAND --help' for the flags of a command.\n", c.CommandPath())
	}
}

// description returns the description of a command, which ends with a full stop.
func description(c *cobra.Command) string {
	if c.Long != "" {
		return c.Long
	}
	return c.Short + "."
}

// synopsis returns the usage lines of a command.
func synopsis(c *cobra.Command) (lines []string) {
	if c.Runnable() && (!c.HasAvailableSubCommands() || c.Args == nil || c.HasParent() && c.LocalFlags().HasAvailableFlags()) {
		lines = append(lines, c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		lines = append(lines, c.CommandPath()+" COMMAND [flags]")
	}
	return lines
}

// printCommands prints the commands of a command by their groups.
func printCommands(w io.Writer, c *cobra.Command) {
	print := func(title, group string) {
		fmt.Fprintf(w, "\n%s\n", title)
		for _, sub := range c.Commands() {
			if sub.GroupID == group && sub.IsAvailableCommand() {
				fmt.Fprintf(w, "  %-*s  %s\n", c.Commands()[0].NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	if len(c.Groups()) == 0 {
		print("Commands:", "")
	}
	for _, group := range c.Groups() {
		print(group.Title, group.ID)
	}
}

// withVariables adds its environment variable to the description of each named flag.
func withVariables(f *pflag.FlagSet, names ...string) {
	for _, name := range names {
		f.Lookup(name).Usage += " [$" + variable(name) + "]"
	}
}
