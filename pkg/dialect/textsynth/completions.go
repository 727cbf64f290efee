package textsynth

import (
	"encoding/json"
	"slices"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// completionDefaults returns the documented defaults (§1.3). A prompt that does not fit loses
// its beginning.
func completionDefaults() llm.Params {
	return llm.Params{MaxTokens: new(100), Temperature: new(1.0), TopK: new(40), TopP: new(0.9), Truncate: new(0)}
}

// request translates a request for completions. Every error names the key at fault.
func (c *completionRequest) request() (*llm.Request, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	req := &llm.Request{
		Prompts: c.prompts(), N: c.n(), Stream: c.Stream,
		Params: llm.Params{
			MaxTokens: c.MaxTokens, Stop: c.Stop.Values, Temperature: c.Temperature, TopK: c.TopK, TopP: wire.Mass(c.TopP), TypicalP: wire.Mass(c.TypicalP),
			LogitBias: wire.TokenBias(c.LogitBias), PresencePenalty: c.PresencePenalty, FrequencyPenalty: c.FrequencyPenalty, RepetitionPenalty: c.RepetitionPenalty,
			Schema: c.schema(), Grammar: c.Grammar,
		},
		Defaults: completionDefaults(),
	}
	if c.Seed != nil && *c.Seed != 0 {
		req.Seed = c.Seed
	}
	return req, nil
}

// check validates keys that depend on each other.
func (c *completionRequest) check() error {
	switch schema := c.schema(); {
	case schema != nil && schema[0] != '{':
		return wire.Invalid("schema", "must be an object")
	case schema != nil && c.Grammar != nil:
		return wire.Invalid("grammar", "cannot be combined with schema")
	}
	return nil
}

// schema returns the schema, nil if there is none.
func (c *completionRequest) schema() json.RawMessage {
	if len(c.Schema) == 0 || string(c.Schema) == "null" {
		return nil
	}
	return c.Schema
}

func (c *completionRequest) prompts() []llm.Prompt {
	prompts := make([]llm.Prompt, len(c.Prompt.Values))
	for i, text := range c.Prompt.Values {
		prompts[i] = llm.Text(text)
	}
	return prompts
}

func (c *completionRequest) n() int {
	if c.N == nil {
		return 1
	}
	return *c.N
}

// many reports whether an answer has a list of texts: for n above 1 (§1.3) and for
// a list of prompts.
func (c *completionRequest) many() bool { return c.Prompt.List || c.n() > 1 }

// answer translates complete rows.
func (c *completionRequest) answer(rows []llm.Chunk, used llm.Usage) completionAnswer {
	return completionAnswer{Text: each(rows, c.many(), text), ReachedEnd: true, completionEnd: newEnd(rows, c.many(), used)}
}

// A completionStream translates chunks as they arrive.
type completionStream struct {
	many bool
	rows []llm.Chunk // the latest chunk of each row
}

// answer returns the answer for a chunk, if the chunk has new text or is the last. Rows
// without new text have an empty text in it.
func (s *completionStream) answer(c llm.Chunk) (completionAnswer, bool) {
	s.rows[c.Row] = c
	out := completionAnswer{Text: each(s.rows, s.many, text)}
	if c.Usage != nil {
		out.ReachedEnd, out.completionEnd = true, newEnd(s.rows, s.many, *c.Usage)
	}
	s.rows[c.Row].Text = ""
	return out, c.Text != "" || c.Usage != nil
}

func newEnd(rows []llm.Chunk, many bool, used llm.Usage) *completionEnd {
	end := &completionEnd{TruncatedPrompt: used.Truncated, FinishReason: each(rows, many, finishReason)}
	if !used.Partial {
		end.counts = &counts{InputTokens: used.Input, OutputTokens: used.Output, TotalTokens: used.Input + used.Output, Cost: used.Cost}
	}
	if slices.ContainsFunc(rows, func(row llm.Chunk) bool { return row.Guarantee != llm.Unchecked }) {
		end.Guarantee = new(each(rows, many, func(row llm.Chunk) string { return string(row.Guarantee) }))
	}
	return end
}

// each returns a string of each row as a list, or the string of the only row.
func each(rows []llm.Chunk, many bool, of func(llm.Chunk) string) wire.Many[string] {
	list := make([]string, len(rows))
	for i, row := range rows {
		list[i] = of(row)
	}
	return wire.Many[string]{Values: list, List: many}
}

func text(row llm.Chunk) string { return row.Text }

// finishReason returns TextSynth's finish reason of a row. The end of the context and the
// timeout count as length.
func finishReason(row llm.Chunk) string {
	switch row.Finish {
	case llm.FinishLength, llm.FinishContext, llm.FinishDeadline, llm.FinishCancelled:
		return "length"
	}
	return "stop"
}
