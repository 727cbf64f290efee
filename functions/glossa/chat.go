package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"glossa/pkg/repl"
	"glossa/pkg/terminal"
)

// chatOptions holds the flags and arguments of glossa chat.
type chatOptions struct {
	repl.Config
	checkpoints string
	prompt      string // of one answer; "": a conversation, or a prompt on standard input
	json        bool
	interactive bool
	noHistory   bool
}

// chatCommand returns glossa chat, which talks with a model of this process. With a prompt, as an
// argument or on the standard input, it prints one answer.
func (p *program) chatCommand() *cobra.Command {
	c := &chatOptions{}
	cmd := &cobra.Command{
		Use: "chat [MODEL [PROMPT]]", Short: "Chat with a model in the terminal",
		Long: `Chat with a model in the terminal. With a prompt, as an argument or on the
standard input, it prints one answer. Without MODEL the default model answers;
/help lists the commands of a chat.`,
		Example: `  glossa chat novels
  glossa chat novels "The old lighthouse"
  echo 'The old lighthouse' | glossa chat novels
  glossa chat mine --checkpoints runs --temperature 0`,
		ValidArgsFunction: p.completeChats,
	}
	c.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c.complete(args)
		a, err := p.open(c.checkpoints, "")
		if err != nil {
			return err
		}
		c.Models = a.Models()
		return c.run(cmd.Context(), repl.Streams{In: p.stdin, Out: p.stdout, Notes: p.stderr})
	}
	return cmd
}

// run asks one question if there is a prompt or a pipe, else it begins a conversation.
func (c *chatOptions) run(ctx context.Context, streams repl.Streams) error {
	if err := c.check(streams.In); err != nil {
		return err
	}
	piped := !terminal.Is(streams.In) && !c.interactive
	if c.prompt == "" && !piped {
		return repl.Chat(ctx, c.Config, streams)
	}
	err := repl.Ask(ctx, c.Config, repl.Question{Text: c.prompt, Pipe: piped, JSON: c.json}, streams)
	if errors.Is(err, repl.ErrNoPrompt) {
		return usageError{err}
	}
	return err
}

// check returns an error if the flags contradict the prompt.
func (c *chatOptions) check(in io.Reader) error {
	conversation := c.prompt == "" && (c.interactive || terminal.Is(in))
	switch {
	case c.json && conversation:
		return usagef("--json needs a prompt")
	case c.interactive && !conversation:
		return usagef("--interactive takes no prompt")
	}
	return nil
}

// flags adds the flags.
func (c *chatOptions) flags(cmd *cobra.Command) {
	checkpointsFlag(cmd, &c.checkpoints)
	f := cmd.Flags()
	f.StringVar(&c.System, "system", "", "system message `text`")
	f.Func("param", "`name=value` of a parameter, repeatable: "+strings.Join(repl.Names(), ", "), func(text string) error { return repl.Set(&c.Params, text) })
	for flag, param := range map[string]string{"temperature": "temperature", "max-tokens": "max_tokens", "seed": "seed"} {
		f.Func(flag, "`value` of --param "+param, func(text string) error { return repl.Set(&c.Params, param+"="+text) })
	}
	f.BoolVar(&c.json, "json", false, "print one answer with its usage as JSON")
	f.BoolVar(&c.interactive, "interactive", false, "hold a conversation even if standard input is a pipe: each line is a question or a command")
	f.BoolVar(&c.noHistory, "no-history", false, "neither read nor write the history of earlier sessions")
	f.BoolVar(&c.NoStats, "no-stats", false, "do not show the speed of answers")
	f.BoolVar(&c.NoWrap, "no-wrap", false, "do not wrap lines at the terminal's width")
}

// complete adds the arguments, and its part of the environment.
func (c *chatOptions) complete(args []string) {
	if len(args) > 0 {
		c.Model, c.prompt = args[0], strings.Join(args[1:], " ")
	}
	c.NoColor, c.Dumb = os.Getenv("NO_COLOR") != "", os.Getenv("TERM") == "dumb"
	if !c.noHistory {
		c.History = historyFile()
	}
}

// historyFile returns the file of the lines of earlier sessions, "" if there is no place
// for it: XDG_STATE_HOME or its default, on Windows the local application data.
func historyFile() string {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) { // as the XDG specification demands
		home, err := os.UserHomeDir()
		if runtime.GOOS == "windows" {
			home, err = os.UserCacheDir()
		}
		if err != nil {
			return ""
		}
		state = filepath.Join(home, ".local", "state")
		if runtime.GOOS == "windows" {
			state = home
		}
	}
	return filepath.Join(state, "glossa", "chat_history")
}

// plural returns noun, in the plural unless n is 1.
func plural(noun string, n int) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}
