package engine

import (
	"strings"

	"glossa/pkg/llm"
	"glossa/pkg/tokenizer"
)

// A prompt is a tokenised prompt of a request.
type prompt struct {
	ids       []int // what is fed: at least one
	input     int   // tokens that count as the prompt: 0 if ids is the start token
	truncated bool
	text      string      // with Echo
	tokens    []llm.Token // with Echo, if tokens are asked for
}

// encodePrompt tokenises p and makes it fit the context.
func (e *Engine) encodePrompt(p llm.Prompt, s *settings) (*prompt, error) {
	parts := p.Parts
	if p.Messages != nil {
		var err error
		if parts, err = e.template.Render(p.Messages); err != nil {
			return nil, err
		}
	}
	ids, err := e.encode(parts)
	if err != nil {
		return nil, err
	}
	out := &prompt{ids: ids, input: len(ids)}
	if s.truncate != nil {
		out.cut(e.room(len(ids), s))
	}
	if n := len(out.ids); n > e.model.Context {
		return nil, llm.Errorf(llm.TooLong, "the prompt has %d tokens, the context of this model %d", n, e.model.Context)
	}
	if s.echo {
		out.text = tokenizer.Decode(e.tokenizer, out.ids)
	}
	if len(out.ids) == 0 {
		out.ids = []int{e.start}
	}
	return out, nil
}

// room returns how many of n prompt tokens to keep. A prompt that fits beside one
// new token is kept; one that does not leaves room for the answer, up to half of
// the context.
func (e *Engine) room(n int, s *settings) int {
	context := e.model.Context
	if keep := *s.truncate; keep > 0 {
		n = min(n, keep)
	}
	if n < context {
		return n
	}
	return context - min(max(1, s.maxTokens), context/2)
}

// cut keeps the last n tokens.
func (p *prompt) cut(n int) {
	if len(p.ids) > n {
		p.ids, p.input, p.truncated = p.ids[len(p.ids)-n:], n, true
	}
}

// encode tokenises parts. Texts that follow each other are tokenised as one, so
// that how a client splits its text makes no difference.
func (e *Engine) encode(parts []llm.Part) ([]int, error) {
	ids := []int{}
	for i := 0; i < len(parts); {
		if parts[i].Tokens != nil {
			if err := e.checkIDs(parts[i].Tokens); err != nil {
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
			ids = append(ids, e.tokenizer.EncodeSpecial(text.String())...)
		} else {
			ids = append(ids, e.tokenizer.Encode(text.String())...)
		}
	}
	return ids, nil
}

func (e *Engine) checkIDs(ids []int) error {
	for _, id := range ids {
		if id < 0 || id >= e.model.Vocab {
			return &llm.Error{Code: llm.Invalid, Param: "prompt", Message: fmtID(id, e.model.Vocab)}
		}
	}
	return nil
}
