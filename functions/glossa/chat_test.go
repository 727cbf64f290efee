package main

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
		texts = append(texts, m.Parts[0].Text)
		words += len(strings.Fields(m.Parts[0].Text))
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

func (counting) Tokenize(_ context.Context, text llm.Part, _ bool) ([]llm.Token, error) {
	return make([]llm.Token, len(strings.Fields(text.Text))), nil
}

func (counting) Detokenize(context.Context, []int) (string, error) { return "", errors.ErrUnsupported }

// fakeModels is a catalog of backends by name; "" opens the first.
type fakeModels struct {
	names    []string
	backends map[string]llm.Backend
}

func (z fakeModels) Open(_ context.Context, name string) (*llm.Model, error) {
	if name == "" {
		name = z.names[0]
	}
	b, ok := z.backends[name]
	if !ok {
		return nil, llm.Errorf(llm.NotFound, "no model %q", name)
	}
	info := llm.ModelInfo{Name: name, Family: "local"}
	switch e := b.(type) {
	case echo:
		info.Context = e.context
	case counting:
		info.Context = e.context
	}
	return &llm.Model{ModelInfo: info, Backend: b}, nil
}

func (z fakeModels) List(context.Context) (infos []llm.ModelInfo, err error) {
	for _, name := range z.names {
		infos = append(infos, llm.ModelInfo{Name: name})
	}
	return infos, nil
}

func one(b llm.Backend) fakeModels { return fakeModels{[]string{"m"}, map[string]llm.Backend{"m": b}} }

// converse runs a scripted conversation over a pipe.
func converse(t *testing.T, models llm.Models, name, input string, maxTokens int) (out, notes string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	err = chatWith(t.Context(), models, name, llm.Params{MaxTokens: &maxTokens}, strings.NewReader(input), &stdout, &stderr)
	return stdout.String(), stderr.String(), err
}

func TestChatKeepsHistory(t *testing.T) {
	var prompts []string
	out, notes, err := converse(t, one(echo{prompts: &prompts}), "", "one\n\n  two  \n/reset\nthree\n/quit\nfour\n", 9)
	if err != nil || out != "<one>\n<two>\n<three>\n" {
		t.Errorf("%q, %v", out, err)
	}
	want := []string{"one", "one | <one> | two", "three"}
	if fmt.Sprint(prompts) != fmt.Sprint(want) {
		t.Errorf("the model saw %q, want %q", prompts, want)
	}
	if strings.Count(notes, "(3 tokens, ") != 3 || !strings.Contains(notes, " tokens/s)") {
		t.Errorf("notes %q", notes)
	}
	if strings.Contains(notes, "> ") || strings.Contains(notes, "\x1b") {
		t.Errorf("a pipe was shown a terminal's prompt or colours: %q", notes)
	}
}

func TestChatDropsTheOldestTurns(t *testing.T) {
	for _, test := range []struct {
		name  string
		model llm.Backend
		input string
		seen  []string
		notes []string
	}{
		{
			// A turn is 2 words and 2 separators; 12-5 leaves room for 7.
			"counted before it is asked", counting{echo{context: 12}}, "a\nb\nc\nd\n",
			[]string{"a", "a | <a> | b", "b | <b> | c", "c | <c> | d"},
			[]string{"(1 oldest turn dropped: context of 12 tokens is full)"},
		},
		{
			"two at once", counting{echo{context: 12}}, "a\nb\nc d e f\n",
			[]string{"a", "a | <a> | b", "c d e f"},
			[]string{"(2 oldest turns dropped: context of 12 tokens is full)"},
		},
		{
			"refused when it is asked", echo{context: 4}, "a\nb\nc\n",
			[]string{"a", "a | <a> | b", "a | <a> | b | <b> | c", "b | <b> | c"},
			[]string{"(1 oldest turn dropped: context of 4 tokens is full)"},
		},
		{
			"a question that fits nowhere", echo{context: 4}, "a b c d e\nb\n",
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
			_, notes, err := converse(t, one(test.model), "m", test.input, 5)
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

func TestChatCommands(t *testing.T) {
	var first, second []string
	models := fakeModels{[]string{"x", "y"}, map[string]llm.Backend{"x": echo{prompts: &first}, "y": echo{context: 99, prompts: &second}}}
	out, notes, err := converse(t, models, "x", "hi\n/model y\nyo\n/model\n/model nope\n/help\n/nonsense x\n", 9)
	if err != nil || out != "<hi>\n<yo>\n" {
		t.Errorf("%q, %v", out, err)
	}
	if fmt.Sprint(first, second) != "[hi] [hi | <hi> | yo]" {
		t.Errorf("the models saw %q and %q", first, second)
	}
	for _, want := range []string{
		"(x, /help for help)\n", "(y, a context of 99 tokens, /help for help)\n", "(x)\n(y)\n",
		`(no model "nope")`, "/reset       forget", "(there is no command /nonsense: /help lists them)",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes %q lack %q", notes, want)
		}
	}
	if _, _, err := converse(t, models, "nope", "", 9); llm.AsError(err).Code != llm.NotFound {
		t.Errorf("got %v, want not found", err)
	}
}

// trackedModels records the contexts with which its models are opened.
type trackedModels struct {
	fakeModels
	contexts map[string]context.Context
}

func (h trackedModels) Open(ctx context.Context, name string) (*llm.Model, error) {
	h.contexts[name] = ctx
	return h.fakeModels.Open(ctx, name)
}

// A conversation that switches to another model releases the previous one.
func TestChatLeavesModels(t *testing.T) {
	models := trackedModels{fakeModels{[]string{"x", "y"}, map[string]llm.Backend{"y": echo{}}}, map[string]context.Context{}}
	models.backends["x"] = echo{say: func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
		if models.contexts["x"].Err() != nil {
			t.Error("the first model is released while it answers")
		}
		return llmtest.Script{"x"}.Generate(ctx, req)
	}}
	models.backends["y"] = echo{say: func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
		if models.contexts["x"].Err() == nil || models.contexts["y"].Err() != nil || models.contexts["nope"].Err() == nil {
			t.Error("the first model is not released, or the second is")
		}
		return llmtest.Script{"y"}.Generate(ctx, req)
	}}
	if out, _, err := converse(t, models, "x", "hi\n/model y\n/model nope\nhi\n", 9); err != nil || out != "x\ny\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestChatErrors(t *testing.T) {
	failing := func(first ...string) echo {
		return echo{say: func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
			return func(yield func(llm.Chunk, error) bool) {
				for _, text := range first {
					if !yield(llm.Chunk{Text: text}, nil) {
						return
					}
				}
				yield(llm.Chunk{}, errors.New("the model broke"))
			}
		}}
	}
	out, notes, err := converse(t, one(failing("some")), "", "a\nb\n", 9)
	if err != nil || out != "some\nsome\n" || strings.Count(notes, "the model broke") != 2 {
		t.Errorf("%q, %q, %v", out, notes, err)
	}
	err = chatWith(t.Context(), one(echo{}), "", llm.Params{MaxTokens: new(9)}, strings.NewReader("a\n"), brokenPipe{}, io.Discard)
	if !errors.Is(err, syscall.EPIPE) {
		t.Errorf("got %v, want a broken pipe", err)
	}
	long := strings.Repeat("x", maxLine+1)
	if _, _, err := converse(t, one(echo{}), "", long, 9); err == nil || !strings.Contains(err.Error(), "token too long") {
		t.Errorf("a line without end: %v", err)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// scripted returns a conversation whose lines and signals the test sends.
func scripted(t *testing.T, b llm.Backend) (c *conversation, lines chan line, signals chan os.Signal, out, notes *bytes.Buffer) {
	lines, signals = make(chan line, 9), make(chan os.Signal, 1)
	out, notes = new(bytes.Buffer), new(bytes.Buffer)
	c = &conversation{
		models: one(b), params: llm.Params{MaxTokens: new(9)},
		lines: lines, signals: signals, out: out, notes: notes,
	}
	c.terminal.in, c.terminal.out, c.terminal.notes = true, true, true
	if err := c.open(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	return c, lines, signals, out, notes
}

// endless repeats a word until it is cancelled, and sends sig after the third.
func endless(signals *chan os.Signal, sig os.Signal) echo {
	return echo{say: func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
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
	c, lines, s, out, notes := scripted(t, endless(&signals, os.Interrupt))
	signals = s
	for _, text := range []string{"sing", "again"} {
		lines <- line{text: text}
	}
	close(lines)
	if err := c.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out.String() != "la la la \nla la la \n" || strings.Count(notes.String(), ", stopped)") != 2 {
		t.Errorf("%q, %q", out, notes)
	}
	if len(c.turns) != 2 || c.turns[0] != (turn{"sing", "la la la "}) {
		t.Errorf("turns %q", c.turns)
	}
}

func TestChatTerminated(t *testing.T) {
	var signals chan os.Signal
	c, lines, s, out, _ := scripted(t, endless(&signals, syscall.SIGTERM))
	signals = s
	lines <- line{text: "sing"}
	lines <- line{text: "never asked"}
	if err := c.run(t.Context()); err != nil || out.String() != "la la la \n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestChatInterruptAtThePrompt(t *testing.T) {
	c, lines, _, out, notes := scripted(t, echo{})
	signals := make(chan os.Signal) // a send ends when run has taken it
	c.signals = signals
	done := make(chan error)
	go func() { done <- c.run(t.Context()) }()
	signals <- os.Interrupt
	lines <- line{text: "hi"}
	close(lines)
	if err := <-done; err != nil || !strings.Contains(notes.String(), "> \n\x1b[2m(Ctrl-D or /quit leaves)\x1b[0m\n> ") {
		t.Errorf("%q, %v", notes, err)
	}
	if out.String() != "<hi>\n" {
		t.Errorf("%q", out)
	}
}

func TestChatCleansWhatATerminalObeys(t *testing.T) {
	say := llmtest.Script{"a\x1b[2J", "\tb\r\u009b1m\n", "é"}
	c, lines, _, out, _ := scripted(t, echo{say: say.Generate})
	lines <- line{text: "hi"}
	close(lines)
	if err := c.run(t.Context()); err != nil || out.String() != "a[2J\tb1m\né\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// The whole command with a newly trained model.
func TestChatCommand(t *testing.T) {
	root := t.TempDir()
	text := strings.Repeat("one two three four five.\n", 60)
	if _, _, err := trainTiny(t, t.Context(), text, "--text", "-", "--out", root+"/numbers", "--steps", "2"); err != nil {
		t.Fatal(err)
	}
	say := func(args ...string) (string, string, int) {
		var out, notes bytes.Buffer
		args = append([]string{"chat", "--checkpoints", root, "--max-tokens", "3"}, args...)
		code := run(t.Context(), args, strings.NewReader("one\ntwo\n"), &out, &notes)
		return out.String(), notes.String(), code
	}
	out, notes, code := say("--temperature", "0", "numbers")
	if code != 0 || len(out) < 4 {
		t.Fatalf("status %d, %q, %q", code, out, notes)
	}
	if !strings.Contains(notes, "(numbers, a context of 8 tokens, /help for help)\n") || strings.Count(notes, "(3 tokens, ") != 2 ||
		!strings.Contains(notes, "(1 oldest turn dropped: context of 8 tokens is full)\n") {
		t.Errorf("notes %q", notes)
	}
	if again, _, _ := say("--temperature", "0", "numbers"); again != out {
		t.Errorf("greedy gave %q, then %q", out, again)
	}
	first, _, _ := say("--seed", "1", "--temperature", "2", "numbers")
	if second, _, _ := say("--seed", "1", "--temperature", "2", "numbers"); second != first {
		t.Errorf("one seed gave %q, then %q", first, second)
	}
	for _, bad := range [][]string{{"--temperature", "NaN"}, {"--temperature", "3"}, {"--max-tokens", "0"}, {"--seed", "x"}, {"a", "b"}} {
		if _, notes, code := say(bad...); code != 2 || !strings.Contains(notes, "Run 'glossa chat --help' for usage.") {
			t.Errorf("%q: status %d, %q", bad, code, notes)
		}
	}
	if _, notes, code := say("nobody"); code != 1 || !strings.Contains(notes, "nobody") {
		t.Errorf("an unknown model: status %d, %q", code, notes)
	}
}
