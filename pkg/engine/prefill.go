package engine

import (
	"context"
	"math"
	"slices"
	"time"

	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
)

// prefillChunk is the number of tokens of a prompt that one pass computes: enough for
// full matrix tiles, and a bound on the work after a request is cancelled. After a pass, any
// of its tokens can still be dropped.
const prefillChunk = min(64, transformer.SpareTokens)

// listChunk is the number of tokens of all its prompts that a request computes in one
// pass. The rest of the pass is left for the newest tokens of other requests.
const listChunk = passTokens - passTokens/8

// A feed is a prompt that is being computed into a cache.
type feed struct {
	*prompt
	capacity int
	cache    *transformer.Cache // nil before it begins
	logits   []float32          // (vocab), after the last token

	// The previous feed with the longest common prefix, nil if there is none. It computes
	// the first shared tokens for both.
	leader *feed
	shared int

	// The length of the longest prefix that the engine knows, if it cannot be copied: once
	// it is computed, the engine marks it for other prompts. 0: there is none.
	mark int
}

// prefill computes each prompt once and opens its rows.
func (g *generation) prefill(ctx context.Context) error {
	if err := g.encodeSources(ctx); err != nil {
		return err
	}
	feeds := g.newFeeds()
	opened := false
	defer func() { // also after a panic: texts are shared until they are kept
		for _, f := range feeds {
			if f.cache != nil && !opened {
				g.prefixCache().keep(f.ids[:f.cache.Len], f.cache)
			}
		}
	}()
	if err := g.feedAll(ctx, feeds); err != nil {
		return err
	}
	err := g.openRows(feeds)
	opened = err == nil
	return err
}

// openRows opens the rows of computed prompts.
func (g *generation) openRows(feeds []*feed) error {
	for i, f := range feeds {
		for c := range g.bestOf {
			own := f.cache
			if c > 0 {
				own = g.engine.model.Fork(f.cache, f.capacity)
			}
			r, err := g.newRow(f.prompt, i*g.bestOf+c, c, own)
			if err != nil {
				return err
			}
			r.logits = f.logits
			g.rows = append(g.rows, r)
		}
	}
	g.open = len(g.rows)
	return nil
}

// prefixCache returns the cache of texts that prompts may begin with. It is nil if the
// prompt is scored: that needs the logits after every token, which a cache does not hold.
func (g *generation) prefixCache() *prefixCache {
	if g.score {
		return nil
	}
	return g.engine.prefixes.of(g.owner)
}

// recall fetches the known beginnings of prompts that other processes have computed.
func (g *generation) recall(ctx context.Context) {
	for _, p := range g.prompts {
		g.prefixCache().recall(ctx, p.ids, g.capacity(p))
	}
}

// newFeeds finds the part of each prompt that need not be computed, because the engine
// has computed it before or because a previous prompt computes it too.
func (g *generation) newFeeds() []*feed {
	feeds := make([]*feed, len(g.prompts))
	for i, p := range g.prompts {
		f := &feed{prompt: p, capacity: g.capacity(p)}
		for _, before := range feeds[:i] {
			n := g.sharedTokens(before.prompt, p)
			if c := before.cache; c != nil && c.Reach(nil, n) < min(n, c.Len) { // it has dropped too much
				continue
			}
			if n > f.shared && g.engine.model.Long(before.capacity) == g.engine.model.Long(f.capacity) {
				f.leader, f.shared = before, n
			}
		}
		f.findPrefix(g.prefixCache())
		if f.cache != nil {
			g.usage.Cached += min(f.cache.Len, p.input)
		}
		feeds[i] = f
	}
	return feeds
}

// findPrefix begins f with the longest known prefix if that is longer than what f shares with
// its leader.
func (f *feed) findPrefix(p *prefixCache) {
	have, known := f.shared, 0
	if f.cache, known = p.fork(f.ids, f.shared, f.capacity); f.cache != nil {
		f.cache.Grids = f.grids()
		f.leader, have = nil, f.cache.Len
	}
	if f.leader == nil && known-have >= prefillChunk { // computing less again costs no more than a mark
		f.mark = known
	}
}

// sharedTokens returns how many tokens of before's cache p can use: none if they answer different
// sources, which the cache depends on. The last token of p is always computed, for its logits. If
// prompts are scored, so is the last shared token, for the logits that predict the next.
func (g *generation) sharedTokens(before, p *prompt) int {
	n := common(before.ids, p.ids)
	if g.score && before.lead != p.lead || !slices.Equal(before.source, p.source) {
		return 0
	}
	if g.score || n == len(p.ids) {
		n--
	}
	return n
}

// feedAll computes all prompts, several in a pass.
func (g *generation) feedAll(ctx context.Context, feeds []*feed) error {
	for waiting := slices.Clone(feeds); len(waiting) > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := g.feedSome(ctx, waiting); err != nil {
			return err
		}
		waiting = slices.DeleteFunc(waiting, func(f *feed) bool { return f.logits != nil })
	}
	return nil
}

// feedSome computes the next tokens of the first prompts that need not wait for others.
func (g *generation) feedSome(ctx context.Context, waiting []*feed) error {
	for _, f := range waiting { // now, since leaders drop tokens as they go on
		g.follow(f)
	}
	var some []*feed
	g.seqs = g.seqs[:0]
	for room, i := min(listChunk, g.member.room()), 0; room > 0 && i < len(waiting); i++ {
		if f := waiting[i]; g.start(f) {
			at := f.cache.Len
			ids := f.ids[at:g.whole(f.prompt, at, min(at+prefillChunk, at+room, g.parting(f, at, waiting)))]
			vectors, err := g.look(ctx, f.prompt, at, at+len(ids))
			if err != nil {
				return err
			}
			room -= len(ids)
			some = append(some, f)
			g.seqs = append(g.seqs, transformer.Sequence{Cache: f.cache, Tokens: ids, Logits: g.wanted(f, at+len(ids)), Memory: f.memory, Vectors: vectors})
		}
	}
	began := time.Now()
	logits, err := g.member.forward(ctx, g.seqs)
	if err != nil {
		return err
	}
	g.prefixCache().computed(g.seqs, time.Since(began))
	for i, f := range some {
		n := g.seqs[i].Logits * g.engine.model.Vocab
		g.takeLogits(f, logits[:n])
		logits = logits[n:]
	}
	return nil
}

// follow gives f a copy of its leader's cache once that has the shared tokens.
func (g *generation) follow(f *feed) {
	l := f.leader
	if l == nil || f.cache != nil || l.cache == nil || l.cache.Len < f.shared {
		return
	}
	f.cache = g.engine.model.Prefix(l.cache, f.shared, f.capacity)
	f.cache.Grids = f.grids()
	if g.score && f.cache.Len > 0 {
		f.tokens = slices.Clone(l.tokens[:max(0, f.cache.Len+1-f.lead)])
	}
}

// parting returns the end of f, or the first place after at where others of the waiting feeds leave
// it, if a copy is only to be had there and then.
func (g *generation) parting(f *feed, at int, waiting []*feed) int {
	place := len(f.ids)
	if g.engine.model.Rewinds() {
		return place
	}
	for _, other := range waiting {
		if other.leader == f && other.cache == nil && other.shared > at {
			place = min(place, other.shared)
		}
	}
	return place
}

// start gives f its cache. It returns false if f waits for its leader.
func (g *generation) start(f *feed) bool {
	if f.cache == nil && f.leader == nil {
		f.cache = g.engine.model.NewCache(f.capacity)
		f.cache.Grids = f.grids()
	}
	return f.cache != nil
}

// wanted returns how many logits are needed for the tokens after those in f's cache, up
// to end.
func (g *generation) wanted(f *feed, end int) (n int) {
	if g.score { // the token before the first described one predicts it
		n = max(0, end-max(f.cache.Len, f.lead-1))
	}
	if end == len(f.ids) {
		n = max(1, n)
	}
	return n
}

// takeLogits processes the logits after the newest tokens in f's cache.
func (g *generation) takeLogits(f *feed, logits []float32) {
	vocab := g.engine.model.Vocab
	if g.score {
		g.describe(f.prompt, f.cache.Len-len(logits)/vocab, logits)
	}
	if f.mark > 0 && f.cache.Len >= f.mark {
		g.prefixCache().share(f.ids[:f.cache.Len], f.cache)
		f.mark = 0
	}
	if f.cache.Len == len(f.ids) {
		f.logits = slices.Clone(logits[len(logits)-vocab:])
		g.prefixCache().share(f.ids, f.cache)
	}
}

// describe describes the prompt tokens that the logits after token at and its successors
// predict. Nothing predicts the first token: its log-probability is NaN.
func (g *generation) describe(p *prompt, at int, logits []float32) {
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
