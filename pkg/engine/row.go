package engine

import (
	"slices"

	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
	"glossa/pkg/sampler"
)

// A row is one completion being written.
type row struct {
	index   int // in the sequence of chunks
	cache   *transformer.Cache
	logits  []float32 // after the newest token in the cache (vocab)
	sampler *sampler.Sampler
	text    text
	ids     []int  // of the prompt, and of the completion if the cache may serve again
	last    [1]int // the newest token, not in the cache yet
	count   int    // tokens written
	length  int    // tokens of prompt and completion
	done    bool
}

// newRow returns completion i of a prompt whose tokens are in cache.
func (g *generation) newRow(p *prompt, index, i int, cache *transformer.Cache) (*row, error) {
	s, err := g.engine.newSampler(g.settings, i)
	if err != nil {
		return nil, err
	}
	r := &row{index: index, cache: cache, sampler: s, ids: slices.Clip(p.ids), length: len(p.ids)}
	r.text.stops = g.stop
	r.text.decoder = g.engine.tokenizer.NewDecoder()
	for _, id := range p.ids[p.lead:] {
		r.text.decoder.Next(id) // the completion goes on where the prompt ended
	}
	if g.penalise {
		for _, id := range p.ids[p.lead:] {
			s.Observe(id)
		}
	}
	r.last[0] = p.ids[len(p.ids)-1]
	return r, nil
}

// full returns why a row cannot take another token, "" if it can.
func (g *generation) full(r *row) llm.Finish {
	switch {
	case r.count >= g.maxTokens:
		return llm.FinishLength
	case r.length >= g.window:
		return llm.FinishContext
	}
	return ""
}

// next samples a row's next token and returns the chunk that it makes.
func (g *generation) next(r *row) llm.Chunk {
	id := r.sampler.Sample(r.logits[:g.engine.tokens], r.count)
	if g.engine.ends[id] {
		c := llm.Chunk{}
		g.usage.Output++
		g.end(r, &c, llm.FinishEOS)
		if g.echo && g.score { // prompt and completion have all their tokens
			c.Tokens = append(c.Tokens, g.token(id, r.last[0], "", r.logits))
		}
		return c
	}
	r.sampler.Observe(id)
	bytes := r.text.decoder.Next(id)
	var tok llm.Token
	if g.tokens {
		tok = g.token(id, r.last[0], bytes, r.logits)
	}
	r.last[0] = id
	if g.bestOf == 1 {
		r.ids = append(r.ids, id)
	}
	r.count++
	r.length++
	g.usage.Output++

	c := llm.Chunk{Row: r.index}
	var stopped bool
	if c.Text, c.Tokens, stopped = r.text.push(bytes, tok); stopped {
		c.Finish = llm.FinishStop
	} else if why := g.full(r); why != "" {
		g.end(r, &c, why)
	}
	if !g.tokens {
		c.Tokens = nil
	}
	return c
}

// end closes a row: what was held back goes out with c.
func (g *generation) end(r *row, c *llm.Chunk, why llm.Finish) {
	out, tokens := r.text.flush()
	c.Row, c.Finish = r.index, why
	c.Text += out
	if g.tokens {
		c.Tokens = append(c.Tokens, tokens...)
	}
}

// token describes a token that came after prev, under the logits in its place.
func (g *generation) token(id, prev int, bytes string, logits []float32) llm.Token {
	tok := llm.Token{ID: id, Text: bytes, Piece: g.engine.tokenizer.Piece(id)}
	if g.logprobs < 0 {
		return tok
	}
	chosen, top := sampler.Logprobs(logits, g.engine.tokens, id, g.logprobs)
	tok.Logprob = chosen
	for _, t := range top {
		alt := llm.Token{ID: t.ID, Text: bytes, Piece: g.engine.tokenizer.Piece(t.ID), Logprob: t.Logprob}
		if t.ID != id {
			alt.Text = g.engine.after(prev, t.ID)
		}
		tok.Top = append(tok.Top, alt)
	}
	return tok
}

// after returns what a token adds to a text whose last token is prev: decoders
// look one token back at most.
func (c *core) after(prev, id int) string {
	decoder := c.tokenizer.NewDecoder()
	decoder.Next(prev)
	return decoder.Next(id)
}
