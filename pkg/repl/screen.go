package repl

import (
	"fmt"
	"io"
	"strings"

	"glossa/pkg/terminal"
)

// A screen is where a conversation appears.
type screen struct {
	out, notes                 io.Writer
	outTerminal, notesTerminal bool
	wrap, colour               bool
	prompt                     bool // lines come from a terminal without an editor
}

func newScreen(cfg Config, streams Streams) screen {
	s := screen{
		out: streams.Out, notes: streams.Notes,
		outTerminal: terminal.Is(streams.Out), notesTerminal: terminal.Is(streams.Notes),
	}
	s.wrap = s.outTerminal && !cfg.NoWrap
	s.colour = s.notesTerminal && !cfg.NoColor && !cfg.Dumb
	return s
}

// A page takes the text of one answer.
type page interface {
	io.StringWriter
	End() error
}

// page returns where an answer goes: a pipe gets it as it is, a terminal without control
// characters, which could control it.
func (s *screen) page() page {
	switch {
	case s.wrap:
		return cleaned{terminal.NewWrapper(s.out, func() int { return terminal.Columns(s.out) })}
	case s.outTerminal:
		return cleaned{plain{s.out}}
	}
	return plain{s.out}
}

// cleaned is a page without control characters.
type cleaned struct{ page }

func (p cleaned) WriteString(text string) (int, error) {
	return p.page.WriteString(terminal.Clean(text))
}

// plain is a page as long as its lines are.
type plain struct{ w io.Writer }

func (p plain) WriteString(text string) (int, error) { return io.WriteString(p.w, text) }

func (p plain) End() error {
	_, err := io.WriteString(p.w, "\n")
	return err
}

// note prints a note about the conversation, dimmed on a terminal.
func (s *screen) note(text string) { s.remark("(" + text + ")") }

// remark prints a text that is not part of the conversation, dimmed on a terminal.
func (s *screen) remark(text string) {
	if !s.notesTerminal {
		fmt.Fprintln(s.notes, text)
		return
	}
	before, after := "", ""
	if s.colour {
		before, after = "\x1b[2m", "\x1b[0m"
	}
	var b strings.Builder // written at once: an editor may draw its prompt meanwhile
	b.WriteString(before)
	w := terminal.NewWrapper(&b, func() int { return terminal.Columns(s.notes) })
	w.WriteString(terminal.Clean(text))
	w.End()
	b.WriteString(after)
	io.WriteString(s.notes, b.String()) // like other notes, best effort
}

// newline ends the line of a prompt.
func (s *screen) newline() {
	if s.prompt {
		fmt.Fprintln(s.notes)
	}
}

// plural returns noun, in the plural unless n is 1.
func plural(noun string, n int) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}
