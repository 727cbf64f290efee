package engine

import (
	"crypto/rand"
	"slices"

	"glossa/pkg/engine/sampler"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
	"glossa/pkg/reasoning"
)

// A row is one completion in progress.
type row struct {
	index       int                 // in the sequence of chunks
	cache       *transformer.Cache  // nil if the answer is searched
	memory      *transformer.Memory // of an encoder-decoder
	decoding    *decoding           // of an answer that is searched; nil before it is admitted
	sampler     *sampler.Sampler
	constrained *constrainedRow // nil without a constraint
	calls       *callReader     // nil without tools
	block       *block          // nil if all tokens are the answer's
	text        text
	ids         []int // of the prompt, and of the completion if the cache may be reused
	last        int   // the newest token, of the prompt or written
	count       int   // tokens written
	length      int   // tokens of prompt and completion
	done        bool

	// Tokens are first decided, then written: described and emitted. If log-probabilities
	// are requested, a token is written only when its logits are computed.
	decided []int     // the newest; the first of them are written
	written int       // number of decided that are written
	cached  int       // number of decided that are in the cache
	logits  []float32 // (tokens, vocab), for the tokens not written, and for the next

	speculation
}

// newRow returns completion i of a prompt whose tokens are in cache.
func (g *generation) newRow(p *prompt, index, i int, cache *transformer.Cache) (*row, error) {
	s, err := g.engine.newSampler(g.settings, i)
	if err != nil {
		return nil, err
	}
	r := &row{index: index, cache: cache, memory: p.memory, sampler: s, ids: slices.Clip(p.ids), length: len(p.ids)}
	r.text.stops = g.stop
	r.text.decoder = g.engine.tokenizer.NewDecoder()
	for _, id := range p.ids[p.lead:] {
		if id < 0 { // a picture's
			continue
		}
		r.text.decoder.Next(id) // the completion continues where the prompt ended
		if g.penalise {
			s.Observe(id)
		}
	}
	r.last = p.ids[len(p.ids)-1]
	r.block = g.newBlock(p, r)
	g.beginDrafts(r, p)
	if len(g.tools) > 0 {
		r.calls = newCallReader(g.calls, g.tools, rand.Reader)
		r.text.calls = &g.calls
	}
	if g.constraint != nil {
		err = g.constrain(r)
	}
	return r, err
}

// full returns why a row has ended without another token, "" if it has not.
func (g *generation) full(r *row) llm.Finish {
	switch {
	case r.constrained != nil:
		return g.constrainedFinish(r)
	case r.count >= g.maxTokens:
		return llm.FinishLength
	case r.length >= g.window:
		return llm.FinishContext
	}
	return ""
}

// write advances a row as far as its logits reach. It returns false if the client has
// disconnected.
func (g *generation) write(r *row) bool {
	for len(r.logits) > 0 && !r.done {
		if r.written == len(r.decided) {
			c, ended := g.decide(r, r.logits[:g.engine.model.Vocab])
			if ended {
				return g.emit(r, c)
			}
			g.verify(r)
		}
		for r.written < len(r.decided) && !r.done { // a stop string may end it in the middle
			if len(r.logits) == 0 && g.logprobs >= 0 {
				return true
			}
			if !g.emit(r, g.next(r)) {
				return false
			}
		}
	}
	return true
}

// decide decides a row's next tokens, or that it ends, with the returned chunk.
func (g *generation) decide(r *row, logits []float32) (c llm.Chunk, ended bool) {
	r.decided, r.written = r.decided[:0], 0
	end, why := -1, llm.Finish("")
	if r.block.thinking() {
		end, why = g.think(r, logits)
	} else if r.constrained != nil {
		end, why = g.decideConstrained(r, logits)
	} else if id := r.sampler.Sample(logits[:g.engine.tokens], r.count); g.engine.ends[id] {
		end, why = id, llm.FinishEOS
	} else {
		r.sampler.Observe(id)
		g.take(r, id)
	}
	if why == "" {
		return c, false
	}
	g.end(r, &c, why)
	if end >= 0 {
		g.usage.Output++
		if g.echo && g.score { // prompt and completion include all their tokens
			c.Tokens = append(c.Tokens, g.token(end, r.last, "", logits))
		}
	}
	return c, true
}

// next writes a row's next decided token and returns its chunk. It consumes the logits that
// predict the token, if there are any: text that is forced needs them only for
// log-probabilities.
func (g *generation) next(r *row) (c llm.Chunk) {
	id := r.decided[r.written]
	bytes, shown := r.nextBytes(id)
	n := min(len(r.logits), g.engine.model.Vocab)
	var tok llm.Token
	if g.tokens && shown {
		tok = g.token(id, r.last, r.text.shown(bytes), r.logits[:n])
	}
	r.logits = r.logits[n:]
	r.last = id
	if g.bestOf == 1 {
		r.ids = append(r.ids, id)
	}
	r.written++
	r.count++
	r.length++
	g.usage.Output++

	answer := []waitingToken{{bytes, tok}}
	if r.block != nil {
		count := 0
		c.Reasoning, answer, count = r.block.next(tok)
		g.usage.Reasoning += count
	}
	if g.pushAnswer(r, &c, answer) {
		c.Finish, c.Stop = llm.FinishStop, r.text.stop
		if r.constrained != nil {
			c.Guarantee = llm.Enforced // a text before calls may be any text
		}
	} else if r.written == len(r.decided) {
		if why := g.full(r); why != "" {
			g.end(r, &c, why)
		}
	}
	return c
}

// nextBytes returns the bytes of a row's next decided token. shown reports whether it may be
// part of the answer.
func (r *row) nextBytes(id int) (bytes string, shown bool) {
	if r.block == nil {
		return r.text.decoder.Next(id), true
	}
	t := r.block.read[0]
	return t.bytes, t.answer || t.state == reasoning.Before
}

// pushAnswer adds tokens of the answer to a row's text and c. stopped reports whether a stop
// string ended the row.
func (g *generation) pushAnswer(r *row, c *llm.Chunk, answer []waitingToken) (stopped bool) {
	var text string
	var tokens []llm.Token
	for _, t := range answer {
		var out string
		var done []llm.Token
		out, done, stopped = r.text.push(t.bytes, t.Token)
		text, tokens = text+out, append(tokens, done...)
		if stopped {
			break
		}
	}
	g.addOutput(r, c, text, tokens)
	return stopped
}

// end closes a row: c takes the text held back.
func (g *generation) end(r *row, c *llm.Chunk, why llm.Finish) {
	if b := r.block; b != nil {
		reasoned, answer, text := b.end(r.written == len(r.decided))
		c.Reasoning += reasoned
		if g.pushAnswer(r, c, answer) {
			why, c.Stop = llm.FinishStop, r.text.stop
		}
		r.text.add(text)
	}
	text, tokens := r.text.flush()
	c.Finish = why
	g.addOutput(r, c, text, tokens)
	if r.constrained != nil && !r.block.thinking() && r.constrained.matcher.Accepts() { // false for grammars with more alternatives than the matcher follows
		c.Guarantee = llm.Enforced
	}
}

// addOutput adds a row's output to c. It is the only path from a row to a chunk.
func (g *generation) addOutput(r *row, c *llm.Chunk, text string, tokens []llm.Token) {
	c.Row = r.index
	piece := llm.Chunk{Text: text, Finish: c.Finish}
	r.calls.push(&piece)
	c.Text += piece.Text
	c.Calls = append(c.Calls, piece.Calls...)
	if g.tokens {
		c.Tokens = append(c.Tokens, tokens...)
	}
}

// token describes a token that came after prev, given the logits at its position.
func (g *generation) token(id, prev int, bytes string, logits []float32) llm.Token {
	tok := llm.Token{ID: id, Text: bytes, Piece: g.engine.tokenizer.Piece(id)}
	if g.logprobs < 0 {
		return tok
	}
	chosen, top := sampler.Logprobs(g.engine.kernels, logits, g.engine.tokens, id, g.logprobs)
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

// after returns the text that a token adds after prev: decoders look back at most one
// token.
func (c *core) after(prev, id int) string {
	decoder := c.tokenizer.NewDecoder()
	decoder.Next(prev)
	return decoder.Next(id)
}
