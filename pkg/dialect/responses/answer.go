package responses

import (
	"time"

	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
)

// The states of an answer and of its items.
const (
	inProgress = "in_progress"
	completed  = "completed"
	incomplete = "incomplete"
	failed     = "failed"
	cancelled  = "cancelled"
)

// newResponse returns the answer to a request before it has output.
func (c *createRequest) newResponse(model *llm.Model, now time.Time) response {
	r := response{
		ID: openaiapi.NewID("resp_"), Object: "response", CreatedAt: now.Unix(), Status: inProgress, Model: model.Name, Output: []item{},
		Instructions: c.Instructions, MaxOutputTokens: c.MaxOutputTokens, Temperature: c.Temperature, TopP: c.TopP, TopLogprobs: or(c.TopLogprobs, 0),
		Text: textEcho{formatEcho{Type: "text"}}, Tools: c.Tools, ToolChoice: choice(`"auto"`), ParallelToolCalls: or(c.ParallelToolCalls, true),
		Truncation: "disabled", Metadata: or(c.Metadata, map[string]string{}), ServiceTier: "default",
		PreviousResponseID: c.PreviousResponseID,
	}
	if model.InProcess {
		r.Temperature, r.TopP = new(or(c.Temperature, 1)), new(or(c.TopP, 1))
	}
	if c.Tools == nil {
		r.Tools = tools{}
	}
	if len(c.ToolChoice) > 0 && string(c.ToolChoice) != "null" {
		r.ToolChoice = choice(c.ToolChoice)
	}
	if c.Truncation != "" {
		r.Truncation = c.Truncation
	}
	if c.Text != nil && c.Text.Format != nil {
		f := c.Text.Format
		r.Text.Format = formatEcho{Type: f.Type, Name: f.Name, Strict: f.Strict}
		if len(f.Schema) > 0 && f.Type == "json_schema" {
			r.Text.Format.Schema = new(object(f.Schema))
		}
	}
	if c.Reasoning != nil {
		r.Reasoning = reasoningEcho{c.Reasoning.Effort, c.Reasoning.Summary}
		if r.Reasoning.Summary == nil {
			r.Reasoning.Summary = c.Reasoning.GenerateSummary
		}
	}
	return r
}

// newUsage returns nil if a remote provider does not report all of it: clients add the
// numbers up, and would count a missing one as 0.
func newUsage(u *llm.Usage) *usage {
	if u == nil || u.Partial {
		return nil
	}
	return &usage{InputTokens: u.Input, InputDetails: inputDetails{CachedTokens: u.Cached}, OutputTokens: u.Output, OutputDetails: outputDetails{u.Reasoning}, TotalTokens: u.Input + u.Output, Cost: u.Cost}
}

// An answer makes the events and the output of a response out of the chunks of a model. Both
// forms of an answer, whole and streamed, come from it.
type answer struct {
	response
	gen     *generation
	now     func() time.Time
	events  []event // since the last take
	number  int     // of the next event
	open    *opened // the last item of the output, until it is done
	pending []llm.Token
	before  int         // items of the input, whose numbers precede those of the output
	keep    func() bool // stores the answer when it has ended; nil: it is not stored

	cancelled func() bool // whether the client cancelled it; nil: it cannot
}

// opened is an item that is being written.
type opened struct {
	item
	kind     string
	index    int // of the call in the row
	text     []byte
	logprobs []openaiapi.TokenLogprob
}

// take returns the events since the last take.
func (a *answer) take() []event {
	list := a.events
	a.events = nil
	return list
}

// emit adds an event.
func (a *answer) emit(kind string, e event) {
	e.Type, e.SequenceNumber = "response."+kind, a.number
	a.number++
	a.events = append(a.events, e)
}

// state emits an event with the whole response.
func (a *answer) state(kind string) {
	now := a.response
	now.Output = append([]item{}, a.Output...)
	a.emit(kind, event{Response: &now})
}

// begin emits the events before the first item.
func (a *answer) begin() {
	a.state("created")
	a.state(inProgress)
}

// at returns an event about the open item.
func (a *answer) at() event { return event{ItemID: a.open.ID, OutputIndex: new(len(a.Output))} }

// inside returns an event about the only part of the open item.
func (a *answer) inside() event {
	e := a.at()
	if a.summarised() {
		e.SummaryIndex = new(0)
	} else {
		e.ContentIndex = new(0)
	}
	return e
}

// summarised reports whether the open item is reasoning that is sent as its summary.
func (a *answer) summarised() bool { return a.open.kind == typeReasoning && a.gen.summary }

// start opens an item, after the last one is done.
func (a *answer) start(o opened) {
	a.end(completed)
	o.Type, o.Status = o.kind, inProgress
	o.ID = itemID(o.kind, a.ID, a.before+len(a.Output))
	switch o.kind {
	case typeMessage:
		o.Role, o.Content = "assistant", &[]part{}
	case typeReasoning:
		o.Summary = &[]part{}
		if !a.gen.summary {
			o.Content = &[]part{}
		}
	case typeFunctionCall:
		o.Arguments = new("")
	case typeCustomCall:
		o.Input = new("")
	}
	a.open = &o
	added := o.item
	a.emit("output_item.added", event{OutputIndex: new(len(a.Output)), Item: &added})
	switch e := a.inside(); {
	case o.kind == typeMessage || o.kind == typeReasoning && !a.gen.summary:
		e.Part = a.part()
		a.emit("content_part.added", e)
	case o.kind == typeReasoning:
		e.Part = a.part()
		a.emit("reasoning_summary_part.added", e)
	}
}

// part returns the part of the open item as it is now.
func (a *answer) part() *part {
	p := &part{Type: reasoningText, Text: string(a.open.text)}
	switch {
	case a.open.kind == typeMessage:
		p.Type, p.Annotations, p.Logprobs = outputText, &[]object{}, a.tokens(a.open.logprobs)
	case a.gen.summary:
		p.Type = summaryText
	}
	return p
}

// tokens returns the log-probabilities of an event or a part: an empty list if they were not
// asked for, which SDKs require.
func (a *answer) tokens(list []openaiapi.TokenLogprob) *[]openaiapi.TokenLogprob {
	if list == nil {
		list = []openaiapi.TokenLogprob{}
	}
	return &list
}

// add translates a chunk.
func (a *answer) add(c llm.Chunk) error {
	if c.Reasoning != "" {
		a.write(typeReasoning, c.Reasoning)
	}
	if a.gen.logprobs {
		a.pending = append(a.pending, c.Tokens...)
	}
	if c.Text != "" {
		a.write(typeMessage, c.Text)
	}
	for _, call := range c.Calls {
		if err := a.call(call); err != nil {
			return err
		}
	}
	if c.Usage != nil {
		a.Usage = newUsage(c.Usage)
	}
	if c.Finish != "" {
		a.finish(c)
	}
	return nil
}

// write adds a piece of text to the item of a kind, which it opens if it must.
func (a *answer) write(kind, piece string) {
	if a.open == nil || a.open.kind != kind {
		a.start(opened{kind: kind})
	}
	a.open.text = append(a.open.text, piece...)
	e := a.inside()
	e.Delta = &piece
	switch {
	case kind == typeMessage:
		tokens := openaiapi.TokenLogprobs(a.pending)
		a.pending = nil
		a.open.logprobs = append(a.open.logprobs, tokens...)
		e.Logprobs = a.tokens(tokens)
		a.emit("output_text.delta", e)
	case a.gen.summary:
		a.emit("reasoning_summary_text.delta", e)
	default:
		a.emit("reasoning_text.delta", e)
	}
}

// call adds a piece of a call. The input of a custom tool is sent when its arguments are
// complete.
func (a *answer) call(c llm.Call) error {
	a.pending = nil // these are not tokens of a text
	isCall := a.open != nil && (a.open.kind == typeFunctionCall || a.open.kind == typeCustomCall)
	switch {
	case c.Name != "":
		o, t := opened{kind: typeFunctionCall, index: c.Index}, a.gen.called(c.Name)
		if t.Type == custom {
			o.kind = typeCustomCall
		}
		o.Name, o.Namespace, o.CallID = t.Name, t.namespace, c.ID
		if o.CallID == "" {
			o.CallID = openaiapi.NewID("call_")
		}
		a.start(o)
	case !isCall || a.open.index != c.Index:
		return llm.Errorf(llm.Upstream, "the model continued a call that had ended")
	}
	a.open.text = append(a.open.text, c.Arguments...)
	if a.open.kind == typeFunctionCall && c.Arguments != "" {
		e := a.at()
		e.Delta = &c.Arguments
		a.emit("function_call_arguments.delta", e)
	}
	return nil
}

// end closes the open item, if there is one.
func (a *answer) end(status string) {
	o := a.open
	if o == nil {
		return
	}
	text := string(o.text)
	e := a.at()
	switch o.kind {
	case typeMessage, typeReasoning:
		e = a.inside()
		a.endPart(e, text)
	case typeFunctionCall:
		o.Arguments = &text
		e.Name, e.Arguments = o.Name, &text
		a.emit("function_call_arguments.done", e)
	case typeCustomCall:
		o.Input = new(customInput(text))
		delta := e
		delta.Delta = o.Input
		a.emit("custom_tool_call_input.delta", delta)
		e.Input = o.Input
		a.emit("custom_tool_call_input.done", e)
	}
	o.Status = status
	done := o.item
	a.emit("output_item.done", event{OutputIndex: new(len(a.Output)), Item: &done})
	a.Output = append(a.Output, done)
	a.open = nil
}

// endPart closes the part of the open item; e is an event about the part.
func (a *answer) endPart(e event, text string) {
	whole := a.part()
	e.Text = &text
	last := e
	last.Text, last.Part = nil, whole
	switch {
	case a.open.kind == typeMessage:
		a.open.Content = &[]part{*whole}
		e.Logprobs = whole.Logprobs
		a.emit("output_text.done", e)
		a.emit("content_part.done", last)
	case a.gen.summary:
		a.open.Summary = &[]part{*whole}
		a.emit("reasoning_summary_text.done", e)
		a.emit("reasoning_summary_part.done", last)
	default:
		a.open.Content = &[]part{*whole}
		a.emit("reasoning_text.done", e)
		a.emit("content_part.done", last)
	}
}

// finish ends the answer with the last chunk of its row. A text that filled the context, or
// ran out of time, was cut as by a limit.
func (a *answer) finish(c llm.Chunk) {
	if a.open == nil && len(a.Output) == 0 || a.open != nil && a.open.kind == typeReasoning {
		a.start(opened{kind: typeMessage}) // an empty text
	}
	if len(a.pending) > 0 && a.open.kind == typeMessage {
		a.write(typeMessage, "") // the tokens after the last character
	}
	a.Status, a.Guarantee = completed, c.Guarantee
	if c.Finish == llm.FinishCancelled && a.wasCancelled() {
		a.cancel()
		return
	}
	switch c.Finish {
	case llm.FinishLength, llm.FinishContext, llm.FinishDeadline, llm.FinishCancelled:
		a.Status, a.IncompleteDetails = incomplete, &incompleteDetails{"max_output_tokens"}
	case llm.FinishFiltered:
		a.Status, a.IncompleteDetails = incomplete, &incompleteDetails{"content_filter"}
	default:
		a.CompletedAt = new(a.now().Unix())
	}
	a.end(a.Status)
	a.close()
}

// close stores the answer, which has ended, and emits the last event: clients that have it
// may continue.
func (a *answer) close() {
	if a.keep != nil {
		a.Store = a.keep()
	}
	if a.Status == cancelled { // which has no event of its own
		a.state(incomplete)
		return
	}
	a.state(a.Status)
}

func (a *answer) wasCancelled() bool { return a.cancelled != nil && a.cancelled() }

// fail ends the answer with an error.
func (a *answer) fail(err error) {
	e := llm.AsError(err)
	_, body := openaiapi.Errors.Body(e)
	fields := body.(openaiapi.ErrorBody).Error
	a.Status, a.Error = failed, &responseError{Code: or(fields.Code, "server_error"), Message: fields.Message}
	a.end(incomplete)
	a.close()
}
