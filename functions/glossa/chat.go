package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"glossa/pkg/llm"

	"golang.org/x/term"
)

const chatHelp = `/reset       forget the conversation
/model       list the models
/model NAME  continue with another model
/help        show this list
/quit        leave, as Ctrl-D does; Ctrl-C stops an answer
`

// A conversation is a chat in a terminal or over a pipe. Answers go to out, all other
// output to notes.
type conversation struct {
	models   llm.Models
	model    *llm.Model
	release  context.CancelFunc // releases the model, so that its memory can be reused
	params   llm.Params
	turns    []turn // those still in the prompt, oldest first
	lines    <-chan line
	signals  <-chan os.Signal
	out      io.Writer
	notes    io.Writer
	terminal struct{ in, out, notes bool } // whether each of the three is a terminal
}

// A turn is a question and its answer.
type turn struct{ question, answer string }

// A line is one line of input, or the error that ended it.
type line struct {
	text string
	err  error
}

// Errors within an answer that end the conversation. Errors of the model do not.
var (
	errQuit   = errors.New("left")
	errOutput = errors.New("writing the answer")
)

// chatWith runs a conversation with the named model until its input ends. The first
// Ctrl-C would end ctx but stops only an answer here, so the conversation handles the
// signals itself.
func chatWith(ctx context.Context, models llm.Models, name string, params llm.Params, stdin io.Reader, stdout, stderr io.Writer) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	c := &conversation{
		models: models, params: params, signals: signals, out: stdout, notes: stderr,
		lines: readLines(ctx, stdin),
	}
	c.terminal.in, c.terminal.out, c.terminal.notes = isTerminal(stdin), isTerminal(stdout), isTerminal(stderr)
	if err := c.open(ctx, name); err != nil {
		return err
	}
	return c.run(ctx)
}

// isTerminal reports whether f is a terminal.
func isTerminal(f any) bool {
	file, ok := f.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// run answers each line until the input ends.
func (c *conversation) run(ctx context.Context) error {
	for {
		if c.terminal.in {
			fmt.Fprint(c.notes, "> ")
		}
		select {
		case l, ok := <-c.lines:
			if !ok || l.err != nil {
				c.newline()
				return l.err
			}
			if done, err := c.handleLine(ctx, strings.TrimSpace(l.text)); done || err != nil {
				return err
			}
		case s := <-c.signals:
			c.newline()
			if s != os.Interrupt {
				return nil
			}
			c.note("Ctrl-D or /quit leaves")
		}
	}
}

// handleLine handles one line of input. It reports whether the conversation is over.
func (c *conversation) handleLine(ctx context.Context, text string) (done bool, err error) {
	command, rest, _ := strings.Cut(text, " ")
	switch {
	case text == "":
		return false, nil
	case text == "/quit":
		return true, nil
	case text == "/help":
		_, err = io.WriteString(c.notes, chatHelp)
	case text == "/reset":
		c.turns = nil
		c.note("the conversation is forgotten")
	case text == "/model":
		err = c.list(ctx)
	case command == "/model":
		if e := c.open(ctx, strings.TrimSpace(rest)); e != nil {
			c.note(e.Error())
		}
	case strings.HasPrefix(text, "/"):
		c.note("there is no command " + command + ": /help lists them")
	default:
		err = c.answer(ctx, text)
	}
	if errors.Is(err, errQuit) {
		return true, nil
	}
	return false, err
}

// open switches to another model and keeps the conversation.
func (c *conversation) open(ctx context.Context, name string) error {
	ctx, cancel := context.WithCancel(ctx)
	model, err := c.models.Open(ctx, name)
	if err != nil {
		cancel()
		return err
	}
	if c.release != nil {
		c.release()
	}
	c.model, c.release = model, cancel
	about := model.Name
	if model.Context > 0 {
		about += fmt.Sprintf(", a context of %d tokens", model.Context)
	}
	c.note(about + ", /help for help")
	return nil
}

func (c *conversation) list(ctx context.Context) error {
	infos, err := c.models.List(ctx)
	for _, info := range infos {
		c.note(info.Name)
	}
	return err
}

// answer streams the answer to question and records both. An error of the model is
// printed and its question dropped; an error of the output ends the conversation.
func (c *conversation) answer(ctx context.Context, question string) error {
	var dropped int
	for c.exceedsContext(ctx, question) && len(c.turns) > 0 {
		c.turns = c.turns[1:]
		dropped++
	}
	for {
		if dropped > 0 {
			c.note(fmt.Sprintf("%d oldest %s dropped: context of %d tokens is full", dropped, plural("turn", dropped), c.model.Context))
		}
		text, err := c.generate(ctx, question)
		switch {
		case err == nil:
			c.turns = append(c.turns, turn{question, text})
			return nil
		case errors.Is(err, errQuit), errors.Is(err, errOutput):
			return err
		}
		// The count is an estimate where a chat template adds tokens.
		e := llm.AsError(err)
		if e.Code == llm.TooLong && len(c.turns) > 0 && text == "" {
			c.turns, dropped = c.turns[1:], 1
			continue
		}
		if text != "" {
			fmt.Fprintln(c.out)
		}
		c.note(e.Error())
		return nil
	}
}

// exceedsContext reports whether question after all turns leaves less room than an answer needs:
// MaxTokens, but never more than half the context.
func (c *conversation) exceedsContext(ctx context.Context, question string) bool {
	tokenizer, err := llm.As[llm.Tokenizer](c.model)
	if err != nil || c.model.Context == 0 {
		return false
	}
	used := min(*c.params.MaxTokens, c.model.Context/2)
	for _, m := range c.messages(question) {
		tokens, err := tokenizer.Tokenize(ctx, m.Parts[0], false)
		if err != nil {
			return false // Generate returns the error
		}
		used += len(tokens) + 1 // the separator of two messages
	}
	return used > c.model.Context
}

// messages returns the conversation with question as its last message.
func (c *conversation) messages(question string) []llm.Message {
	message := func(role, text string) llm.Message {
		return llm.Message{Role: role, Parts: []llm.Part{{Text: text}}}
	}
	var all []llm.Message
	for _, t := range c.turns {
		all = append(all, message("user", t.question), message("assistant", t.answer))
	}
	return append(all, message("user", question))
}

// generate streams one answer to the output and returns it.
func (c *conversation) generate(ctx context.Context, question string) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	var watch sync.WaitGroup
	var got os.Signal // read after watch has ended
	watch.Go(func() {
		select {
		case got = <-c.signals:
			cancel()
		case <-ctx.Done():
		}
	})
	start := time.Now()
	text, finish, usage, err := c.stream(ctx, &llm.Request{
		Prompts: []llm.Prompt{{Messages: c.messages(question)}}, Stream: true,
		Params:   c.params,
		Defaults: llm.Params{TopK: new(40)}, // seed 002
	})
	took := time.Since(start)
	cancel()
	watch.Wait()
	stopped := got != nil && (err == nil || errors.Is(err, context.Canceled))
	if err != nil && !stopped {
		return text, err
	}
	about := fmt.Sprintf("%d %s, %.0f tokens/s", usage.Output, plural("token", usage.Output), float64(usage.Output)/took.Seconds())
	switch {
	case stopped:
		about += ", stopped"
	case finish == llm.FinishContext:
		about += fmt.Sprintf(", context of %d tokens is full", c.model.Context)
	}
	c.note(about)
	if stopped && got != os.Interrupt {
		return text, errQuit
	}
	return text, nil
}

// stream writes the answer as it comes.
func (c *conversation) stream(ctx context.Context, req *llm.Request) (string, llm.Finish, llm.Usage, error) {
	var text strings.Builder
	var last llm.Chunk
	var usage llm.Usage
	for chunk, err := range c.model.Generate(ctx, req) {
		if err != nil {
			return text.String(), "", usage, err
		}
		text.WriteString(chunk.Text)
		if last = chunk; chunk.Usage != nil {
			usage = *chunk.Usage
		}
		if _, err := io.WriteString(c.out, c.clean(chunk.Text)); err != nil {
			return text.String(), "", usage, fmt.Errorf("%w: %w", errOutput, err)
		}
	}
	if _, err := io.WriteString(c.out, "\n"); err != nil {
		return text.String(), "", usage, fmt.Errorf("%w: %w", errOutput, err)
	}
	return text.String(), last.Finish, usage, nil
}

// clean removes control characters, which could control the terminal.
func (c *conversation) clean(text string) string {
	if !c.terminal.out {
		return text
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
}

// note prints a note about the conversation, dimmed on a terminal.
func (c *conversation) note(text string) {
	format := "(%s)\n"
	if c.terminal.notes {
		format = "\x1b[2m(%s)\x1b[0m\n"
	}
	fmt.Fprintf(c.notes, format, text)
}

// newline ends the line of the input prompt.
func (c *conversation) newline() {
	if c.terminal.in {
		fmt.Fprintln(c.notes)
	}
}

func plural(noun string, n int) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}
