package repl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"glossa/pkg/llm"
)

// Defaults of requests. Starters and other models that Alpha trained never stop by
// themselves, so their answers have a length.
const (
	baseTokens  = 200
	temperature = 0.8
	topK        = 40  // Alpha's
	reserve     = 256 // tokens of the context kept free for an answer without a limit
)

// request returns the request for an answer to question.
func (s *session) request(question string) *llm.Request {
	defaults := llm.Params{Temperature: new(temperature), TopK: new(topK)}
	if s.model.Run != nil {
		defaults.MaxTokens = new(baseTokens)
	}
	return &llm.Request{
		Prompts: []llm.Prompt{{Messages: s.messages(question)}}, Stream: true,
		Params: s.Params, Defaults: defaults,
	}
}

// messages returns the conversation with question as its last message.
func (s *session) messages(question string) []llm.Message {
	message := func(role, text string) llm.Message {
		return llm.Message{Role: role, Parts: []llm.Part{{Text: text}}}
	}
	var all []llm.Message
	if s.System != "" {
		all = append(all, message("system", s.System))
	}
	for _, t := range s.turns {
		all = append(all, message("user", t.question), message("assistant", t.answer))
	}
	return append(all, message("user", question))
}

// answer streams the answer to question and records both. An error of the model is
// printed and its question dropped, ok is then false; an error of the output ends the
// conversation.
func (s *session) answer(ctx context.Context, question string) (ok bool, err error) {
	var dropped int
	for s.exceedsContext(ctx, question) && len(s.turns) > 0 {
		s.turns = s.turns[1:]
		dropped++
	}
	for {
		if dropped > 0 {
			s.note(fmt.Sprintf("%d oldest %s dropped: the context of %d tokens is full", dropped, plural("turn", dropped), s.model.Context))
		}
		text, err := s.generate(ctx, question)
		switch {
		case err == nil, errors.Is(err, errQuit):
			s.turns = append(s.turns, turn{question, text})
			return true, err
		case errors.Is(err, errOutput):
			return false, err
		}
		// The count is an estimate where a chat template adds tokens.
		e := llm.AsError(err)
		if e.Code == llm.TooLong && len(s.turns) > 0 && text == "" {
			s.turns, dropped = s.turns[1:], 1
			continue
		}
		s.note(e.Error())
		return false, nil
	}
}

// exceedsContext reports whether question after all turns leaves less room than an answer
// needs: its limit, but never more than half the context.
func (s *session) exceedsContext(ctx context.Context, question string) bool {
	tokenizer, err := llm.As[llm.Tokenizer](s.model)
	if err != nil || s.model.Context == 0 {
		return false
	}
	room := reserve
	if s.model.Run != nil {
		room = baseTokens
	}
	if s.Params.MaxTokens != nil {
		room = *s.Params.MaxTokens
	}
	used := min(room, s.model.Context/2)
	for _, m := range s.messages(question) {
		tokens, err := tokenizer.Tokenize(ctx, m.Parts[:1], false)
		if err != nil {
			return false // Generate returns the error
		}
		used += len(tokens) + 1 // the separator of two messages
	}
	return used > s.model.Context
}

// generate streams one answer to the output and returns it. A signal stops it.
func (s *session) generate(ctx context.Context, question string) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	var watch sync.WaitGroup
	var got os.Signal // read after watch has ended
	watch.Go(func() {
		select {
		case got = <-s.signals:
			cancel()
		case <-ctx.Done():
		}
	})
	a, err := s.stream(ctx, s.model, s.request(question))
	cancel()
	watch.Wait()
	if later := s.pending(); later != nil && later != os.Interrupt {
		got = later
	}
	a.stopped = got != nil && (err == nil || errors.Is(err, context.Canceled))
	if err != nil && !a.stopped {
		return a.text, err
	}
	s.interrupted = a.stopped
	if about := s.about(a); about != "" {
		s.note(about)
	}
	if a.stopped && got != os.Interrupt {
		return a.text, errQuit
	}
	return a.text, nil
}

// pending returns a signal that came while an answer stopped, nil if none did.
func (s *session) pending() os.Signal {
	select {
	case signal := <-s.signals:
		return signal
	default:
		return nil
	}
}

// An answer is a text with what is known of its generation.
type answer struct {
	text    string
	finish  llm.Finish
	usage   llm.Usage
	first   time.Duration // until the first text
	took    time.Duration
	stopped bool // by the person
}

// speed returns the tokens a second after the first, 0 if that is unknown.
func (a *answer) speed() float64 {
	rest := (a.took - a.first).Seconds()
	if a.usage.Output < 2 || rest <= 0 {
		return 0
	}
	return float64(a.usage.Output-1) / rest
}

// stream writes the answer as it comes and ends its line, also before an error.
func (s *screen) stream(ctx context.Context, model llm.Backend, req *llm.Request) (a answer, err error) {
	var text strings.Builder
	page := s.page()
	start := time.Now()
	for chunk, failed := range model.Generate(ctx, req) {
		if failed != nil {
			err = failed
			break
		}
		if text.Len() == 0 && chunk.Text != "" {
			a.first = time.Since(start)
		}
		text.WriteString(chunk.Text)
		a.finish = chunk.Finish
		if chunk.Usage != nil {
			a.usage = *chunk.Usage
		}
		if _, failed := page.WriteString(chunk.Text); failed != nil {
			return a, fmt.Errorf("%w: %w", errOutput, failed)
		}
	}
	a.took, a.text = time.Since(start), text.String()
	if err == nil || a.text != "" {
		if failed := page.End(); failed != nil {
			return a, fmt.Errorf("%w: %w", errOutput, failed)
		}
	}
	return a, err
}

// about describes an answer: its end if that is not the model's own, and its speed.
func (s *session) about(a answer) string {
	var about []string
	if !s.NoStats {
		about = append(about, fmt.Sprintf("%d %s", a.usage.Output, plural("token", a.usage.Output)))
		if speed := a.speed(); speed > 0 {
			about = append(about, fmt.Sprintf("%.0f tokens/s", speed))
		}
		if a.first > 0 {
			about = append(about, "first after "+short(a.first))
		}
	}
	switch {
	case a.stopped:
		about = append(about, "stopped")
	case a.finish == llm.FinishLength:
		about = append(about, "cut off by max_tokens")
	case a.finish == llm.FinishContext:
		about = append(about, fmt.Sprintf("cut off: the context of %d tokens is full", s.model.Context))
	case a.finish == llm.FinishFiltered:
		about = append(about, "cut off by the provider's safety filter")
	}
	return strings.Join(about, ", ")
}

// short formats a duration for people: 850 µs, 12 ms, 1.4 s.
func short(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
