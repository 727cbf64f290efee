package repl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"glossa/pkg/llm"
)

// MaxPrompt is the longest prompt that [Ask] reads from a pipe, in bytes.
const MaxPrompt = 16 << 20

// Errors of [Ask].
var (
	ErrNoPrompt    = errors.New("the prompt is empty: pass it as an argument or on standard input")
	ErrInterrupted = errors.New("interrupted")
)

// A Question is one question for [Ask].
type Question struct {
	Text string
	Pipe bool // read more of it from the input: its context, after an empty line
	JSON bool // print the answer with its usage as one JSON object
}

// Ask prints the answer to a question. The output has the answer only.
func Ask(ctx context.Context, cfg Config, q Question, streams Streams) error {
	text, err := q.prompt(ctx, streams.In)
	if err != nil {
		return err
	}
	s := newSession(cfg, streams, nil)
	if err := s.open(ctx, cfg.Model); err != nil {
		return err
	}
	screen := s.screen
	if q.JSON {
		screen = newScreen(cfg, Streams{Out: io.Discard, Notes: streams.Notes})
	}
	a, err := screen.stream(ctx, s.model, s.request(text))
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		return ErrInterrupted
	}
	if err != nil {
		return err
	}
	if q.JSON {
		return s.printJSON(a)
	}
	if about := s.about(a); about != "" && s.notesTerminal {
		s.note(about)
	}
	return nil
}

// prompt returns the whole prompt. Reading a pipe cannot be interrupted, so a goroutine
// does it, which ends with the input.
func (q Question) prompt(ctx context.Context, in io.Reader) (string, error) {
	text := strings.TrimSpace(q.Text)
	if q.Pipe {
		type result struct {
			b   []byte
			err error
		}
		done := make(chan result, 1)
		go func() {
			b, err := io.ReadAll(io.LimitReader(in, MaxPrompt+1))
			done <- result{b, err}
		}()
		select {
		case r := <-done:
			switch {
			case r.err != nil:
				return "", fmt.Errorf("reading the prompt: %w", r.err)
			case len(r.b) > MaxPrompt:
				return "", fmt.Errorf("the prompt on standard input is larger than %d MiB", MaxPrompt>>20)
			}
			text = strings.TrimSpace(text + "\n\n" + strings.TrimSpace(string(r.b)))
		case <-ctx.Done():
			return "", ErrInterrupted
		}
	}
	if text == "" {
		return "", ErrNoPrompt
	}
	return text, nil
}

// A completion is the answer as JSON, in the form of OpenAI's chat completions.
type completion struct {
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   usage    `json:"usage"`
	Timings timings  `json:"timings"`
}

type choice struct {
	Index        int     `json:"index"`
	Message      message `json:"message"`
	FinishReason string  `json:"finish_reason"`
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

// timings are glossa's addition.
type timings struct {
	First float64 `json:"first_token_ms"`
	Total float64 `json:"total_ms"`
	Speed float64 `json:"tokens_per_second"`
}

// printJSON prints an answer as one JSON object.
func (s *session) printJSON(a answer) error {
	milliseconds := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(completion{
		Object: "chat.completion", Created: time.Now().Unix(), Model: s.model.Name,
		Choices: []choice{{Message: message{"assistant", a.text}, FinishReason: finishReason(a.finish)}},
		Usage:   usage{a.usage.Input, a.usage.Output, a.usage.Input + a.usage.Output},
		Timings: timings{milliseconds(a.first), milliseconds(a.took), math.Round(10*a.speed()) / 10},
	})
	if err != nil {
		return err
	}
	// JSON escapes the controls of ASCII but not the others, which some terminals obey.
	var escaped strings.Builder
	for _, r := range b.String() {
		if r >= 0x7f && r <= 0x9f {
			fmt.Fprintf(&escaped, `\u%04x`, r)
		} else {
			escaped.WriteRune(r)
		}
	}
	if _, err := io.WriteString(s.out, escaped.String()); err != nil {
		return fmt.Errorf("%w: %w", errOutput, err)
	}
	return nil
}

// finishReason returns OpenAI's word for the end of an answer.
func finishReason(why llm.Finish) string {
	switch why {
	case llm.FinishEOS, llm.FinishStop:
		return "stop"
	case llm.FinishFiltered:
		return "content_filter"
	}
	return "length"
}
