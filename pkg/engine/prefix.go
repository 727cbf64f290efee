package engine

import (
	"cmp"
	"slices"

	"glossa/pkg/engine/transformer"
)

// prefixShare is the default ratio of a request's memory to [Config.PrefixMemory].
const prefixShare = 8

// prefixTexts are the texts that an engine has computed, as trees of blocks of their keys and
// values. A prompt with a common beginning, token for token, receives a copy of it.
//
// Layers with a window drop the beginning of a long text, so a prompt can leave such a text
// only near the places where its rings were copied: at its end, at the end of a prompt, since
// the next prompt may have another answer, and where a prompt has left a text before, since
// others may leave it there too, such as chats after the system's message.
type prefixTexts struct {
	model      *transformer.Model
	memory     *PrefixMemory
	rings      bool // some layers drop tokens
	ringTokens int
	public     bool           // texts are used for all owners
	archive    *archivedTexts // nil: texts end with the process

	// Under memory.mu:
	trees  map[prefixKey]*prefixTree
	live   []*liveText
	closed bool
}

// A prefixKey says which texts may begin a prompt: those of its owner, with the same rotary
// tables.
type prefixKey struct {
	owner string
	long  bool
}

// A liveText is a text to whose cache its owner appends. It can be left at its marks.
type liveText struct {
	key   prefixKey
	ids   []int
	cache *transformer.Cache // begins with ids
	marks []*transformer.Mark

	readers int // copies of it are being made; under memory.mu
}

// newPrefixTexts returns nil if limit, in bytes, is negative. The memory is shared, or the
// engine's own with the limit if shared is nil.
func newPrefixTexts(m *transformer.Model, limit int64, shared *PrefixMemory) *prefixTexts {
	if limit < 0 {
		return nil
	}
	if shared == nil {
		shared = NewPrefixMemory(func() int64 { return limit })
	}
	return &prefixTexts{
		model: m, memory: shared, rings: m.HasRings(), ringTokens: m.RingTokens(), trees: map[prefixKey]*prefixTree{},
	}
}

// of returns the cache of texts of an owner. It is nil if texts are not kept.
func (p *prefixTexts) of(owner string) *prefixCache {
	switch {
	case p == nil:
		return nil
	case p.public:
		owner = ""
	}
	return &prefixCache{p, owner}
}

// close removes all texts.
func (p *prefixTexts) close() {
	if p == nil {
		return
	}
	p.memory.mu.Lock()
	defer p.memory.mu.Unlock()
	p.closed = true
	p.removeLive(nil)
	for _, t := range p.trees {
		t.root.clear()
	}
}

// tree returns the tree of a key, which it makes if there is none; memory.mu is held.
func (p *prefixTexts) tree(key prefixKey) *prefixTree {
	t := p.trees[key]
	if t == nil {
		t = &prefixTree{texts: p, key: key}
		t.root.tree = t
		p.trees[key] = t
	}
	return t
}

// size returns the memory of a text of n tokens, if it shares none.
func (p *prefixTexts) size(n int) int64 {
	nodes := (n + blockTokens - 1) / blockTokens
	bytes := int64(nodes)*nodeBytes + int64(n/blockTokens)*p.model.BlockBytes(false, blockTokens) + p.model.BlockBytes(false, n%blockTokens)
	if p.rings {
		bytes += int64(min(nodes, p.ringTokens/blockTokens+1)) * p.model.BlockBytes(true, min(n, blockTokens))
	}
	return bytes
}

// A prefixCache is an owner's part of the texts of an engine. A nil prefixCache is empty.
type prefixCache struct {
	*prefixTexts
	owner string
}

// key returns the key of texts in a cache.
func (p *prefixCache) key(c *transformer.Cache) prefixKey { return prefixKey{p.owner, c.Long()} }

// fork returns a cache with the longest known prefix of ids that can be copied, nil if none
// has more than least tokens. The last token is left to compute, for its logits. known is
// the length of the longest known prefix.
func (p *prefixCache) fork(ids []int, least, capacity int) (c *transformer.Cache, known int) {
	if p == nil {
		return nil, 0
	}
	ids, key := ids[:len(ids)-1], prefixKey{p.owner, p.model.Long(min(capacity, p.model.Context))}
	p.memory.mu.Lock()
	best := prefixMatch{n: least}
	t := p.trees[key]
	if t != nil {
		best, known = t.match(ids, least)
	}
	live, mark, n, shared := p.matchLive(key, ids, best.n)
	if known = max(known, shared); live == nil && best.n > least {
		t.use(&best)
		t.archiveMatch(&best, ids)
	}
	if live != nil {
		live.readers++
	}
	p.memory.mu.Unlock()
	switch {
	case live != nil:
		c = p.model.PrefixAt(live.cache, mark, n, capacity)
		p.memory.mu.Lock()
		live.readers--
		p.memory.mu.Unlock()
		return c, known
	case best.n > least:
		return p.model.Join(best.blocks(), ringBlocks(best.rings), best.n, capacity), known
	}
	return nil, known
}

// matchLive returns the live text from which the most tokens of ids can be copied, with the
// mark to copy them at, nil if none has more than least. known is the length of the longest
// common beginning; memory.mu is held.
func (p *prefixTexts) matchLive(key prefixKey, ids []int, least int) (best *liveText, at *transformer.Mark, n, known int) {
	n = least
	for _, t := range p.live {
		shared := common(t.ids, ids)
		if t.key != key || shared <= n {
			continue
		}
		known = max(known, shared)
		for _, mark := range t.marks {
			if r := t.cache.Reach(mark, shared); r > n {
				best, at, n = t, mark, r
			}
		}
	}
	return best, at, n, known
}

// common returns the length of the longest common prefix of a and b.
func common(a, b []int) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// share lends the cache of ids, as it is now, while its owner continues to append to it. The
// owner calls keep in the end.
func (p *prefixCache) share(ids []int, cache *transformer.Cache) {
	if p == nil || p.size(len(ids)) > p.memory.limit() || !p.lacks(ids, cache) {
		return
	}
	mark, limit := p.model.Mark(cache), p.memory.limit()
	p.memory.mu.Lock()
	defer p.memory.mu.Unlock()
	p.memory.evict(limit - mark.Bytes())
	if p.closed || p.memory.bytes+mark.Bytes() > limit { // other marks, which cannot be evicted, take it
		return
	}
	p.memory.bytes += mark.Bytes()
	if t := p.liveOf(cache); t != nil {
		t.ids, t.marks = ids, append(slices.Clip(t.marks), mark)
		return
	}
	p.live = append(p.live, &liveText{key: p.key(cache), ids: ids, cache: cache, marks: []*transformer.Mark{mark}})
}

// lacks reports whether no text that begins with ids can be left there.
func (p *prefixCache) lacks(ids []int, cache *transformer.Cache) bool {
	p.memory.mu.Lock()
	defer p.memory.mu.Unlock()
	if t := p.trees[p.key(cache)]; t != nil {
		if m, _ := t.match(ids, 0); m.n == len(ids) {
			return false
		}
	}
	_, _, n, _ := p.matchLive(p.key(cache), ids, 0)
	return n < len(ids)
}

// liveOf returns the live text of a cache, nil if there is none; memory.mu is held.
func (p *prefixTexts) liveOf(cache *transformer.Cache) *liveText {
	if i := slices.IndexFunc(p.live, func(t *liveText) bool { return t.cache == cache }); i >= 0 {
		return p.live[i]
	}
	return nil
}

// removeLive removes the live text of a cache with its marks, or all if cache is nil;
// memory.mu is held.
func (p *prefixTexts) removeLive(cache *transformer.Cache) {
	p.live = slices.DeleteFunc(p.live, func(t *liveText) bool {
		if cache != nil && t.cache != cache {
			return false
		}
		for _, mark := range t.marks {
			p.memory.bytes -= mark.Bytes()
		}
		return true
	})
}

// keep keeps a copy of ids, with which a cache begins that its owner gives up. Copying may take
// a while: until then the shared cache stays available, and no caller waits. unused reports
// whether nobody reads the cache any more.
func (p *prefixCache) keep(ids []int, cache *transformer.Cache) (unused bool) {
	if p == nil {
		return true
	}
	ids = ids[:min(len(ids), cache.Len)]
	limit := p.memory.limit()
	p.memory.mu.Lock()
	var plan prefixPlan
	if len(ids) > 0 && !p.closed && p.size(len(ids)) <= limit {
		plan = p.plan(ids, cache)
		p.memory.evict(limit - plan.bytes)
	}
	p.memory.mu.Unlock()
	plan.copy(p.model, cache)
	p.memory.mu.Lock()
	defer p.memory.mu.Unlock()
	if len(plan.blocks) > 0 && !p.closed {
		p.insert(ids, &plan)
	}
	live := p.liveOf(cache)
	p.removeLive(cache)
	p.memory.evict(limit)
	return !p.closed && (live == nil || live.readers == 0)
}

// A prefixPlan lists the blocks that a tree lacks of a text.
type prefixPlan struct {
	key    prefixKey
	blocks []plannedBlock // by their tokens
	bytes  int64
}

// A plannedBlock is to be copied.
type plannedBlock struct {
	from, to int
	rings    bool
	mark     *transformer.Mark
	block    *transformer.Block // nil until then
}

// plan lists the blocks that are missing of a text, and uses those that are not; memory.mu is
// held.
func (p *prefixCache) plan(ids []int, cache *transformer.Cache) prefixPlan {
	plan, t := prefixPlan{key: p.key(cache)}, p.tree(p.key(cache))
	path := t.walk(ids)
	known := len(path) * blockTokens
	if tail := ids[known:]; len(tail) > 0 {
		if c := t.last(path).beginning(tail); c != nil && len(tail) < blockTokens {
			path, known = append(path, c), len(ids)
		}
	}
	t.usePath(path)
	for at := known; at < len(ids); at += blockTokens {
		plan.add(p.model, plannedBlock{from: at, to: min(at+blockTokens, len(ids))})
	}
	if p.rings {
		p.planRings(&plan, path, len(ids), cache)
	}
	slices.SortStableFunc(plan.blocks, func(a, b plannedBlock) int { return cmp.Compare(a.from, b.from) })
	return plan
}

// planRings adds the rings at the end of the cache and at the marks that are useful.
func (p *prefixCache) planRings(plan *prefixPlan, path []*prefixNode, n int, cache *transformer.Cache) {
	marks := []*transformer.Mark{nil}
	if t := p.liveOf(cache); t != nil {
		for _, mark := range t.marks {
			if mark.Len <= n && cache.Reach(nil, mark.Len-1) < mark.Len-1 { // else it can be left from the end
				marks = append(marks, mark)
			}
		}
	}
	for _, mark := range marks {
		end, first := n, cache.Kept(mark)
		if mark != nil {
			end = mark.Len
		}
		for at := first / blockTokens * blockTokens; at < end; at += blockTokens {
			to := min(at+blockTokens, end)
			if i := at / blockTokens; i >= len(path) || !path[i].covers(max(at, first), to) {
				plan.add(p.model, plannedBlock{from: at, to: to, rings: true, mark: mark})
			}
		}
	}
}

func (plan *prefixPlan) add(m *transformer.Model, b plannedBlock) {
	plan.blocks = append(plan.blocks, b)
	if plan.bytes += m.BlockBytes(b.rings, b.to-b.from); !b.rings {
		plan.bytes += nodeBytes
	}
}

// copy copies the blocks from the cache.
func (plan *prefixPlan) copy(m *transformer.Model, cache *transformer.Cache) {
	for i := range plan.blocks {
		b := &plan.blocks[i]
		b.block = m.Block(cache, b.mark, b.rings, b.from, b.to)
	}
}

// insert adds the copied blocks to the tree, as far as their parents are still there;
// memory.mu is held.
func (p *prefixCache) insert(ids []int, plan *prefixPlan) {
	t := p.tree(plan.key)
	var path []*prefixNode
	for node, blocks := &t.root, plan.blocks; len(path)*blockTokens < len(ids); path = append(path, node) {
		at := len(path) * blockTokens
		part := ids[at:min(at+blockTokens, len(ids))]
		count := slices.IndexFunc(blocks, func(b plannedBlock) bool { return b.from > at })
		if count < 0 {
			count = len(blocks)
		}
		if node = node.extend(part, blocks[:count]); node == nil {
			break
		}
		blocks = blocks[count:]
	}
	t.usePath(path)
	if len(t.root.children) == 0 {
		delete(p.trees, t.key)
	}
}

// extend returns the child of n with ids, which it adds if it is among the blocks, and nil if
// there is none. It adds the rings among the blocks to it.
func (n *prefixNode) extend(ids []int, blocks []plannedBlock) *prefixNode {
	c := n.beginning(ids)
	for _, b := range blocks {
		if c == nil && !b.rings && b.block != nil {
			c = n.add(ids, b.block)
		}
	}
	for _, b := range blocks {
		if c != nil && b.rings && b.block != nil {
			c.addRings(b.block)
		}
	}
	return c
}
