package openai

import (
	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
)

// assistant is the role of every answer.
const assistant = "assistant"

// choice translates a collected row of the model's answer to req.
func (c *chatRequest) choice(row llm.Chunk, req *llm.Request, model *llm.Model) chatChoice {
	choice := chatChoice{
		Index: row.Row, Message: chatMessage{Role: assistant, ToolCalls: newCalls(row.Calls, false)},
		FinishReason: chatFinish(model, row.Finish, len(row.Calls) > 0), Guarantee: row.Guarantee,
	}
	if !c.hidden() {
		choice.Message.reasoningText = reasoningText{row.Reasoning, row.Reasoning}
	}
	if row.Text != "" || len(row.Calls) == 0 {
		choice.Message.Content = &row.Text
	}
	if req.Schema != nil || req.Tools != nil {
		choice.Message.Refusal = new(*string)
	}
	if c.Logprobs {
		choice.Logprobs = newLogprobs(row.Tokens)
	}
	return choice
}

// A chatStream translates chunks as they come.
type chatStream struct {
	model        *llm.Model
	head         chatChunk // what all chunks share
	withLogprobs bool
	withUsage    bool   // stream_options.include_usage
	answersOnly  bool   // without reasoning
	toAlephAlpha bool   // the last chunk of a row has no usage, and the first a text, see [isAlephAlpha]
	begun        []bool // by row: its role was sent
	called       []bool // by row: it has calls
}

// events returns the events of a chunk: the role before the first reasoning, text or call of a
// row, then these, then the finish reason of the row, with the usage if it is the last row.
func (s *chatStream) events(c llm.Chunk) (events []chatChunk) {
	if s.answersOnly {
		c.Reasoning = ""
	}
	if c.Reasoning == "" && c.Text == "" && len(c.Calls) == 0 && len(c.Tokens) == 0 && c.Finish == "" {
		return nil
	}
	piece := delta{ToolCalls: newCalls(c.Calls, true)}
	if c.Text != "" || len(c.Calls) == 0 {
		piece.Content = new(&c.Text)
	}
	if !s.begun[c.Row] {
		s.begun[c.Row] = true
		first := delta{Role: assistant, Content: new(*string)}
		if piece.Content != nil || c.Reasoning != "" || s.toAlephAlpha {
			first.Content = new(new(""))
		}
		events = append(events, s.event(chunkChoice{Index: c.Row, Delta: first}))
	}
	if c.Reasoning != "" {
		events = append(events, s.event(chunkChoice{Index: c.Row, Delta: delta{reasoningText: reasoningText{c.Reasoning, c.Reasoning}}}))
	}
	s.called[c.Row] = s.called[c.Row] || len(c.Calls) > 0
	if c.Text != "" || len(c.Calls) > 0 || s.withLogprobs && len(c.Tokens) > 0 {
		choice := chunkChoice{Index: c.Row, Delta: piece}
		if s.withLogprobs {
			choice.Logprobs = newLogprobs(c.Tokens)
		}
		events = append(events, s.event(choice))
	}
	if c.Finish != "" {
		last := s.event(chunkChoice{Index: c.Row, FinishReason: new(chatFinish(s.model, c.Finish, s.called[c.Row])), Guarantee: c.Guarantee})
		if hasFullUsage(c) && !s.withUsage && !s.toAlephAlpha {
			last.Usage = new(newUsage(*c.Usage)) // as Alpha's server
		}
		events = append(events, last)
	}
	if hasFullUsage(c) && s.withUsage {
		last := s.head
		last.Choices, last.Usage = []chunkChoice{}, new(newUsage(*c.Usage))
		events = append(events, last)
	}
	return events
}

func (s *chatStream) event(choice chunkChoice) chatChunk {
	event := s.head
	event.Choices = []chunkChoice{choice}
	if s.withUsage {
		event.Usage = new(*usage)
	}
	return event
}

// chatFinish is [finishReason], but the models of Alpha end a text that fills their
// context with stop.
func chatFinish(model *llm.Model, why llm.Finish, called bool) string {
	if why == llm.FinishContext && model.Run != nil {
		why = llm.FinishStop
	}
	return finishReason(why, called)
}

// finishReason returns OpenAI's word for the end of a row, which may have calls. A text
// that filled the context, or ran out of time, was cut as by a limit.
func finishReason(why llm.Finish, called bool) string {
	switch {
	case why == llm.FinishLength || why == llm.FinishContext || why == llm.FinishDeadline || why == llm.FinishCancelled:
		return "length"
	case why == llm.FinishFiltered:
		return "content_filter"
	case called:
		return "tool_calls"
	}
	return "stop"
}

// hasFullUsage reports whether a chunk has the usage, and all of it.
func hasFullUsage(c llm.Chunk) bool { return c.Usage != nil && !c.Usage.Partial }

// newUsage returns nil if a remote provider does not report all of it: clients add the
// numbers up, and would count a missing one as 0.
func newUsage(u llm.Usage) *usage {
	if u.Partial {
		return nil
	}
	out := &usage{PromptTokens: u.Input, CompletionTokens: u.Output, TotalTokens: u.Input + u.Output, Cost: u.Cost}
	if u.Cached > 0 {
		out.PromptDetails = &promptDetails{u.Cached}
	}
	if u.Reasoning+u.Predicted+u.Mispredicted > 0 {
		out.Details = &completionDetails{u.Reasoning, u.Predicted, u.Mispredicted}
	}
	return out
}

func newLogprobs(tokens []llm.Token) *logprobs {
	return &logprobs{Content: openaiapi.TokenLogprobs(tokens)}
}

// newModel translates the description of a model. Models that Alpha trained are owned by
// it, others by their family.
func newModel(info llm.ModelInfo) modelObject {
	m := modelObject{ID: info.Name, Object: "model", OwnedBy: info.Family, Task: string(info.Task), EmbeddingTypes: info.Embeds, Labels: info.Labels}
	if info.Images {
		m.Input = []string{"text", "image"}
	}
	if info.Run != nil {
		m.OwnedBy = "alpha"
	}
	if !info.Created.IsZero() {
		m.Created = info.Created.Unix()
	}
	return m
}
