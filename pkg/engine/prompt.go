package engine

import (
	"context"
	"errors"
	"iter"
	"slices"

	"glossa/pkg/chat"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
	"glossa/pkg/reasoning"
	"glossa/pkg/tokenizer"
)

// A prompt is a tokenised prompt of a request.
type prompt struct {
	ids       []int // the input tokens: at least one
	lead      int   // number of leading ids that are neither echoed nor described
	source    []int // of an encoder-decoder: the text, and ids are those of the answer
	input     int   // tokens that count as the prompt: 0 if ids stands for an empty one
	truncated bool
	chat      bool
	begin     reasoning.State // of the answer to a chat
	text      string          // with Echo
	tokens    []llm.Token     // with Echo, if tokens are requested

	memory *transformer.Memory // of source, once it is encoded
	views  []*view             // of pictures, in order
}

// checkPrompts rejects text prompts that cannot fit the context, by their bytes alone.
func (e *Engine) checkPrompts(prompts []llm.Prompt, s *settings) error {
	if s.truncate != nil {
		return nil
	}
	for _, p := range prompts {
		least := 0
		for spans, ids := range runs(e.spelled(p.Parts)) {
			least += len(ids) + tokenizer.AtLeastSpans(e.tokenizer, spans)
		}
		limit := e.context
		if p.Messages != nil {
			least, limit = e.leastOfChat(p.Messages), chatSlack*e.context
		}
		if least > limit {
			return e.tooLong("the prompt has", &tokenizer.LimitError{AtLeast: least, Max: e.context})
		}
	}
	return nil
}

// chatSlack is how many times longer than the context the messages of a chat may be before its
// template runs: templates may leave out a part, such as past reasoning. Without this bound, a
// chat of many messages takes a kilobyte for each.
const chatSlack = 4

// leastOfChat returns a lower bound of the tokens of a chat of which the template leaves out
// nothing: a message has one at least.
func (e *Engine) leastOfChat(messages []llm.Message) int {
	var spans []tokenizer.Span
	for _, m := range messages {
		for _, part := range m.Parts {
			spans = append(spans, tokenizer.Span{Text: part.Text})
		}
	}
	return max(len(messages), tokenizer.AtLeastSpans(e.tokenizer, spans))
}

// tooLong converts a tokenizer's limit error to an error for the client.
func (c *core) tooLong(has string, err error) error { return beyond(c.context, has, err) }

// beyond is tooLong for texts of at most limit tokens.
func beyond(limit int, has string, err error) error {
	if e, ok := errors.AsType[*tokenizer.LimitError](err); ok {
		long := llm.TooManyTokens(has+" at least", e.AtLeast, limit)
		long.Length.AtLeast = true
		return long
	}
	return err
}

// tooLongIn returns the error of a text that is too long with the parameter that has it. Without one,
// it is about the prompt.
func tooLongIn(param string, err error) error {
	if long, ok := err.(*llm.Error); ok && long.Code == llm.TooLong {
		long.Param = param
	}
	return err
}

// encodePrompts tokenises the prompts of a request.
func (e *Engine) encodePrompts(ctx context.Context, prompts []llm.Prompt, s *settings) ([]*prompt, error) {
	out := make([]*prompt, len(prompts))
	for i, p := range prompts {
		var err error
		if out[i], err = e.encodePrompt(ctx, p, s); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// encodePrompt tokenises p and makes it fit the context. Of a truncated prompt it keeps
// at most one token more than the context has, to detect the truncation.
func (e *Engine) encodePrompt(ctx context.Context, p llm.Prompt, s *settings) (*prompt, error) {
	to := tokenizer.Collector{Max: e.context}
	if s.truncate != nil {
		to = tokenizer.Collector{Keep: e.context + 1}
	}
	tokens, err := e.promptTokens(ctx, &to, p, &chat.Chat{Tools: s.tools, Settings: s.variables, Continue: s.continues})
	if err != nil {
		return nil, e.tooLong("the prompt has", err)
	}
	lead, tail := tokens.lead, tokens.tail
	if len(tokens.views) > 0 && (s.echo || s.score) {
		return nil, &llm.Error{Code: llm.Unsupported, Param: "echo", Message: "a prompt with images is not echoed, and its tokens have no log-probabilities"}
	}
	out := &prompt{lead: len(lead), ids: to.IDs(), chat: p.Messages != nil}
	if e.thinker != nil {
		if out.begin, err = e.begins(tail, s); err != nil {
			return nil, err
		}
	}
	if e.seq2seq != nil {
		return e.asSource(out, lead, s)
	}
	if s.truncate != nil {
		out.cut(e.room(len(out.ids), max(0, e.context-len(lead)), s))
	}
	if n := len(lead) + len(out.ids); n > e.context {
		return nil, llm.TooManyTokens("the prompt has", n, e.context)
	}
	if len(tokens.views) > 0 {
		out.place(tokens.views)
	}
	if s.echo {
		out.text = tokenizer.Decode(e.tokenizer, out.ids)
	}
	out.fill(lead, e.empty)
	return out, nil
}

// encodePrediction tokenises a prediction. What exceeds the context is of no use.
func (e *Engine) encodePrediction(ctx context.Context, text string) ([]int, error) {
	if text == "" {
		return nil, nil
	}
	const most = 16 // bytes of a token, on average
	var to tokenizer.Collector
	if err := e.encode(ctx, &to, []llm.Part{{Text: text[:min(len(text), most*e.context)]}}); err != nil {
		return nil, err
	}
	ids := to.IDs()
	return ids[:min(len(ids), e.context)], nil
}

// begins returns the state in which an answer begins after a prompt that ends with tail.
func (e *Engine) begins(tail string, s *settings) (reasoning.State, error) {
	begin := e.thinker.marks.After(tail)
	switch {
	case !s.continues:
		return begin, nil
	case begin == reasoning.Inside:
		return begin, invalid("continue_final_message", "this model reasons before its answer, which cannot begin with a text then: turn reasoning off")
	}
	return reasoning.Answer, nil
}

// fill puts the tokens of lead before the client's. If there are no tokens, it uses
// empty.
func (p *prompt) fill(lead []int, empty int) {
	own := len(p.ids)
	p.ids = slices.Concat(lead, p.ids)
	p.lead, p.input = len(lead), len(p.ids)
	for _, v := range p.views {
		v.at += len(lead)
	}
	if own == 0 {
		p.input = 0
	}
	if len(p.ids) == 0 {
		p.ids, p.lead = []int{empty}, 1
	}
}

// rendered is what a prompt has besides the tokens of its own.
type rendered struct {
	lead  []int   // the tokens that the model needs before them
	tail  string  // the end of a text prompt
	views []*view // of its pictures
}

// promptTokens adds the tokens of p, a chat with the tools and settings of c, to the
// collector. No tokens lead a chat template, which writes its own, and prompts of tokens, which are
// complete.
func (e *Engine) promptTokens(ctx context.Context, to *tokenizer.Collector, p llm.Prompt, c *chat.Chat) (r rendered, err error) {
	parts, lead := p.Parts, e.start
	switch {
	case p.Messages != nil:
		if parts, err = e.template.Render(ctx, &chat.Chat{Messages: p.Messages, Tools: c.Tools, Settings: c.Settings, Open: true, Continue: c.Continue}); err != nil {
			return r, err
		}
		if r.tail = endOf(parts); c.Continue {
			r.tail = endOf(parts[:len(parts)-1]) // without the client's text
		}
		if !e.template.Raw() {
			lead = nil
		}
	case len(c.Tools) > 0:
		return r, invalid("tools", "only a chat has tools")
	case len(parts) > 0 && parts[0].Tokens != nil:
		lead = nil
	default:
		parts = e.spelled(parts)
	}
	at := "prompt"
	if p.Messages != nil {
		at = "messages"
	}
	if r.views, err = e.encodeParts(ctx, to, parts, at); err != nil {
		return r, err
	}
	if head := to.Head(); len(lead) > 0 && len(head) >= len(lead) && slices.Equal(head[:len(lead)], lead) {
		lead = nil // the client sent them
	}
	r.lead = lead
	return r, nil
}

// textTokens is promptTokens for what is not answered: it has no images.
func (e *Engine) textTokens(ctx context.Context, to *tokenizer.Collector, p llm.Prompt) (lead []int, err error) {
	r, err := e.promptTokens(ctx, to, p, &chat.Chat{})
	if len(r.views) > 0 {
		return nil, llm.Errorf(llm.Unsupported, "images are read to answer them only")
	}
	return r.lead, err
}

// tailBytes bounds the end of a prompt that is searched for marks of reasoning.
const tailBytes = 256

// endOf returns the last tailBytes bytes of texts, or more.
func endOf(parts []llm.Part) (tail string) {
	for _, part := range slices.Backward(parts) {
		if tail = part.Text + tail; len(tail) > tailBytes {
			break
		}
	}
	return tail
}

// spelled returns the parts of a raw prompt. Special tokens are parsed in them if the
// engine is configured so and the prompt does not begin with tokens.
func (e *Engine) spelled(parts []llm.Part) []llm.Part {
	if !e.special || len(parts) > 0 && parts[0].Tokens != nil {
		return parts
	}
	parts = slices.Clone(parts)
	for i := range parts {
		parts[i].Special = true
	}
	return parts
}

// room returns how many of n prompt tokens to keep in a context. A prompt is kept whole
// if the shortest answer, one token without a constraint, still fits. Otherwise it leaves
// room for the answer, up to half of the context.
func (e *Engine) room(n, context int, s *settings) int {
	if keep := *s.truncate; keep > 0 {
		n = min(n, keep)
	}
	least := s.minTokens()
	if s.constraint != nil && e.thinker != nil {
		least += e.thinker.cost()
	}
	if n+least <= context {
		return n
	}
	answer := min(max(1, s.maxTokens), context/2)
	if s.constraint != nil {
		answer = max(answer, least)
	}
	return max(0, context-answer)
}

// cut keeps the last n tokens.
func (p *prompt) cut(n int) {
	if len(p.ids) > n {
		p.ids, p.truncated = p.ids[len(p.ids)-n:], true
	}
}

// encode tokenises parts: adjacent texts as one, so that their division makes no difference,
// but added tokens count only in those with Special set. If no part has it set, all of the
// text is the client's, without marks to forge: it is encoded as a plain text.
func (c *core) encode(ctx context.Context, to *tokenizer.Collector, parts []llm.Part) (err error) {
	if !llm.Texts(parts) {
		return llm.Errorf(llm.Unsupported, "this model reads text only, not images")
	}
	marked := slices.ContainsFunc(parts, func(p llm.Part) bool { return p.Special })
	for spans, ids := range runs(parts) {
		if ids == nil && marked {
			err = to.AddSpans(ctx, c.tokenizer, spans)
		} else if ids == nil {
			err = to.Add(ctx, c.tokenizer, tokenizer.Join(spans), false)
		} else if err = c.checkIDs(ids); err == nil {
			err = to.AddTokens(ids)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// runs yields the units of tokenisation: adjacent texts, or token ids, which are not nil.
func runs(parts []llm.Part) iter.Seq2[[]tokenizer.Span, []int] {
	return func(yield func([]tokenizer.Span, []int) bool) {
		for i := 0; i < len(parts); {
			if parts[i].Tokens != nil {
				if !yield(nil, parts[i].Tokens) {
					return
				}
				i++
				continue
			}
			var spans []tokenizer.Span
			for ; i < len(parts) && parts[i].Tokens == nil; i++ {
				spans = append(spans, tokenizer.Span{Text: parts[i].Text, Special: parts[i].Special})
			}
			if !yield(spans, nil) {
				return
			}
		}
	}
}

func (c *core) checkIDs(ids []int) error {
	for _, id := range ids {
		if id < 0 || id >= c.tokens {
			return &llm.Error{Code: llm.Invalid, Param: "prompt", Message: fmtID(id, c.tokens)}
		}
	}
	return nil
}
