package repl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"syscall"
	"testing"

	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
	"glossa/pkg/terminal"
)

// echo is a model whose tokens are words. It answers with the words of the last message,
// or with the result of say.
type echo struct {
	context int
	prompts *[]string // the messages of each request, by " | "
	say     func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error]
}

func (e echo) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	var texts []string
	words := 0
	for _, m := range req.Prompts[0].Messages {
		text := m.Parts[0].Text
		words += len(strings.Fields(text))
		if m.Role == "system" {
			text = "system: " + text
		}
		texts = append(texts, text)
	}
	if e.prompts != nil {
		*e.prompts = append(*e.prompts, strings.Join(texts, " | "))
	}
	if e.context > 0 && words > e.context {
		return func(yield func(llm.Chunk, error) bool) {
			yield(llm.Chunk{}, llm.Errorf(llm.TooLong, "%d words do not fit", words))
		}
	}
	if e.say != nil {
		return e.say(ctx, req)
	}
	return llmtest.Script{"<", texts[len(texts)-1], ">"}.Generate(ctx, req)
}

// counting is an echo with llm.Tokenizer.
type counting struct{ echo }

func (counting) Tokenize(_ context.Context, parts []llm.Part, _ bool) ([]llm.Token, error) {
	return make([]llm.Token, len(strings.Fields(parts[0].Text))), nil
}

func (counting) Detokenize(context.Context, []int) (string, error) { return "", errors.ErrUnsupported }

// translating is a model that translates and does nothing else.
type translating struct{ echo }

func (translating) Translate(context.Context, *llm.TranslateRequest) ([]llm.Translation, llm.Usage, error) {
	return nil, llm.Usage{}, nil
}

// fakeModels is a catalog of backends by name; "" opens the first.
type fakeModels struct {
	names    []string
	backends map[string]llm.Backend
}

func (z fakeModels) Open(_ context.Context, name string) (*llm.Model, error) {
	b, ok := z.backends[name]
	if !ok {
		return nil, llm.Errorf(llm.NotFound, "no model %q", name)
	}
	info := z.info(name)
	switch e := b.(type) {
	case echo:
		info.Context = e.context
	case counting:
		info.Context = e.context
	}
	return &llm.Model{ModelInfo: info, Backend: b}, nil
}

func (z fakeModels) info(name string) llm.ModelInfo {
	_, translates := z.backends[name].(translating)
	info := llm.ModelInfo{Name: name, Family: "local", InProcess: true, Streaming: !translates, Description: "Model " + name}
	switch name {
	case "base":
		info.Run = &llm.Run{}
	case "sentences":
		info.Task, info.Streaming = llm.TaskEmbed, false
	case "moods":
		info.Task, info.Streaming = llm.TaskClassify, false
	case "ranks":
		info.Task, info.InProcess = llm.TaskRerank, false
	}
	return info
}

func (z fakeModels) List(context.Context) (infos []llm.ModelInfo, err error) {
	for _, name := range z.names {
		infos = append(infos, z.info(name))
	}
	return infos, nil
}

func one(b llm.Backend) fakeModels { return fakeModels{[]string{"m"}, map[string]llm.Backend{"m": b}} }

// several are models of different abilities.
func several() fakeModels {
	return fakeModels{[]string{"phrases", "novels", "numbers", "base"}, map[string]llm.Backend{
		"phrases": translating{}, "novels": echo{}, "numbers": echo{context: 99}, "base": echo{},
	}}
}

// converse runs a scripted conversation over a pipe.
func converse(t *testing.T, cfg Config, input string) (out, notes string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	err = Chat(t.Context(), cfg, Streams{strings.NewReader(input), &stdout, &stderr})
	return stdout.String(), stderr.String(), err
}

func TestChatKeepsHistory(t *testing.T) {
	var prompts []string
	out, notes, err := converse(t, Config{Models: one(echo{prompts: &prompts})}, "one\n\n  two  \n/clear\nthree\nfour\\\nfive\n/exit\nsix\n")
	if err != nil || out != "<one>\n<two>\n<three>\n<four\nfive>\n" {
		t.Errorf("%q, %v", out, err)
	}
	want := []string{"one", "one | <one> | two", "three", "three | <three> | four\nfive"}
	if fmt.Sprint(prompts) != fmt.Sprint(want) {
		t.Errorf("the model saw %q, want %q", prompts, want)
	}
	if strings.Count(notes, "(3 tokens, ") != 4 || !strings.Contains(notes, "first after ") {
		t.Errorf("notes %q", notes)
	}
	if strings.Contains(notes, "> ") || strings.Contains(notes, "\x1b") {
		t.Errorf("a pipe was shown a terminal's prompt or colours: %q", notes)
	}
}

func TestChatWithoutStats(t *testing.T) {
	_, notes, err := converse(t, Config{Models: one(echo{}), NoStats: true}, "one\n")
	if err != nil || strings.Contains(notes, "token") {
		t.Errorf("%q, %v", notes, err)
	}
}

func TestChatDropsTheOldestTurns(t *testing.T) {
	for _, test := range []struct {
		name   string
		model  llm.Backend
		system string
		input  string
		seen   []string
		notes  []string
	}{
		{
			// A turn is 2 words and 2 separators; 12-5 leaves room for 7.
			"counted before it is asked", counting{echo{context: 12}}, "", "a\nb\nc\nd\n",
			[]string{"a", "a | <a> | b", "b | <b> | c", "c | <c> | d"},
			[]string{"(1 oldest turn dropped: the context of 12 tokens is full)"},
		},
		{
			"two at once", counting{echo{context: 12}}, "", "a\nb\nc d e f\n",
			[]string{"a", "a | <a> | b", "c d e f"},
			[]string{"(2 oldest turns dropped: the context of 12 tokens is full)"},
		},
		{
			"the system message stays", counting{echo{context: 14}}, "s", "a\nb\nc\n",
			[]string{"system: s | a", "system: s | a | <a> | b", "system: s | b | <b> | c"},
			[]string{"(1 oldest turn dropped: the context of 14 tokens is full)"},
		},
		{
			"refused when it is asked", echo{context: 4}, "", "a\nb\nc\n",
			[]string{"a", "a | <a> | b", "a | <a> | b | <b> | c", "b | <b> | c"},
			[]string{"(1 oldest turn dropped: the context of 4 tokens is full)"},
		},
		{
			"a question that fits nowhere", echo{context: 4}, "", "a b c d e\nb\n",
			[]string{"a b c d e", "b"},
			[]string{"(5 words do not fit)"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var prompts []string
			switch m := test.model.(type) {
			case echo:
				m.prompts = &prompts
				test.model = m
			case counting:
				m.prompts = &prompts
				test.model = m
			}
			cfg := Config{Models: one(test.model), Model: "m", System: test.system, Params: llm.Params{MaxTokens: new(5)}}
			_, notes, err := converse(t, cfg, test.input)
			if err != nil || fmt.Sprintf("%q", prompts) != fmt.Sprintf("%q", test.seen) {
				t.Errorf("the model saw %q, want %q, %v", prompts, test.seen, err)
			}
			for _, want := range test.notes {
				if !strings.Contains(notes, want) {
					t.Errorf("notes %q lack %q", notes, want)
				}
			}
		})
	}
}

func TestChatErrors(t *testing.T) {
	failing := func(first ...string) echo {
		return echo{say: func(context.Context, *llm.Request) iter.Seq2[llm.Chunk, error] {
			return func(yield func(llm.Chunk, error) bool) {
				for _, text := range first {
					if !yield(llm.Chunk{Text: text}, nil) {
						return
					}
				}
				yield(llm.Chunk{}, llm.Errorf(llm.Upstream, "the model broke"))
			}
		}}
	}
	out, notes, err := converse(t, Config{Models: one(failing("some"))}, "a\nb\n/undo\n")
	if err != nil || out != "some\nsome\n" || strings.Count(notes, "the model broke") != 2 || !strings.Contains(notes, "nothing to undo") {
		t.Errorf("%q, %q, %v", out, notes, err)
	}
	err = Chat(t.Context(), Config{Models: one(echo{})}, Streams{strings.NewReader("a\n"), brokenPipe{}, io.Discard})
	if !errors.Is(err, syscall.EPIPE) {
		t.Errorf("got %v, want a broken pipe", err)
	}
	long := strings.Repeat("x", terminal.MaxLine+1)
	if _, _, err := converse(t, Config{Models: one(echo{})}, long); err == nil || !strings.Contains(err.Error(), "token too long") {
		t.Errorf("a line without end: %v", err)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// Why an answer ended is said unless the model ended it.
func TestChatNamesTheEnd(t *testing.T) {
	for finish, want := range map[llm.Finish]string{
		llm.FinishEOS: "", llm.FinishStop: "", llm.FinishLength: "cut off by max_tokens",
		llm.FinishContext: "cut off: the context of 9 tokens is full", llm.FinishFiltered: "cut off by the provider's safety filter",
	} {
		model := echo{context: 9, say: func(context.Context, *llm.Request) iter.Seq2[llm.Chunk, error] {
			return func(yield func(llm.Chunk, error) bool) {
				yield(llm.Chunk{Text: "x", Finish: finish, Usage: &llm.Usage{Output: 1}}, nil)
			}
		}}
		_, notes, err := converse(t, Config{Models: one(model), NoStats: true}, "a\n")
		if err != nil || !strings.Contains(notes, "("+want+")") && want != "" || want == "" && strings.Contains(notes, "cut") {
			t.Errorf("%s: %q, %v", finish, notes, err)
		}
	}
}

// typed is an input whose lines the test sends.
type typed chan line

func (l typed) Line(string) (string, error) {
	next, ok := <-l
	if !ok {
		return "", io.EOF
	}
	return next.text, next.err
}

// scripted returns a session as at a terminal, whose lines and signals the test sends.
func scripted(t *testing.T, b llm.Backend) (s *session, lines typed, signals chan os.Signal, out, notes *bytes.Buffer) {
	lines, signals = make(typed, 9), make(chan os.Signal, 1)
	out, notes = new(bytes.Buffer), new(bytes.Buffer)
	s = newSession(Config{Models: one(b)}, Streams{nil, out, notes}, signals)
	s.outTerminal, s.notesTerminal, s.wrap, s.colour = true, true, true, true
	s.lines = newPrompter(lines)
	if err := s.open(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	return s, lines, signals, out, notes
}

// endless repeats a word until it is cancelled, and sends sig after the third.
func endless(signals *chan os.Signal, sig os.Signal) echo {
	return echo{say: func(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Chunk, error] {
		return func(yield func(llm.Chunk, error) bool) {
			n := 0
			for ; ctx.Err() == nil; n++ {
				if n == 3 {
					*signals <- sig
					<-ctx.Done() // only the cancellation ends the answer
					break
				}
				if !yield(llm.Chunk{Text: "la "}, nil) {
					return
				}
			}
			yield(llm.Chunk{Finish: llm.FinishCancelled, Usage: &llm.Usage{Output: n}}, nil)
		}
	}}
}

func TestChatInterrupt(t *testing.T) {
	var signals chan os.Signal
	s, lines, got, out, notes := scripted(t, endless(&signals, os.Interrupt))
	signals = got
	for _, text := range []string{"sing", "again"} {
		lines <- line{text: text}
	}
	close(lines)
	if err := s.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out.String() != "la la la \nla la la \n" || strings.Count(notes.String(), ", stopped)") != 2 {
		t.Errorf("%q, %q", out, notes)
	}
	if len(s.turns) != 2 || s.turns[0] != (turn{"sing", "la la la "}) {
		t.Errorf("turns %q", s.turns)
	}
}

func TestChatTerminated(t *testing.T) {
	var signals chan os.Signal
	s, lines, got, out, _ := scripted(t, endless(&signals, syscall.SIGTERM))
	signals = got
	lines <- line{text: "sing"}
	lines <- line{text: "never asked"}
	if err := s.run(t.Context()); err != nil || out.String() != "la la la \n" {
		t.Errorf("%q, %v", out, err)
	}
}

// One Ctrl-C at the prompt warns, the second in a row leaves; it comes from the editor or
// as a signal.
func TestChatInterruptAtThePrompt(t *testing.T) {
	s, lines, _, out, notes := scripted(t, echo{})
	for _, l := range []line{{err: terminal.ErrInterrupt}, {text: "hi"}, {err: terminal.ErrInterrupt}, {err: terminal.ErrInterrupt}, {text: "never"}} {
		lines <- l
	}
	if err := s.run(t.Context()); err != nil || out.String() != "<hi>\n" || strings.Count(notes.String(), "Ctrl-C again or Ctrl-D leaves") != 2 {
		t.Errorf("%q, %q, %v", out, notes, err)
	}

	s, _, _, _, notes = scripted(t, echo{})
	signals := make(chan os.Signal) // a send ends when run has received it
	s.signals, s.prompt = signals, true
	done := make(chan error)
	go func() { done <- s.run(t.Context()) }()
	signals <- os.Interrupt
	signals <- os.Interrupt
	if err := <-done; err != nil || !strings.Contains(notes.String(), "> \n\x1b[2m(Ctrl-C again or Ctrl-D leaves)\n\x1b[0m> ") {
		t.Errorf("%q, %v", notes, err)
	}
}

// After an answer was stopped, the next Ctrl-C leaves.
func TestChatInterruptTwice(t *testing.T) {
	var signals chan os.Signal
	s, lines, got, _, notes := scripted(t, endless(&signals, os.Interrupt))
	signals = got
	lines <- line{text: "sing"}
	lines <- line{err: terminal.ErrInterrupt}
	lines <- line{text: "never"}
	if err := s.run(t.Context()); err != nil || len(s.turns) != 1 {
		t.Errorf("%q, %q, %v", s.turns, notes, err)
	}
}

func TestChatCleansWhatATerminalObeys(t *testing.T) {
	say := llmtest.Script{"a\x1b[2J", "\tb\r\u009b1m\n", "é\x1b]52;c;aGk=\x07"}
	s, lines, _, out, _ := scripted(t, echo{say: say.Generate})
	lines <- line{text: "hi"}
	close(lines)
	if err := s.run(t.Context()); err != nil || out.String() != "a[2J\tb1m\né]52;c;aGk=\n" {
		t.Errorf("%q, %v", out, err)
	}
	if s.turns[0].answer != "a\x1b[2J\tb\r\u009b1m\né\x1b]52;c;aGk=\x07" {
		t.Errorf("the conversation holds %q", s.turns[0].answer)
	}
}

// Errors of remote models can hold anything.
func TestChatCleansNotes(t *testing.T) {
	s, _, _, _, notes := scripted(t, echo{})
	s.note("a\x1b]0;title\x07b")
	if !strings.HasSuffix(notes.String(), "\x1b[2m(a]0;titleb)\n\x1b[0m") {
		t.Errorf("%q", notes)
	}
	notes.Reset()
	s.colour = false // NO_COLOR
	s.note("a")
	if notes.String() != "(a)\n" {
		t.Errorf("%q", notes)
	}
}
