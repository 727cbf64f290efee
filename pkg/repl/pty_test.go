//go:build unix

package repl

import (
	"context"
	"io"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"

	"github.com/creack/pty"
	"golang.org/x/term"
)

// hanging is how long a conversation may be silent before a test fails.
const hanging = time.Minute

// child is the name under which the test binary holds a conversation.
const child = "repl-child"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == child {
		os.Exit(converseAsChild(os.Args[1], os.Args[2] == "dumb"))
	}
	os.Exit(m.Run())
}

// converseAsChild holds a conversation with a model that quotes its question. Asked to be
// slow, it writes a word for each byte that it reads from file 3.
func converseAsChild(history string, dumb bool) int {
	steps := make(chan struct{})
	go func() {
		gate, b := os.NewFile(3, "gate"), make([]byte, 1)
		for {
			if _, err := gate.Read(b); err != nil {
				return
			}
			steps <- struct{}{}
		}
	}()
	quote := echo{say: func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
		m := req.Prompts[0].Messages
		switch text := m[len(m)-1].Parts[0].Text; text {
		case "slow":
			return slowly(ctx, steps)
		case "evil":
			return llmtest.Script{"a\x1b]52;c;aGk=\x07", "b\x1b[2Jc\n"}.Generate(ctx, req)
		case "long":
			return llmtest.Script{strings.Repeat("word ", 30)}.Generate(ctx, req)
		default:
			return llmtest.Script{strconv.Quote(text)}.Generate(ctx, req)
		}
	}}
	models := several()
	models.backends["novels"], models.backends["numbers"] = quote, quote
	err := Chat(context.Background(), Config{Models: models, History: history, Dumb: dumb}, Streams{os.Stdin, os.Stdout, os.Stderr})
	if err != nil {
		os.Stderr.WriteString(err.Error())
		return 1
	}
	return 0
}

// slowly writes a numbered word for each step until there are five.
func slowly(ctx context.Context, steps <-chan struct{}) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		for i := range 5 {
			select {
			case <-steps:
			case <-ctx.Done():
				yield(llm.Chunk{Finish: llm.FinishCancelled, Usage: &llm.Usage{Output: i}}, nil)
				return
			}
			if !yield(llm.Chunk{Text: "word" + strconv.Itoa(i) + " "}, nil) {
				return
			}
		}
		yield(llm.Chunk{Finish: llm.FinishEOS, Usage: &llm.Usage{Output: 5}}, nil)
	}
}

// A desk is a person's terminal with a conversation.
type desk struct {
	t       *testing.T
	tty     *os.File
	gate    *os.File
	output  chan []byte
	seen    string // not yet expected
	cmd     *exec.Cmd
	history string
}

// sit starts a conversation at a terminal of 40 columns.
func sit(t *testing.T, history, kind string) *desk {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Args = []string{child, history, kind}
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "INPUTRC=/dev/null", "HOME="+t.TempDir())
	cmd.ExtraFiles = []*os.File{r}
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 40})
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	r.Close()
	d := &desk{t: t, tty: tty, gate: w, output: make(chan []byte, 100), cmd: cmd, history: history}
	go func() {
		defer close(d.output)
		for {
			b := make([]byte, 4096)
			n, err := tty.Read(b)
			if n > 0 {
				d.output <- b[:n]
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		w.Close()
		cmd.Process.Kill() // if it has not ended
		for range d.output {
		}
		tty.Close()
	})
	d.expect("> ")
	return d
}

// send types keys.
func (d *desk) send(keys string) {
	d.t.Helper()
	if _, err := io.WriteString(d.tty, keys); err != nil {
		d.t.Fatal(err)
	}
}

// step lets a slow model write n words.
func (d *desk) step(n int) {
	d.t.Helper()
	if _, err := io.WriteString(d.gate, strings.Repeat("x", n)); err != nil {
		d.t.Fatal(err)
	}
}

// expect waits for a text on the screen and returns what came before it.
func (d *desk) expect(text string) string {
	d.t.Helper()
	hang := time.After(hanging)
	for {
		if before, after, ok := strings.Cut(d.seen, text); ok {
			d.seen = after
			return before
		}
		select {
		case b, ok := <-d.output:
			if !ok {
				d.t.Fatalf("the conversation ended: %q lacks %q", d.seen, text)
			}
			d.seen += string(b)
		case <-hang:
			d.t.Fatalf("%q lacks %q", d.seen, text)
		}
	}
}

// leave waits until the conversation has ended.
func (d *desk) leave() {
	d.t.Helper()
	hang := time.After(hanging)
	for {
		select {
		case b, ok := <-d.output:
			if ok {
				d.seen += string(b)
				continue
			}
			if err := d.cmd.Wait(); err != nil {
				d.t.Errorf("%v, %q", err, d.seen)
			}
			return
		case <-hang:
			d.t.Fatalf("the conversation does not end: %q", d.seen)
		}
	}
}

func TestTerminalEditing(t *testing.T) {
	d := sit(t, "", "")
	for _, test := range []struct{ name, keys, want string }{
		{"arrows", "hello w\x1b[D\x1b[DX\r", `"helloX w"`},
		{"the last line", "\x1b[A!\r", `"helloX w!"`},
		{"word motions", "one two\x1bbX\x1b[1;5DY\x1b[H<\x1b[F>\r", `"<one YXtwo>"`},
		{"deleting", "abc\x1b[D\x1b[3~\x7fX\r", `"aX"`},
		{"deleting words", "one two three\x17\x1b\x7fX\r", `"one X"`},
		{"to the ends", "abc\x01X\x05Y\x1b[D\x0bZ\r", `"XabcZ"`},
		{"search", "\x12one Y\r", `"<one YXtwo>"`},
		{"pasted lines", "\x1b[200~one\rtwo\nthree\x1b[201~", ""},
		{"pasted lines are sent by Enter", "!\r", `"one\ntwo\nthree!"`},
		{"a backslash", "a\\\rb\\\rc\r", `"a\nb\nc"`},
		{"Alt-Enter", "a\x1b\rb\r", `"a\nb"`},
		{"fences", "\"\"\"\ra\r\rb\r\"\"\"\r", `"a\n\nb"`},
		{"wide characters", "日本\x1b[D\x1b[Dé|\r", `"é|日本"`},
		{"composed characters", "e\u0301👩‍🚀x\r", strconv.Quote("e\u0301👩‍🚀x")},
		{"control characters in pasted text", "\x1b[200~a\x1b[2J\x07b\x1b[201~\r", `"a[2Jb"`},
		{"unknown keys", "a\x1b[15~b\r", `"ab"`},
	} {
		d.send(test.keys)
		if test.want != "" {
			d.expect(test.want + "\r\n")
		}
	}
	d.send("\x04")
	d.leave()
}

func TestTerminalHistory(t *testing.T) {
	history := filepath.Join(t.TempDir(), "state", "history")
	for i, keys := range []string{"first\r", "\x1b[A\x1b[B\x1b[A again\r", "\x1b[A\x1b[A\x1b[A\r", "\x12again\r"} {
		d := sit(t, history, "")
		d.send(keys)
		d.expect([]string{`"first"`, `"first again"`, `"first"`, `"first again"`}[i])
		d.send("\x04")
		d.leave()
	}
	info, err := os.Stat(history)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// What is typed during an answer is the next question and does not disturb the answer.
func TestTerminalTypeAhead(t *testing.T) {
	d := sit(t, "", "")
	d.send("slow\r")
	d.step(2)
	d.expect("\x1b[?2004hword0 ")
	d.send("typed\x1b[D\x1b[DX\rpart")
	d.step(3)
	if got := d.expect("(5 tokens"); got != "word1 word2 word3 word4 \r\n\x1b[2m" {
		t.Errorf("the answer was disturbed: %q", got)
	}
	d.expect(`"typXed"` + "\r\n")
	d.send("ial\r")
	d.expect(`"partial"` + "\r\n")
	d.send("\x04")
	d.leave()
}

// Ctrl-C keeps the beginning of an answer and what was typed; another one leaves.
func TestTerminalInterrupt(t *testing.T) {
	d := sit(t, "", "")
	d.send("slow\r")
	d.step(2)
	d.expect("word0 ")
	d.send("typed\x03")
	d.expect(", stopped)")
	d.send(" on\r")
	d.expect(`"typed on"`)
	d.send("/undo\r/undo\r")
	d.expect("(forgotten: typed on)")
	d.expect("(forgotten: slow)")
	d.send("discarded\x03")
	d.expect("(Ctrl-C again or Ctrl-D leaves)")
	d.send("\x03")
	d.leave()
}

// The terminal is as before when a conversation ends, however it ends.
func TestTerminalIsRestored(t *testing.T) {
	fresh, other, err := pty.Open()
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	defer fresh.Close()
	defer other.Close()
	want, err := term.GetState(int(other.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"\x04", "/exit\r", "\x03\x03", "interrupt", "terminate"} {
		d := sit(t, "", "")
		switch end {
		case "interrupt":
			d.signal(os.Interrupt)
			d.expect("Ctrl-C again")
			d.signal(os.Interrupt)
		case "terminate":
			d.signal(syscall.SIGTERM)
		default:
			d.send(end)
		}
		d.leave()
		if !strings.Contains(d.seen, "\x1b[?2004l\x1b[?25h") {
			t.Errorf("%q: pasted text stays marked: %q", end, d.seen)
		}
		if got, err := term.GetState(int(d.tty.Fd())); err == nil && !reflect.DeepEqual(got, want) { // not every system tells it here
			t.Errorf("%q: the terminal is left as %+v, was %+v", end, got, want)
		}
	}
}

// signal sends a signal to the conversation.
func (d *desk) signal(s os.Signal) {
	d.t.Helper()
	if err := d.cmd.Process.Signal(s); err != nil {
		d.t.Fatal(err)
	}
}

func TestTerminalWraps(t *testing.T) {
	d := sit(t, "", "")
	for _, columns := range []int{40, 22, 60} {
		if err := pty.Setsize(d.tty, &pty.Winsize{Rows: 24, Cols: uint16(columns)}); err != nil {
			t.Fatal(err)
		}
		d.send("long\r")
		d.expect("\x1b[?2004hword")
		text := "word" + d.expect("\x1b[2m")
		lines := strings.Split(strings.TrimSuffix(text, "\r\n"), "\r\n")
		if perLine := (columns - 1 + 1) / 5; len(lines) != (30+perLine-1)/perLine {
			t.Errorf("%d columns: %q", columns, lines)
		}
	}
}

func TestTerminalObeysNoModel(t *testing.T) {
	d := sit(t, "", "")
	d.send("evil\r")
	d.expect("\x1b[?2004ha]52;c;aGk=b[2Jc\r\n")
}

// Every command works at a terminal, and Tab completes it.
func TestTerminalCommands(t *testing.T) {
	d := sit(t, "", "")
	if err := pty.Setsize(d.tty, &pty.Winsize{Rows: 24, Cols: 120}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "c.json")
	for _, test := range []struct{ keys, want string }{
		{"/help\r", "show this list"},
		{"hi\r", `"hi"`},
		{"/undo\r", "(forgotten: hi)"},
		{"again\r", `"again"`},
		{"/ret\t\r", "(again: again)"},
		{"/models\r", "translates, cannot chat"},
		{"/model nu\t\r", "(numbers)"},
		{"/model phrases\r", "it cannot chat"},
		{"/system brief\r", "(system message set"},
		{"/params seed=3 temp\t0.5\r", "(seed=3 temperature=0.5)"},
		{"/save " + file + "\r", "(saved 1 turn to"},
		{"/clear\r", "(the conversation is forgotten)"},
		{"/load " + file[:len(file)-3] + "\t\r", "(loaded 1 turn;"},
		{"/image x\r", "takes text only"},
		{"/modle\r", "did you mean /model?"},
	} {
		d.send(test.keys)
		d.expect(test.want)
	}
	d.send("/ex\t\r")
	d.leave()
}

// A dumb terminal gets lines without any escape sequence.
func TestDumbTerminal(t *testing.T) {
	d := sit(t, "", "dumb")
	d.send("a\\\rb\r")
	before := d.expect(`"a\nb"`) + d.expect("> ")
	d.send("\x03")
	before += d.expect("Ctrl-C again")
	d.send("\x04")
	d.leave()
	if strings.Contains(before+d.seen, "\x1b") {
		t.Errorf("escape sequences: %q", before+d.seen)
	}
}
