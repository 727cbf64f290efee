package engine

import (
	"context"
	"slices"

	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
	"glossa/pkg/tokenizer"
)

// An encoder-decoder answers a prompt, which the encoder reads whole, with the decoder's text. All
// else is as with a decoder: rows, sampling, constraints and drafts see the decoder's tokens.

// asSource returns a prompt whose tokens, behind those of lead, are the encoder's. It has a context
// of its own: an answer takes no room from it.
func (e *Engine) asSource(p *prompt, lead []int, s *settings) (*prompt, error) {
	if s.score {
		return nil, llm.Errorf(llm.Unsupported, "this model reads prompts as a whole: their tokens have no log-probabilities")
	}
	if s.continues {
		return nil, &llm.Error{
			Code: llm.Unsupported, Param: "continue_final_message", Message: "this model reads a chat as a whole: it cannot continue an answer",
		}
	}
	most := max(0, e.context-len(lead)-1) // with the end
	if s.truncate != nil {
		if keep := *s.truncate; keep > 0 {
			most = min(most, keep)
		}
		p.cut(most)
	}
	p.source = e.ended(slices.Concat(lead, p.ids))
	if n := len(p.source); n > e.context {
		return nil, llm.TooManyTokens("the prompt has", n, e.context)
	}
	if s.echo {
		p.text = tokenizer.Decode(e.tokenizer, p.ids)
	}
	p.ids, p.input = e.answerStart(), len(p.source)
	p.lead = len(p.ids)
	return p, nil
}

// answerStart returns the tokens that the decoder's text begins with.
func (e *Engine) answerStart() []int {
	return append([]int{e.seq2seq.DecoderStart}, e.seq2seq.Begin...)
}

// ended returns a text with the model's end, which a client may have sent.
func (e *Engine) ended(ids []int) []int {
	if n := len(ids); e.seq2seq == nil || n > 0 && ids[n-1] == e.seq2seq.End {
		return ids
	}
	return append(slices.Clip(ids), e.seq2seq.End)
}

// encodeSources runs the encoder over the prompts, one after another.
func (g *generation) encodeSources(ctx context.Context) error {
	for _, p := range g.prompts {
		if p.source == nil {
			continue
		}
		if err := g.encodeSource(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// encodeSource runs the encoder over a prompt.
func (g *generation) encodeSource(ctx context.Context, p *prompt) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return g.member.encode(ctx, func(pass *transformer.Pass) error {
		memories, err := pass.Encode([][]int{p.source})
		if err == nil {
			p.memory = memories[0]
		}
		return err
	})
}

// runEncoder computes the layers of the encoder.
func runEncoder(ctx context.Context, m *member, l *hiddenLayers, texts [][]int) error {
	return l.capture(ctx, m, texts, func(p *transformer.Pass) error {
		_, err := p.Encode(texts)
		return err
	})
}

// encodeScoredAnswer returns a prompt whose answer is described: the continuation, which the
// decoder gets as it is.
func (e *Engine) encodeScoredAnswer(ctx context.Context, req *llm.ScoreRequest) ([]*prompt, error) {
	source, answer := tokenizer.Collector{Max: e.context}, tokenizer.Collector{Max: e.context}
	before, err := e.textTokens(ctx, &source, req.Prompt)
	if err != nil {
		return nil, e.tooLong("the context has", err)
	}
	if err := answer.Add(ctx, e.tokenizer, req.Continuation, false); err != nil {
		return nil, tooLongIn("continuation", e.tooLong("the continuation has", err))
	}
	start := e.answerStart()
	p := &prompt{source: e.ended(slices.Concat(before, source.IDs())), ids: slices.Concat(start, answer.IDs()), lead: len(start)}
	p.input = len(p.source) + len(p.ids)
	switch n, m := len(p.source), len(p.ids); {
	case n > e.context:
		return nil, llm.TooManyTokens("the context has", n, e.context)
	case m > e.context:
		return nil, tooLongIn("continuation", llm.TooManyTokens("the continuation has", m, e.context))
	case m == len(start):
		return nil, invalid("continuation", "has no token")
	}
	return []*prompt{p}, nil
}
