package engine

import (
	"slices"
	"strings"

	"glossa/pkg/chat"
	"glossa/pkg/llm"
	"glossa/pkg/tokenizer"
)

// A prompt is a tokenised prompt of a request.
type prompt struct {
	ids       []int // what is fed: at least one
	lead      int   // the first so many of ids are neither shown nor described
	input     int   // tokens that count as the prompt: 0 if ids stands for an empty one
	truncated bool
	text      string      // with Echo
	tokens    []llm.Token // with Echo, if tokens are asked for
}

// encodePrompts tokenises the prompts of a request.
func (e *Engine) encodePrompts(prompts []llm.Prompt, s *settings) ([]*prompt, error) {
	out := make([]*prompt, len(prompts))
	for i, p := range prompts {
		var err error
		if out[i], err = e.encodePrompt(p, s); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// encodePrompt tokenises p and makes it fit the context.
func (e *Engine) encodePrompt(p llm.Prompt, s *settings) (*prompt, error) {
	ids, lead, err := e.promptTokens(p, s.tools)
	if err != nil {
		return nil, err
	}
	out := &prompt{lead: len(lead), ids: ids}
	if s.truncate != nil {
		out.cut(e.room(len(ids), max(0, e.context-len(lead)), s))
	}
	if n := len(lead) + len(out.ids); n > e.context {
		return nil, llm.TooManyTokens("the prompt has", n, e.context)
	}
	if s.echo {
		out.text = tokenizer.Decode(e.tokenizer, out.ids)
	}
	out.fill(lead, e.empty)
	return out, nil
}

// fill puts the tokens of lead before the client's, and empty if there are none.
func (p *prompt) fill(lead []int, empty int) {
	own := len(p.ids)
	p.ids = slices.Concat(lead, p.ids)
	p.lead, p.input = len(lead), len(p.ids)
	if own == 0 {
		p.input = 0
	}
	if len(p.ids) == 0 {
		p.ids, p.lead = []int{empty}, 1
	}
}

// promptTokens returns the tokens of p, a chat with tools if there are any, and those
// that the model wants before them.
// A chat template writes its own, and who sends tokens sends all of them.
func (e *Engine) promptTokens(p llm.Prompt, tools []llm.Tool) (ids, lead []int, err error) {
	parts, lead := p.Parts, e.start
	switch {
	case p.Messages != nil:
		if parts, err = e.template.Render(p.Messages, tools); err != nil {
			return nil, nil, err
		}
		if e.template != "" && e.template != chat.Concat {
			lead = nil
		}
	case len(tools) > 0:
		return nil, nil, invalid("tools", "only a chat has tools")
	case len(parts) > 0 && parts[0].Tokens != nil:
		lead = nil
	case e.special:
		parts = slices.Clone(parts)
		for i := range parts {
			parts[i].Special = true
		}
	}
	if ids, err = e.encode(parts); err != nil {
		return nil, nil, err
	}
	if len(lead) > 0 && len(ids) >= len(lead) && slices.Equal(ids[:len(lead)], lead) {
		lead = nil // the client wrote them
	}
	return ids, lead, nil
}

// room returns how many of n prompt tokens to keep in a context. A prompt that fits
// beside the shortest answer, one token without a form, is kept; one that does not
// leaves room for the answer, up to half of the context.
func (e *Engine) room(n, context int, s *settings) int {
	if keep := *s.truncate; keep > 0 {
		n = min(n, keep)
	}
	if n+s.least() <= context {
		return n
	}
	answer := min(max(1, s.maxTokens), context/2)
	if s.form != nil {
		answer = max(answer, s.least())
	}
	return max(0, context-answer)
}

// cut keeps the last n tokens.
func (p *prompt) cut(n int) {
	if len(p.ids) > n {
		p.ids, p.truncated = p.ids[len(p.ids)-n:], true
	}
}

// encode tokenises parts. Texts that follow each other are tokenised as one, so
// that how a client splits its text makes no difference.
func (c *core) encode(parts []llm.Part) ([]int, error) {
	ids := []int{}
	for i := 0; i < len(parts); {
		if parts[i].Tokens != nil {
			if err := c.checkIDs(parts[i].Tokens); err != nil {
				return nil, err
			}
			ids = append(ids, parts[i].Tokens...)
			i++
			continue
		}
		var text strings.Builder
		special := parts[i].Special
		for i < len(parts) && parts[i].Tokens == nil && parts[i].Special == special {
			text.WriteString(parts[i].Text)
			i++
		}
		if special {
			ids = append(ids, c.tokenizer.EncodeSpecial(text.String())...)
		} else {
			ids = append(ids, c.tokenizer.Encode(text.String())...)
		}
	}
	return ids, nil
}

func (c *core) checkIDs(ids []int) error {
	for _, id := range ids {
		if id < 0 || id >= c.tokens {
			return &llm.Error{Code: llm.Invalid, Param: "prompt", Message: fmtID(id, c.tokens)}
		}
	}
	return nil
}
