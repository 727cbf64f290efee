package ollama

import (
	"time"

	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
)

// An answer makes the lines of an answer out of the chunks of a model.
type answer struct {
	model  string
	isChat bool
	now    func() time.Time
	clock  clock
	calls  []llm.Call // begun; the last one may not be complete
	sent   int        // calls that lines have
}

// A clock holds the moments of a request.
type clock struct{ begun, opened, first time.Time }

// line returns a line with a piece of the answer.
func (a *answer) line(text, thinking string) answerLine {
	out := answerLine{Model: a.model, CreatedAt: a.now().UTC()}
	if a.isChat {
		out.Message = &answerMessage{Role: "assistant", Content: text, Thinking: thinking}
	} else {
		out.Response, out.Thinking = &text, thinking
	}
	return out
}

// add translates a chunk into lines: one with what it adds, if that is anything, and the last one of an
// answer that it ends, which adds nothing: clients may not look for text there.
func (a *answer) add(c llm.Chunk, logprobs bool) (lines []answerLine, err error) {
	out, err := a.piece(c, logprobs)
	if err != nil {
		return nil, err
	}
	if c.Text != "" || c.Reasoning != "" || out.Logprobs != nil || out.Message != nil && out.Message.ToolCalls != nil {
		lines = append(lines, out)
	}
	if c.Finish != "" {
		end := a.line("", "")
		a.finish(&end, &c)
		lines = append(lines, end)
	}
	return lines, nil
}

// piece returns a line with what a chunk adds.
func (a *answer) piece(c llm.Chunk, logprobs bool) (out answerLine, err error) {
	out = a.line(c.Text, c.Reasoning)
	if logprobs && len(c.Tokens) > 0 {
		out.Logprobs = openaiapi.TokenLogprobs(c.Tokens)
	}
	for _, call := range c.Calls {
		if call.Index < len(a.calls) {
			a.calls[call.Index].Arguments += call.Arguments
			continue
		}
		if err := out.take(a, len(a.calls), ""); err != nil {
			return out, err
		}
		a.calls = append(a.calls, call)
	}
	if c.Finish != "" {
		err = out.take(a, len(a.calls), c.Finish)
	}
	return out, err
}

// take adds the calls before the nth, which are complete unless the answer ended early, that no line
// has yet. The answer to a text has none.
func (l *answerLine) take(a *answer, n int, why llm.Finish) error {
	if !a.isChat {
		return nil
	}
	for ; a.sent < n; a.sent++ {
		call := a.calls[a.sent]
		if call.ID == "" {
			call.ID = openaiapi.NewID("call_")
		}
		arguments, err := openaiapi.AnsweredArguments(call.Arguments, why)
		if err != nil {
			return err
		}
		l.Message.ToolCalls = append(l.Message.ToolCalls, answerCall{call.ID, answerFunction{a.sent, call.Name, rawJSON(arguments)}})
	}
	return nil
}

// finish makes a line the last one.
func (a *answer) finish(out *answerLine, c *llm.Chunk) {
	out.Done, out.Reason, out.Guarantee = true, "stop", string(c.Guarantee)
	switch c.Finish {
	case llm.FinishLength, llm.FinishContext, llm.FinishDeadline, llm.FinishCancelled:
		out.Reason = "length"
	}
	end := a.now()
	out.durations = durations{
		Total: int64(end.Sub(a.clock.begun)), Load: int64(a.clock.opened.Sub(a.clock.begun)),
		Prompt: int64(a.clock.first.Sub(a.clock.opened)), Answer: int64(end.Sub(a.clock.first)),
	}
	if c.Usage != nil {
		out.PromptCount, out.Count, out.Cost = c.Usage.Input, c.Usage.Output, c.Usage.Cost
	}
}
