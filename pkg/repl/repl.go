// Package repl is the conversation of glossa chat: it reads a person's questions, streams
// the answers of a model, and obeys the commands that begin with a slash. [Ask] answers
// one question and ends, for scripts.
//
// It knows [llm.Models] and the terminal. It refuses to know flags, the environment and
// where models come from.
package repl

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"glossa/pkg/llm"
	"glossa/pkg/terminal"
)

// Config configures a conversation.
type Config struct {
	Models  llm.Models
	Model   string     // "": the first that can chat
	System  string     // the system message; "": none
	Params  llm.Params // those that the person set, see [Set]
	NoStats bool       // do not show the speed of answers
	NoWrap  bool       // leave lines as long as the model writes them
	NoColor bool
	Dumb    bool   // the terminal cannot move its cursor
	History string // file of the lines of earlier sessions; "": none
}

// Streams are the streams of a program. Answers go to Out, all other output to Notes.
type Streams struct {
	In         io.Reader
	Out, Notes io.Writer
}

// A session is a conversation.
type session struct {
	Config
	screen
	model   *llm.Model
	release context.CancelFunc // releases the model, so that its memory can be reused
	turns   []turn             // those still in the prompt, oldest first
	lines   *prompter
	signals <-chan os.Signal
	// interrupted is set after a Ctrl-C; another one at the prompt leaves.
	interrupted bool
}

// A turn is a question and its answer.
type turn struct{ question, answer string }

// Errors within an answer that end the conversation. Errors of the model do not.
var (
	errQuit   = errors.New("left")
	errOutput = errors.New("writing the answer")
)

// Chat runs a conversation until its input ends. The first Ctrl-C would end ctx but only
// stops an answer here, so the conversation handles the signals itself.
func Chat(ctx context.Context, cfg Config, streams Streams) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	s := newSession(cfg, streams, signals)
	if err := s.open(ctx, cfg.Model); err != nil {
		return err
	}
	s.greet()
	closing, err := s.read(ctx, streams.In)
	if err != nil {
		return err
	}
	return errors.Join(s.run(ctx), closing())
}

// newSession returns a session that reads nothing yet.
func newSession(cfg Config, streams Streams, signals <-chan os.Signal) *session {
	return &session{Config: cfg, screen: newScreen(cfg, streams), signals: signals}
}

// read opens the input: an editor if the person sits at a terminal that can have one.
func (s *session) read(ctx context.Context, in io.Reader) (closing func() error, err error) {
	if s.Dumb || !terminal.Is(in) || !s.outTerminal || !s.notesTerminal {
		s.prompt = terminal.Is(in)
		s.lines = newPrompter(terminal.NewLines(in))
		return func() error { return nil }, nil
	}
	editor, err := terminal.Open(terminal.Config{
		History:  s.History,
		Complete: func(line string) []terminal.Completion { return s.complete(ctx, line) },
	})
	if editor == nil {
		return nil, err
	}
	if err != nil {
		s.note(err.Error())
	}
	s.lines = newPrompter(editor)
	return editor.Close, nil
}

// run answers each line until the input ends.
func (s *session) run(ctx context.Context) error {
	for {
		if s.prompt {
			io.WriteString(s.notes, prompt)
		}
		select {
		case l := <-s.lines.next():
			s.lines.reading = false
			done, err := s.line(ctx, l)
			if done || err != nil {
				return err
			}
		case signal := <-s.signals: // an editor's Ctrl-C comes as a line
			s.newline()
			if signal != os.Interrupt || !s.stay() {
				return nil
			}
		}
	}
}

// line handles a line of input or the error that came instead. It reports whether the
// conversation is over.
func (s *session) line(ctx context.Context, l line) (done bool, err error) {
	switch {
	case errors.Is(l.err, terminal.ErrInterrupt):
		return !s.stay(), nil
	case errors.Is(l.err, io.EOF):
		s.newline()
		return true, nil
	case l.err != nil:
		return true, l.err
	}
	s.interrupted = false
	err = s.handle(ctx, l.text)
	if errors.Is(err, errQuit) {
		return true, nil
	}
	return false, err
}

// stay reports whether a Ctrl-C at the prompt is the first in a row.
func (s *session) stay() bool {
	if s.interrupted {
		return false
	}
	s.interrupted = true
	s.note("Ctrl-C again or Ctrl-D leaves")
	return true
}

// handle answers a question or obeys a command.
func (s *session) handle(ctx context.Context, text string) error {
	switch {
	case text == "":
		return nil
	case text[0] == '/':
		return s.obey(ctx, text)
	}
	_, err := s.answer(ctx, text)
	return err
}
