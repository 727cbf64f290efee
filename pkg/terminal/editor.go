package terminal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/reeflective/readline"
	"golang.org/x/term"
)

// ErrInterrupt is returned for Ctrl-C.
var ErrInterrupt = errors.New("interrupted")

// A Completion is a text that can replace the word before the cursor.
type Completion struct {
	Text, Description string
}

// Config configures an [Editor].
type Config struct {
	History  string                         // file of the lines of earlier sessions; "": none
	Complete func(line string) []Completion // of the last word of line; may be nil
}

// An Editor reads lines from the terminal of standard input, which Emacs keys edit, or
// those of the user's .inputrc. While no line is read, the terminal shows nothing of what
// is typed and keeps it for the next line; Ctrl-C still sends an interrupt.
type Editor struct {
	shell  *readline.Shell
	prompt string
	before *term.State // of the terminal
	out    io.Writer

	mu     sync.Mutex // held while the shell switches the terminal to its own mode
	held   bool       // by the goroutine of Line
	closed bool
}

// pasting makes a terminal mark pasted text, so that its line feeds do not end a line.
const pasting, notPasting = "\x1b[?2004h", "\x1b[?2004l"

const showCursor = "\x1b[?25h" // the editor hides it while it draws

// Open takes over the terminal until [Editor.Close]. An error of the history comes with an
// editor that works without.
func Open(cfg Config) (*Editor, error) {
	lines, historyErr := openHistory(cfg.History)
	if historyErr != nil {
		lines = &history{}
	}
	fd := int(os.Stdin.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return nil, fmt.Errorf("terminal: %w", err)
	}
	if err := silence(fd); err != nil {
		return nil, fmt.Errorf("terminal: %w", err)
	}
	e := &Editor{shell: readline.NewShell(), before: before, out: os.Stdout}
	e.configure(cfg)
	e.shell.History.Add("history", lines)
	io.WriteString(e.out, pasting)
	return e, historyErr
}

// configure sets the options and the keys that the editor needs.
func (e *Editor) configure(cfg Config) {
	for name, value := range options() {
		e.shell.Config.Vars[name] = value
	}
	e.bind()
	e.shell.Prompt.Primary(func() string {
		e.started() // the shell shows its prompt after it has switched
		return e.prompt
	})
	e.shell.Prompt.Secondary(func() string { return "" })
	e.shell.PasteTransformer = Clean
	e.shell.AcceptMultiline = e.complete
	if cfg.Complete != nil {
		e.shell.Completer = func(line []rune, cursor int) readline.Completions {
			return completions(cfg.Complete(string(line[:cursor])))
		}
	}
}

// completions translates to the editor's type.
func completions(list []Completion) readline.Completions {
	candidates := make([]readline.Completion, len(list))
	for i, c := range list {
		candidates[i] = readline.Completion{Value: c.Text, Display: Clean(c.Text), Description: Clean(c.Description)}
	}
	all := readline.CompleteRaw(candidates).NoSort()
	return all.NoSpace('/', '=')
}

// complete reports whether Enter ends the input. If not, it removes the backslash that
// says so.
func (e *Editor) complete(line []rune) bool {
	if e.shell.Cursor().Pos() < len(line) && !strings.HasPrefix(strings.TrimSpace(string(line)), fence) {
		return true
	}
	before, more := continues(string(line))
	if more && before != string(line) {
		e.shell.Line().Set([]rune(before)...)
		e.shell.Cursor().Set(e.shell.Line().Len())
	}
	return !more
}

// Line reads a line, or several that belong together. It returns [ErrInterrupt] for Ctrl-C
// and [io.EOF] for Ctrl-D on an empty line.
func (e *Editor) Line(prompt string) (string, error) {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return "", io.EOF
	}
	e.held, e.prompt = true, prompt
	text, err := e.shell.Readline()
	e.started()
	io.WriteString(e.out, pasting) // the editor has switched it off
	switch {
	case errors.Is(err, readline.ErrInterrupt):
		return text, ErrInterrupt
	case err != nil:
		return text, err
	}
	return unfence(text), nil
}

// started lets [Editor.Close] go on.
func (e *Editor) started() {
	if e.held {
		e.held = false
		e.mu.Unlock()
	}
}

// Close returns the terminal as it was, also while a line is read.
func (e *Editor) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	io.WriteString(e.out, notPasting+showCursor)
	return term.Restore(int(os.Stdin.Fd()), e.before)
}
