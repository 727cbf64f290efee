package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"glossa/pkg/repl"
	"glossa/pkg/terminal"
)

const chatUsage = `[MODEL [PROMPT]] [--system TEXT] [--param NAME=VALUE ...] [--json]
       echo PROMPT | glossa chat MODEL [INSTRUCTION]`

// A chatCommand is what the flags and arguments of chat say.
type chatCommand struct {
	repl.Config
	checkpoints string
	prompt      string // of one answer; "": a conversation, or a prompt on standard input
	json        bool
	interactive bool
	noHistory   bool
}

// chat talks with a model of this process. With a prompt, as an argument or on standard
// input, it prints one answer.
func chat(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	c, err := parseChat(args, stdout)
	if err != nil {
		return err
	}
	a, err := open(c.checkpoints)
	if err != nil {
		return err
	}
	c.Models = a.Models()
	return c.run(ctx, repl.Streams{In: stdin, Out: stdout, Notes: stderr})
}

// run asks one question if there is a prompt or a pipe, else it begins a conversation.
func (c *chatCommand) run(ctx context.Context, streams repl.Streams) error {
	piped := !terminal.Is(streams.In) && !c.interactive
	conversation := c.prompt == "" && !piped
	switch {
	case c.json && conversation:
		return fmt.Errorf("%w: --json needs a prompt", errUsage)
	case c.interactive && !conversation:
		return fmt.Errorf("%w: --interactive takes no prompt", errUsage)
	case conversation:
		return repl.Chat(ctx, c.Config, streams)
	}
	err := repl.Ask(ctx, c.Config, repl.Question{Text: c.prompt, Pipe: piped, JSON: c.json}, streams)
	if errors.Is(err, repl.ErrNoPrompt) {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	return err
}

// parseChat reads the flags and arguments of chat, and its part of the environment.
func parseChat(args []string, stdout io.Writer) (*chatCommand, error) {
	c := &chatCommand{}
	f := flags("chat", chatUsage, stdout)
	f.StringVar(&c.checkpoints, "checkpoints", "", "`directory` of training runs, in addition to the starters (GLOSSA_CHECKPOINTS)")
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
	rest, err := parseAll(f, args)
	if err != nil {
		return nil, err
	}
	if len(rest) > 0 {
		c.Model, c.prompt = rest[0], strings.Join(rest[1:], " ")
	}
	c.NoColor, c.Dumb = os.Getenv("NO_COLOR") != "", os.Getenv("TERM") == "dumb"
	if !c.noHistory {
		c.History = historyFile()
	}
	return c, nil
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
