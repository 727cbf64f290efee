package engine

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
)

// Generate implements [llm.Backend].
func (e *Engine) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		p := req.Effective()
		s, err := e.newSettings(req, &p)
		if err == nil {
			err = e.checkPrompts(req.Prompts, s)
		}
		if err == nil {
			s.constraint, err = e.constraint(ctx, &p) // before there is a worker: compiling has turns of its own
		}
		if err != nil {
			yield(llm.Chunk{}, err)
			return
		}
		e.useOwnSearch(req, s)
		e.serve(ctx, s, func() ([]*prompt, error) { return e.encodePrompts(ctx, req.Prompts, s) }, yield)
	}
}

// serve waits for a worker and runs a generation. All requests take this path. Tokenising
// needs the worker too, since a long text that is truncated takes seconds.
func (e *Engine) serve(ctx context.Context, s *settings, encode func() ([]*prompt, error), yield func(llm.Chunk, error) bool) {
	worker, err := e.queue.acquire(ctx)
	if err != nil {
		yield(llm.Chunk{}, err)
		return
	}
	defer worker.release()
	prompts, err := encode()
	if err != nil {
		yield(llm.Chunk{}, err)
		return
	}
	g := e.newGeneration(s, prompts)
	g.worker, g.owner = worker, llm.OwnerOf(ctx)
	g.predicted, err = e.encodePrediction(ctx, s.prediction)
	err = cmp.Or(err, g.checkMemory(), g.checkRoom())
	if err == nil {
		err = worker.claim(ctx, g.claimed())
	}
	if err != nil {
		yield(llm.Chunk{}, err)
		return
	}
	if g.search != nil {
		g.runSearches(ctx, yield)
		return
	}
	g.recall(ctx) // before other members of a batch would wait for it
	if g.bestOf > g.n {
		g.best(ctx, yield)
		return
	}
	g.run(ctx, yield)
}

// A generation is one request in progress.
type generation struct {
	*settings
	engine    *Engine
	prompts   []*prompt
	owner     string // of the prompts
	window    int    // maximum tokens of a row
	drafts    int    // maximum tokens of a draft
	predicted []int  // tokens that the request predicts
	worker    *worker
	member    *member
	proposer  *member // of the draft model's batch; nil: it has proposed nothing
	follows   bool    // the draft model may follow the rows
	rows      []*row  // open at the last step
	open      int     // how many rows are open
	seqs      []transformer.Sequence
	pace      pace // of constrained rows
	usage     llm.Usage
	yield     func(llm.Chunk, error) bool
}

func (e *Engine) newGeneration(s *settings, prompts []*prompt) *generation {
	g := &generation{settings: s, engine: e, window: e.context, prompts: prompts}
	for _, p := range prompts {
		g.usage.Input += p.input
		g.usage.Truncated = g.usage.Truncated || p.truncated
	}
	return g
}

// run decodes all rows together until each has ended.
func (g *generation) run(ctx context.Context, yield func(llm.Chunk, error) bool) {
	g.yield, g.member = yield, g.engine.lanes.join(llm.SenderOf(ctx), g.worker)
	defer g.leave()
	if err := g.prefill(ctx); err != nil {
		yield(llm.Chunk{}, err)
		return
	}
	if !g.begin() {
		return
	}
	if g.constraint != nil {
		g.pace.start(ctx)
	}
	for len(g.rows) > 0 {
		if err := ctx.Err(); err != nil {
			g.abandon(err)
			return
		}
		if !g.advance() {
			return
		}
		if err := g.step(ctx); err != nil {
			g.abandon(err)
			return
		}
		g.pace.endStep()
	}
}

// leave removes the generation from the batch and releases its caches.
func (g *generation) leave() {
	g.leaveBatches()
	for _, r := range g.rows {
		g.cacheRow(r)
	}
}

// leaveBatches ends the generation's passes.
func (g *generation) leaveBatches() {
	g.member.leave()
	if g.proposer != nil {
		g.proposer.leave()
	}
}

// begin emits echoed prompts and ends the rows that have no room for a token.
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

// advance writes the next tokens of each open row. It returns false if the client has
// disconnected.
func (g *generation) advance() bool {
	for _, r := range g.rows {
		if !g.write(r) {
			return false
		}
	}
	g.drop()
	return true
}

// step feeds each open row its newest tokens.
func (g *generation) step(ctx context.Context) error {
	if len(g.rows) == 0 {
		return nil
	}
	g.seqs = g.seqs[:0]
	for _, r := range g.rows {
		r.feed = append(r.feed[:0], r.decided[r.cached:]...)
	}
	if err := g.draft(ctx); err != nil {
		return err
	}
	for _, r := range g.rows {
		wanted := 1 + len(r.decided) - r.written // logits that describe decided tokens, and those for the next token
		g.seqs = append(g.seqs, transformer.Sequence{Cache: r.cache, Tokens: r.feed, Logits: wanted + len(r.ahead), Memory: r.memory})
	}
	logits, err := g.member.forward(ctx, g.seqs)
	if err != nil {
		return err
	}
	for i, r := range g.rows {
		n := g.seqs[i].Logits * g.engine.model.Vocab
		r.logits, logits = logits[:n], logits[n:]
	}
	return nil
}

// emit yields a row's chunk. The last chunk of the sequence carries the usage.
func (g *generation) emit(r *row, c llm.Chunk) bool {
	if c.Finish != "" {
		r.done = true
		g.member.learn(&r.speculation)
		g.countPrediction(r)
		if g.open--; g.open == 0 {
			c.Usage = &g.usage
			g.leaveBatches() // other members need not wait while the client reads
		}
	}
	return g.send(c)
}

// send yields a chunk to the client, who may take a while to read it.
func (g *generation) send(c llm.Chunk) bool {
	g.worker.writing()
	defer g.worker.wrote()
	return g.yield(c, nil)
}

// drop removes the rows that have ended.
func (g *generation) drop() {
	g.rows = slices.DeleteFunc(g.rows, func(r *row) bool {
		if r.done {
			g.cacheRow(r)
		}
		return r.done
	})
}

// cacheRow caches the tokens of a row that has ended, since a later prompt may begin with
// its prompt and completion. A client continues at most one of several completions, so of
// those only the first row's prompt is cached. The row's cache, which must be in no pass, is gone.
func (g *generation) cacheRow(r *row) {
	if r.cache == nil {
		return
	}
	unused := true
	if r.index%g.bestOf == 0 {
		unused = g.prefixCache().keep(r.ids[:min(len(r.ids), r.cache.Len)], r.cache)
		g.keepFollower(r)
	}
	if unused {
		g.engine.model.Recycle(r.cache)
	}
	r.cache = nil
}

// abandon ends the open rows because the context ended, or all because a pass failed.
func (g *generation) abandon(err error) {
	g.leaveBatches()
	why := llm.FinishCancelled
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		why = llm.FinishDeadline
	case !errors.Is(err, context.Canceled):
		g.yield(llm.Chunk{}, err)
		return
	}
	for _, r := range g.rows {
		var c llm.Chunk
		g.end(r, &c, why)
		c.Guarantee = llm.Unchecked // the constrained text is incomplete
		if !g.emit(r, c) {
			return
		}
	}
}

// best decodes bestOf completions and emits the n with the highest mean log-probability
// per token.
func (g *generation) best(ctx context.Context, yield func(llm.Chunk, error) bool) {
	g.yield = yield
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
			if !g.send(c) {
				return
			}
		}
	}
}
