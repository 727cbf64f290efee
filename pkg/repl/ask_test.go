package repl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
	"syscall"
	"testing"

	"glossa/pkg/llm"
)

// ask returns what Ask prints.
func ask(t *testing.T, cfg Config, q Question, in string) (out, notes string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	err = Ask(t.Context(), cfg, q, Streams{strings.NewReader(in), &stdout, &stderr})
	return stdout.String(), stderr.String(), err
}

func TestAsk(t *testing.T) {
	for _, test := range []struct {
		name string
		q    Question
		in   string
		want string // the prompt
	}{
		{"an argument", Question{Text: "hi"}, "not read", "hi"},
		{"a pipe", Question{Pipe: true}, "one\ntwo\n", "one\ntwo"},
		{"both", Question{Text: "summarise", Pipe: true}, "the text\n", "summarise\n\nthe text"},
		{"an argument and an empty pipe", Question{Text: "hi", Pipe: true}, "", "hi"},
		{"commands are text", Question{Text: "/help"}, "", "/help"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var prompts []string
			out, notes, err := ask(t, Config{Models: one(echo{prompts: &prompts})}, test.q, test.in)
			if err != nil || out != "<"+test.want+">\n" || notes != "" || !slices.Equal(prompts, []string{test.want}) {
				t.Errorf("%q, %q, %q, %v", out, notes, prompts, err)
			}
		})
	}
}

func TestAskErrors(t *testing.T) {
	for _, q := range []Question{{}, {Text: " "}, {Pipe: true}} {
		if _, _, err := ask(t, Config{Models: one(echo{})}, q, " \n"); !errors.Is(err, ErrNoPrompt) {
			t.Errorf("%+v: %v", q, err)
		}
	}
	if _, _, err := ask(t, Config{Models: one(echo{})}, Question{Pipe: true}, strings.Repeat("x", MaxPrompt+1)); err == nil || !strings.Contains(err.Error(), "larger than 16 MiB") {
		t.Errorf("a prompt without end: %v", err)
	}
	if out, _, err := ask(t, Config{Models: several(), Model: "phrases"}, Question{Text: "hi"}, ""); err == nil || out != "" || !strings.Contains(err.Error(), "cannot chat") {
		t.Errorf("%q, %v", out, err)
	}
	if _, _, err := ask(t, Config{Models: one(echo{context: 1})}, Question{Text: "a b"}, ""); llm.AsError(err).Code != llm.TooLong {
		t.Errorf("%v", err)
	}
	err := Ask(t.Context(), Config{Models: one(echo{})}, Question{Text: "hi"}, Streams{nil, brokenPipe{}, io.Discard})
	if !errors.Is(err, syscall.EPIPE) {
		t.Errorf("%v", err)
	}
	err = Ask(t.Context(), Config{Models: one(echo{})}, Question{Text: "hi", JSON: true}, Streams{nil, brokenPipe{}, io.Discard})
	if !errors.Is(err, syscall.EPIPE) {
		t.Errorf("%v", err)
	}
}

// Ctrl-C keeps what came and is an error.
func TestAskInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	model := echo{say: func(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Chunk, error] {
		return func(yield func(llm.Chunk, error) bool) {
			if yield(llm.Chunk{Text: "la"}, nil) {
				cancel()
				<-ctx.Done()
				yield(llm.Chunk{Finish: llm.FinishCancelled, Usage: &llm.Usage{Output: 1}}, nil)
			}
		}
	}}
	var out bytes.Buffer
	err := Ask(ctx, Config{Models: one(model)}, Question{Text: "sing"}, Streams{nil, &out, io.Discard})
	if !errors.Is(err, ErrInterrupted) || out.String() != "la\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	// A pipe that never ends does not keep the command.
	r, w := io.Pipe()
	defer w.Close()
	if err := Ask(ctx, Config{Models: one(model)}, Question{Pipe: true}, Streams{r, io.Discard, io.Discard}); !errors.Is(err, ErrInterrupted) {
		t.Errorf("%v", err)
	}
}

func TestAskJSON(t *testing.T) {
	model := echo{say: func(context.Context, *llm.Request) iter.Seq2[llm.Chunk, error] {
		return func(yield func(llm.Chunk, error) bool) {
			if yield(llm.Chunk{Text: "a\x1b\u009b"}, nil) {
				yield(llm.Chunk{Text: "<b>", Finish: llm.FinishLength, Usage: &llm.Usage{Input: 3, Output: 2}}, nil)
			}
		}
	}}
	out, notes, err := ask(t, Config{Models: one(model)}, Question{Text: "hi", JSON: true}, "")
	var got completion
	if err != nil || notes != "" || json.Unmarshal([]byte(out), &got) != nil {
		t.Fatalf("%q, %q, %v", out, notes, err)
	}
	if c := got.Choices[0]; got.Model != "m" || got.Object != "chat.completion" || c.Message != (message{"assistant", "a\x1b\u009b<b>"}) || c.FinishReason != "length" || got.Usage != (usage{3, 2, 5}) {
		t.Errorf("%+v", got)
	}
	if strings.ContainsAny(out, "\x1b\u009b") || !strings.Contains(out, "<b>") {
		t.Errorf("controls are not escaped, or text is: %q", out)
	}
}

func TestFinishReason(t *testing.T) {
	for finish, want := range map[llm.Finish]string{
		llm.FinishEOS: "stop", llm.FinishStop: "stop", llm.FinishLength: "length", llm.FinishContext: "length", llm.FinishDeadline: "length", llm.FinishFiltered: "content_filter",
	} {
		if got := finishReason(finish); got != want {
			t.Errorf("%s: %s, want %s", finish, got, want)
		}
	}
}
