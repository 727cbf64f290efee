package engine

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"

	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
)

// prefillChunk is how many prompt tokens one pass computes: enough for full
// matrix tiles, and the longest a cancelled request goes on.
const prefillChunk = 64

// Generate implements [llm.Backend].
func (e *Engine) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		s, err := e.settle(req)
		if err != nil {
			yield(llm.Chunk{}, err)
			return
		}
		e.serve(ctx, s, func() ([]*prompt, error) { return e.encodePrompts(req.Prompts, s) }, yield)
	}
}

// serve waits for a worker and runs a generation: the one path of all requests.
// Tokenising is work for the worker too: ten megabytes of text take seconds and half
// a gigabyte.
func (e *Engine) serve(ctx context.Context, s *settings, encode func() ([]*prompt, error), yield func(llm.Chunk, error) bool) {
	release, err := e.queue.acquire(ctx)
	if err != nil {
		yield(llm.Chunk{}, err)
		return
	}
	defer release()
	prompts, err := encode()
	if err != nil {
		yield(llm.Chunk{}, err)
		return
	}
	g := e.newGeneration(s, prompts)
	if err := g.checkMemory(); err != nil {
		yield(llm.Chunk{}, err)
		return
	}
	if g.bestOf > g.n {
		g.best(ctx, yield)
		return
	}
	g.run(ctx, yield)
}

// A generation is one request under way.
type generation struct {
	*settings
	engine  *Engine
	prompts []*prompt
	window  int // tokens that a row can have
	pass    *transformer.Pass
	rows    []*row // that were open at the last step
	open    int    // how many of them are
	seqs    []transformer.Sequence
	usage   llm.Usage
	yield   func(llm.Chunk, error) bool
}

func (e *Engine) newGeneration(s *settings, prompts []*prompt) *generation {
	g := &generation{settings: s, engine: e, window: e.context, pass: e.model.NewPass(), prompts: prompts}
	for _, p := range prompts {
		g.usage.Input += p.input
		g.usage.Truncated = g.usage.Truncated || p.truncated
	}
	return g
}

// run decodes all rows together until each has ended.
func (g *generation) run(ctx context.Context, yield func(llm.Chunk, error) bool) {
	g.yield = yield
	if err := g.prefill(ctx); err != nil {
		yield(llm.Chunk{}, err)
		return
	}
	if !g.begin() {
		return
	}
	for len(g.rows) > 0 {
		if err := ctx.Err(); err != nil {
			g.abandon(err)
			return
		}
		if !g.advance() {
			return
		}
		g.step()
	}
}

// prefill computes each prompt once and opens its rows.
func (g *generation) prefill(ctx context.Context) error {
	for i, p := range g.prompts {
		capacity := g.capacity(p)
		cache := g.engine.model.NewCache(capacity)
		last, err := g.feed(ctx, p, cache)
		if err != nil {
			return err
		}
		for c := range g.bestOf {
			own := cache
			if c > 0 {
				own = g.engine.model.Fork(cache, capacity)
			}
			r, err := g.newRow(p, i*g.bestOf+c, c, own)
			if err != nil {
				return err
			}
			r.logits = last
			g.rows = append(g.rows, r)
		}
	}
	g.open = len(g.rows)
	return nil
}

// feed computes a prompt in chunks and returns the logits after its last token.
func (g *generation) feed(ctx context.Context, p *prompt, cache *transformer.Cache) ([]float32, error) {
	var logits []float32
	for at := 0; at < len(p.ids); at += prefillChunk {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		ids := p.ids[at:min(at+prefillChunk, len(p.ids))]
		wanted := 0
		if g.score { // the token before the first that is described predicts it
			wanted = min(len(ids), max(0, at+len(ids)-max(0, p.lead-1)))
		}
		if at+len(ids) == len(p.ids) {
			wanted = max(1, wanted)
		}
		logits = g.pass.Forward([]transformer.Sequence{{Cache: cache, Tokens: ids, Logits: wanted}})
		if g.score {
			g.scoreChunk(p, at+len(ids)-wanted, logits)
		}
	}
	return slices.Clone(logits[len(logits)-g.engine.model.Vocab:]), nil
}

// scoreChunk describes the prompt tokens that the logits after token at and the
// following predict. Nothing predicts the first one: its log-probability is NaN.
func (g *generation) scoreChunk(p *prompt, at int, logits []float32) {
	vocab, tokens := g.engine.model.Vocab, g.engine.tokenizer
	if at == 0 && p.lead == 0 {
		first := p.ids[0]
		p.tokens = append(p.tokens, llm.Token{
			ID: first, Text: tokens.NewDecoder().Next(first), Piece: tokens.Piece(first), Logprob: math.NaN(),
		})
	}
	for i := 0; i < len(logits)/vocab && at+i+1 < len(p.ids); i++ {
		prev, id := p.ids[at+i], p.ids[at+i+1]
		if at+i+1 >= p.lead {
			p.tokens = append(p.tokens, g.token(id, prev, g.engine.after(prev, id), logits[i*vocab:(i+1)*vocab]))
		}
	}
}

// begin gives out echoed prompts and ends the rows that can take no token.
func (g *generation) begin() bool {
	for _, r := range g.rows {
		c := llm.Chunk{Row: r.index}
		if p := g.prompts[r.index/g.bestOf]; g.echo {
			c.Text, c.Tokens = p.text, slices.Clone(p.tokens)
		}
		if why := g.full(r); why != "" {
			g.end(r, &c, why)
		}
		if (c.Text != "" || c.Tokens != nil || c.Finish != "") && !g.emit(r, c) {
			return false
		}
	}
	g.drop()
	return true
}

// advance samples a token for each open row. false means that nobody listens.
func (g *generation) advance() bool {
	for _, r := range g.rows {
		if !g.emit(r, g.next(r)) {
			return false
		}
	}
	g.drop()
	return true
}

// step feeds each open row its newest token.
func (g *generation) step() {
	g.seqs = g.seqs[:0]
	for _, r := range g.rows {
		g.seqs = append(g.seqs, transformer.Sequence{Cache: r.cache, Tokens: r.last[:], Logits: 1})
	}
	logits, vocab := g.pass.Forward(g.seqs), g.engine.model.Vocab
	for i, r := range g.rows {
		r.logits = logits[i*vocab : (i+1)*vocab]
	}
}

// emit yields a row's chunk. The last chunk of the sequence carries the usage.
func (g *generation) emit(r *row, c llm.Chunk) bool {
	if c.Finish != "" {
		r.done = true
		if g.open--; g.open == 0 {
			c.Usage = &g.usage
		}
	}
	return g.yield(c, nil)
}

// drop forgets the rows that have ended.
func (g *generation) drop() {
	g.rows = slices.DeleteFunc(g.rows, func(r *row) bool { return r.done })
}

// abandon ends the open rows because the context did.
func (g *generation) abandon(err error) {
	why := llm.FinishCancelled
	if errors.Is(err, context.DeadlineExceeded) {
		why = llm.FinishDeadline
	}
	for _, r := range g.rows {
		var c llm.Chunk
		g.end(r, &c, why)
		if !g.emit(r, c) {
			return
		}
	}
}

// best decodes more completions than asked for and gives out those with the
// highest mean log-probability per token.
func (g *generation) best(ctx context.Context, yield func(llm.Chunk, error) bool) {
	ranked := *g.settings
	ranked.tokens, ranked.logprobs, ranked.echo = true, max(0, g.logprobs), false
	inner := *g
	inner.settings = &ranked
	rows, usage, err := llm.Collect(func(y func(llm.Chunk, error) bool) { inner.run(ctx, y) }, len(g.prompts)*g.bestOf)
	if err != nil {
		yield(llm.Chunk{}, err)
		return
	}
	for p, prompt := range g.prompts {
		for i, c := range llm.Best(rows[p*g.bestOf:(p+1)*g.bestOf], g.n) {
			c.Row = p*g.n + i
			if g.echo {
				c.Text, c.Tokens = prompt.text+c.Text, slices.Concat(prompt.tokens, c.Tokens)
			}
			if !g.tokens {
				c.Tokens = nil
			}
			if c.Row == len(g.prompts)*g.n-1 {
				c.Usage = &usage
			}
			if !yield(c, nil) {
				return
			}
		}
	}
}
