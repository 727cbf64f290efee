package remote

import (
	"strings"

	"glossa/pkg/llm"
	"glossa/pkg/schema"
)

// A completion turns the answers to one row into chunks.
type completion struct {
	row      *row
	chunk    llm.Chunk // text and calls not sent yet
	tail     tail
	calls    calls
	word     string // the provider's finish reason
	answered bool   // the text has begun
	filtered bool   // by the provider's guardrail
	tally
}

func newCompletion(r *row) *completion {
	return &completion{row: r, chunk: llm.Chunk{Row: r.index}, tail: tail{stops: r.stop}}
}

// add adds an answer, or the next event of one.
func (c *completion) add(a answer) error {
	text, ok := a.keys["generated_text"].(string)
	if v := a.keys["generated_text"]; v != nil && !ok {
		return &llm.Error{Code: llm.Upstream, Param: "generated_text", Message: "the model's answer has a value there that is not text"}
	}
	reasoning, _ := a.keys["reasoning"].(string) // a path may lead to an object where the model wrote none
	if special, _ := a.keys["special"].(bool); special {
		text = ""
	}
	if c.answered {
		reasoning = "" // of another block, which no chunk can have after the answer
	}
	c.chunk.Reasoning += reasoning
	c.chunk.Text += c.row.take() + c.tail.push(text)
	c.answered = c.answered || text != "" || a.keys["tool_calls"] != nil
	if word, ok := a.keys["finish_reason"].(string); ok && word != "" {
		c.word = word
	}
	c.filtered = c.filtered || a.filtered
	if strings.EqualFold(c.word, "error") { // LMI's and Cohere's
		return llm.Errorf(llm.Upstream, "the model reports an error")
	}
	calls, err := c.calls.add(a.keys["tool_calls"])
	if err != nil {
		return err
	}
	c.chunk.Calls = append(c.chunk.Calls, calls...)
	c.tally.add(a)
	return nil
}

// take returns the echo the first time, then "".
func (r *row) take() string {
	echo := r.echo
	r.echo = ""
	return echo
}

// ready returns the pending chunk of a streamed row.
func (c *completion) ready() (llm.Chunk, bool) {
	out := c.chunk
	if !c.row.stream || out.Reasoning == "" && out.Text == "" && out.Calls == nil {
		return llm.Chunk{}, false
	}
	c.chunk = llm.Chunk{Row: c.row.index}
	return out, true
}

// end returns the last chunk, with the usage of the row. why is "" if the provider
// ended it.
func (c *completion) end(why llm.Finish) llm.Chunk {
	out := c.chunk
	rest, stopped := c.tail.held, ""
	if why == "" {
		why = schema.Finish(c.word)
		rest, stopped = c.tail.end()
		if why == llm.FinishEOS {
			out.Calls = append(out.Calls, c.calls.end()...)
		}
	}
	if stopped != "" {
		why = llm.FinishStop
	}
	if c.filtered && why != llm.FinishDeadline && why != llm.FinishCancelled {
		why = llm.FinishFiltered
	}
	if why == llm.FinishStop {
		if out.Stop = stopped; stopped == "" && len(c.tail.stops) == 1 {
			out.Stop = c.tail.stops[0] // no other was sent
		}
	}
	out.Text += rest
	out.Finish = why
	out.Usage = new(c.usage())
	return out
}

// A tail holds back a possible stop sequence at the end of the text, where some
// providers leave it (TGI; Cohere's stop_sequences).
type tail struct {
	stops []string
	held  string
}

// push adds text and returns the part that cannot belong to a stop sequence.
func (t *tail) push(text string) string {
	t.held += text
	keep := 0
	for _, s := range t.stops {
		for n := min(len(s), len(t.held)); n > keep; n-- {
			if strings.HasSuffix(t.held, s[:n]) {
				keep = n
			}
		}
	}
	out := t.held[:len(t.held)-keep]
	t.held = t.held[len(out):]
	return out
}

// end returns the rest without the stop sequence at its end, if there is one.
func (t *tail) end() (rest, stopped string) {
	for _, s := range t.stops {
		if strings.HasSuffix(t.held, s) && len(s) > len(stopped) {
			stopped = s
		}
	}
	return t.held[:len(t.held)-len(stopped)], stopped
}
