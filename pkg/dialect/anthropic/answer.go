package anthropic

import (
	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
)

// signature stands where Anthropic signs thinking. Clients require one and send it back.
const signature = "unsigned"

// An answer makes the events and the content of a message out of the chunks of a model. Both
// forms of an answer, whole and streamed, come from it.
type answer struct {
	answerMessage
	gen    *generation
	events []event // since the last take
	open   *opened // the last block, until it is done
}

// opened is a block that is being written.
type opened struct {
	block
	index int // of the call in the row
	text  []byte
}

// newAnswer returns an answer without content.
func newAnswer(model *llm.Model, gen *generation) *answer {
	return &answer{gen: gen, answerMessage: answerMessage{
		ID: openaiapi.NewID("msg_"), Type: "message", Role: "assistant", Model: model.Name, Content: []block{}, Usage: usage{ServiceTier: "standard"},
	}}
}

// take returns the events since the last take.
func (a *answer) take() []event {
	list := a.events
	a.events = nil
	return list
}

func (a *answer) emit(e event) { a.events = append(a.events, e) }

// begin emits the events before the first block. input is the number of tokens of the prompt.
func (a *answer) begin(input int) {
	head := a.answerMessage
	head.Usage.InputTokens = input
	a.emit(event{Type: "message_start", Message: &head})
	a.emit(event{Type: "ping"})
}

// start opens a block, after the last one is done.
func (a *answer) start(o opened) {
	a.end()
	switch o.Type {
	case typeText:
		o.Text = new("")
	case typeThinking:
		o.Thinking, o.Signature = new(""), new("")
	case typeUse:
		o.Input = new(rawJSON(`{}`))
	}
	a.open = &o
	a.emit(event{Type: "content_block_start", Index: new(len(a.Content)), ContentBlock: new(o.block)})
}

// add translates a chunk.
func (a *answer) add(c llm.Chunk) error {
	if c.Reasoning != "" {
		a.write(typeThinking, c.Reasoning)
	}
	if c.Text != "" {
		a.write(typeText, c.Text)
	}
	for _, call := range c.Calls {
		if err := a.call(call); err != nil {
			return err
		}
	}
	if c.Usage != nil {
		a.Usage.InputTokens, a.Usage.CacheRead, a.Usage.OutputTokens = c.Usage.Input-c.Usage.Cached, c.Usage.Cached, c.Usage.Output
		a.Usage.Cost = c.Usage.Cost
		a.Usage.OutputDetails.ThinkingTokens = c.Usage.Reasoning
	}
	if c.Finish != "" {
		a.finish(c)
	}
	return nil
}

// write adds a piece to the block of a type, which it opens if it must.
func (a *answer) write(kind, piece string) {
	if a.open == nil || a.open.Type != kind {
		a.start(opened{block: block{Type: kind}})
	}
	d := delta{Type: "text_delta", Text: &piece}
	if kind == typeThinking {
		if a.gen.omitted {
			return
		}
		d = delta{Type: "thinking_delta", Thinking: &piece}
	}
	a.open.text = append(a.open.text, piece...)
	a.piece(d)
}

// piece emits what is added to the open block.
func (a *answer) piece(d delta) {
	a.emit(event{Type: "content_block_delta", Index: new(len(a.Content)), Delta: &d})
}

// call adds a piece of a call.
func (a *answer) call(c llm.Call) error {
	switch {
	case c.Name != "":
		o := opened{block: block{Type: typeUse, Name: c.Name, ID: c.ID}, index: c.Index}
		if o.ID == "" {
			o.ID = openaiapi.NewID("toolu_")
		}
		a.start(o)
	case a.open == nil || a.open.Type != typeUse || a.open.index != c.Index:
		return llm.Errorf(llm.Upstream, "the model continued a call that had ended")
	}
	if c.Arguments != "" {
		a.open.text = append(a.open.text, c.Arguments...)
		a.piece(delta{Type: "input_json_delta", PartialJSON: &c.Arguments})
	}
	return nil
}

// end closes the open block, if there is one.
func (a *answer) end() {
	o := a.open
	if o == nil {
		return
	}
	switch text := string(o.text); o.Type {
	case typeText:
		o.Text = &text
	case typeThinking:
		o.Thinking, o.Signature = &text, new(signature)
		a.piece(delta{Type: "signature_delta", Signature: o.Signature})
	case typeUse:
		if text != "" {
			o.Input = new(rawJSON(text))
		}
	}
	a.emit(event{Type: "content_block_stop", Index: new(len(a.Content))})
	a.Content = append(a.Content, o.block)
	a.open = nil
}

// finish ends the answer with the last chunk of its row.
func (a *answer) finish(c llm.Chunk) {
	if a.open == nil && len(a.Content) == 0 {
		a.start(opened{block: block{Type: typeText}}) // many clients read the first block
	}
	called := a.open != nil && a.open.Type == typeUse
	a.end()
	a.Guarantee, a.StopReason = c.Guarantee, new(stopReason(c.Finish, called))
	if c.Finish == llm.FinishStop && c.Stop != "" {
		a.StopSequence = &c.Stop
	}
	end := delta{StopReason: a.StopReason, StopSequence: &stopSequence{a.StopSequence}, Guarantee: a.Guarantee}
	a.emit(event{Type: "message_delta", Delta: &end, Usage: new(a.Usage)})
	a.emit(event{Type: "message_stop"})
}

// checkInputs checks the inputs of the calls of a whole answer, which ended for a reason. A stream
// has them as the model wrote them.
func (a *answer) checkInputs(why llm.Finish) error {
	for i := range a.Content {
		if b := &a.Content[i]; b.Type == typeUse {
			input, err := openaiapi.AnsweredArguments(string(*b.Input), why)
			if err != nil {
				return err
			}
			b.Input = new(rawJSON(input))
		}
	}
	return nil
}

// stopReason returns Anthropic's word for the end of an answer, whose last block may be a call. An
// answer that ran out of time was cut as by a limit.
func stopReason(why llm.Finish, called bool) string {
	switch {
	case why == llm.FinishLength || why == llm.FinishDeadline || why == llm.FinishCancelled:
		return "max_tokens"
	case why == llm.FinishContext:
		return "model_context_window_exceeded"
	case why == llm.FinishFiltered:
		return "refusal"
	case called:
		return "tool_use"
	case why == llm.FinishStop:
		return "stop_sequence"
	}
	return "end_turn"
}
