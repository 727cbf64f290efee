package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"glossa/pkg/app"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/repl"
	"glossa/pkg/starter"
)

// completionCommand returns glossa completion.
func (p *program) completionCommand() *cobra.Command {
	shells := map[string]func(*cobra.Command) error{
		"bash":       func(root *cobra.Command) error { return root.GenBashCompletionV2(p.stdout, true) },
		"zsh":        func(root *cobra.Command) error { return root.GenZshCompletion(p.stdout) },
		"fish":       func(root *cobra.Command) error { return root.GenFishCompletion(p.stdout, true) },
		"powershell": func(root *cobra.Command) error { return root.GenPowerShellCompletionWithDesc(p.stdout) },
	}
	names := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use: "completion bash|zsh|fish|powershell", Short: "Print the completion script of a shell",
		Long: `Print a script that completes commands, flags and names of models in a shell.
In bash it needs the package bash-completion.`,
		Example: `  source <(glossa completion bash)
  glossa completion bash > /etc/bash_completion.d/glossa
  glossa completion zsh > "${fpath[1]}/_glossa"
  glossa completion fish > ~/.config/fish/completions/glossa.fish`,
		Args: positional(1, "SHELL"), ValidArgs: names, DisableFlagsInUseLine: true,
		RunE: func(c *cobra.Command, args []string) error {
			write, ok := shells[args[0]]
			if !ok {
				return usagef("unknown shell %q: must be %s", args[0], strings.Join(names, ", "))
			}
			return write(c.Root())
		},
	}
}

// completeModels completes the first argument with the names of models.
func (p *program) completeModels(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return p.completeNames(c, args, starter.Names())
}

// completeChats is completeModels without the starters that cannot chat.
func (p *program) completeChats(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	a, err := app.New(app.Config{Starters: starter.Runs()})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return p.completeNames(c, args, repl.Chatting(c.Context(), a.Models()))
}

// completeNames completes the first argument with the names of starters and of the models in
// the directory of --checkpoints or the shared one, without opening them.
func (p *program) completeNames(c *cobra.Command, args, names []string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	dir, err := c.Flags().GetString("checkpoints")
	if err == nil && dir == "" {
		if err = p.settings.load(); err == nil {
			dir = cmp.Or(p.settings.get(variable("checkpoints")), p.existingHome())
		}
	}
	if err == nil && dir != "" && !strings.HasPrefix(dir, "s3:") {
		entries, _ := os.ReadDir(dir) // an unreadable directory completes nothing
		for _, e := range entries {
			name := strings.TrimSuffix(strings.TrimSuffix(e.Name(), ".gguf"), checkpoint.PackSuffix)
			if !strings.HasPrefix(name, ".") && (e.IsDir() || name != e.Name()) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
}

// completeWords makes a flag complete fixed words.
func completeWords(c *cobra.Command, flag string, words ...string) {
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(fmt.Sprintf("%s: %v", c.Name(), err)) // the flag does not exist
	}
}

// completeDirectory makes a flag complete directories.
func completeDirectory(c *cobra.Command, flag string) {
	if err := c.MarkFlagDirname(flag); err != nil {
		panic(fmt.Sprintf("%s: %v", c.Name(), err)) // the flag does not exist
	}
}
