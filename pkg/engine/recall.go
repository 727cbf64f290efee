package engine

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"glossa/pkg/engine/sealed"
	"glossa/pkg/engine/transformer"
)

const (
	// recallAt is the least number of tokens for which the archive is asked: fewer are computed
	// sooner.
	recallAt = 2 * blockTokens

	// recallAhead is how many blocks are read at the same time, which also bounds what is read
	// in vain.
	recallAhead = 8

	// recallLimit bounds the time of reading until the engine knows how long computing takes.
	recallLimit = 3 * time.Second
)

// The kinds of archived blocks, see [transformer.Block].
const (
	allKind  = "all"
	ringKind = "rings"
)

// archivedTexts are the computed texts that outlive the process: the blocks where a prompt has
// left another, which others may begin with too. A text that only one prompt had is not
// archived.
type archivedTexts struct {
	*sealed.Archive
	model string // what computes the texts, to the bit

	mu   sync.Mutex
	took float64 // nanoseconds that computing a token of a prompt takes; 0: unknown
}

// newArchivedTexts returns nil if cfg has no archive or does not say which model it is.
func newArchivedTexts(cfg Config) *archivedTexts {
	if cfg.Archive == nil || cfg.Fingerprint == "" {
		return nil
	}
	return &archivedTexts{Archive: cfg.Archive, model: fmt.Sprintf("%s\n%s %d %d", cfg.Fingerprint, cfg.Kernels.Name(), cfg.Format, cfg.KV)}
}

// computed notes how long a pass over tokens of prompts took.
func (p *prefixCache) computed(seqs []transformer.Sequence, took time.Duration) {
	if p == nil || p.archive == nil {
		return
	}
	tokens, a := 0, p.archive
	for i := range seqs {
		tokens += len(seqs[i].Tokens)
	}
	if tokens < prefillChunk { // shorter passes take longer for each token
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now := float64(took) / float64(tokens)
	if a.took == 0 {
		a.took = now
	}
	a.took += (now - a.took) / 8
}

// patience returns for how long a number of tokens are worth reading.
func (a *archivedTexts) patience(tokens int) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.took == 0 {
		return recallLimit
	}
	return time.Duration(a.took * float64(tokens))
}

// begin returns the chain of the texts with a key.
func (a *archivedTexts) begin(key prefixKey) sealed.Chain {
	return sealed.Begin(a.model, key.owner, strconv.FormatBool(key.long))
}

// links returns the blocks of the whole blocks of ids, up to the first picture: archives identify
// tokens by 32 bits.
func (a *archivedTexts) links(key prefixKey, ids []int) []sealed.Block {
	if n := slices.IndexFunc(ids, func(id int) bool { return id < 0 }); n >= 0 {
		ids = ids[:n]
	}
	list, chain := make([]sealed.Block, len(ids)/blockTokens), a.begin(key)
	for i := range list {
		tokens := ids[i*blockTokens : (i+1)*blockTokens]
		chain = chain.Next(tokens)
		list[i] = sealed.Block{Chain: chain, Kind: allKind, Tokens: tokens}
	}
	return list
}

// recall adds the beginning of ids that the archive has to the texts in memory, if it is longer
// than what these have and reading it takes less time than computing it would.
func (p *prefixCache) recall(ctx context.Context, ids []int, capacity int) {
	if p == nil || p.archive == nil || len(ids) <= recallAt {
		return
	}
	key := prefixKey{p.owner, p.model.Long(min(capacity, p.model.Context))}
	known := p.known(key, ids)
	if len(ids)-known <= recallAt || p.size(len(ids)) > p.memory.limit() {
		return
	}
	links := p.archive.links(key, ids[:len(ids)-1])
	reading, cancel := context.WithTimeout(ctx, p.archive.patience(len(ids)-known))
	defer cancel()
	ahead := 1 // most prompts begin with nothing that is archived
	for at := known / blockTokens; at < len(links); ahead = recallAhead {
		some := links[at:min(at+ahead, len(links))]
		blocks := p.read(reading, some, at*blockTokens)
		p.restore(key, ids, at*blockTokens, blocks)
		if len(blocks) < len(some) {
			if reading.Err() != nil && ctx.Err() == nil {
				p.archive.Rest()
			}
			return
		}
		at += len(some)
	}
}

// known returns how many tokens of ids the texts in memory have.
func (p *prefixTexts) known(key prefixKey, ids []int) (known int) {
	p.memory.mu.Lock()
	defer p.memory.mu.Unlock()
	if t := p.trees[key]; t != nil {
		_, known = t.match(ids, 0)
	}
	_, _, _, live := p.matchLive(key, ids, 0)
	return max(known, live)
}

// An archived block has those of the layers with a ring, too, if they were archived.
type archivedBlock struct{ all, rings *transformer.Block }

// read reads blocks at the same time, the first of which begins with token from. It returns
// those before the first that is missing.
func (p *prefixTexts) read(ctx context.Context, links []sealed.Block, from int) []archivedBlock {
	blocks, kinds := make([]archivedBlock, len(links)), 1
	if p.rings {
		kinds = 2
	}
	transformer.Concurrently(kinds*len(links), func(n int) {
		link, to, at := links[n/kinds], &blocks[n/kinds], from+n/kinds*blockTokens
		if n%kinds == 0 {
			to.all = p.readBlock(ctx, link, at)
			return
		}
		link.Kind = ringKind
		to.rings = p.readBlock(ctx, link, at)
	})
	for i := range blocks {
		if blocks[i].all == nil {
			return blocks[:i]
		}
	}
	return blocks
}

// readBlock reads one block, nil if it cannot be had.
func (p *prefixTexts) readBlock(ctx context.Context, link sealed.Block, from int) *transformer.Block {
	rings := link.Kind == ringKind
	data, err := p.archive.Get(ctx, link, p.model.EncodedBytes(rings))
	if err != nil {
		return nil
	}
	b, err := p.model.DecodeBlock(rings, from, data)
	if err != nil {
		return nil
	}
	return b
}

// restore adds blocks of ids to its tree, the first of which begins with token from.
func (p *prefixCache) restore(key prefixKey, ids []int, from int, blocks []archivedBlock) {
	if len(blocks) == 0 {
		return
	}
	plan := prefixPlan{key: key}
	for i, b := range blocks {
		at := from + i*blockTokens
		plan.add(p.model, plannedBlock{from: at, to: at + blockTokens, block: b.all})
		if b.rings != nil {
			plan.add(p.model, plannedBlock{from: at, to: at + blockTokens, rings: true, block: b.rings})
		}
	}
	limit := p.memory.limit()
	p.memory.mu.Lock()
	defer p.memory.mu.Unlock()
	if p.closed {
		return
	}
	p.memory.evict(limit - plan.bytes)
	p.insert(ids[:from+len(blocks)*blockTokens], &plan)
	path := p.tree(key).walk(ids)
	for _, n := range path[min(from/blockTokens, len(path)):] {
		n.archived = true
		for _, r := range n.rings {
			r.archived = true
		}
	}
	p.memory.evict(limit)
}

// archiveMatch archives the whole blocks that a prompt, ids, has found of a text, since others
// may begin with them too; memory.mu is held.
func (t *prefixTree) archiveMatch(m *prefixMatch, ids []int) {
	a, found := t.texts.archive, m.nodes[:m.n/blockTokens]
	if a == nil || !slices.ContainsFunc(found, (*prefixNode).archivable) {
		return
	}
	for i, link := range a.links(t.key, ids[:len(found)*blockTokens]) {
		n := found[i]
		if !n.archived {
			t.texts.archiveBlock(link, n.block, &n.archived)
		}
		if r := n.archivableRings(); r != nil {
			link.Kind = ringKind
			t.texts.archiveBlock(link, r.block, &r.archived)
		}
	}
}

// archivable reports whether n has something that is not archived.
func (n *prefixNode) archivable() bool { return !n.archived || n.archivableRings() != nil }

// archivableRings returns the rings of n that reach its end, unless they are archived.
func (n *prefixNode) archivableRings() *prefixRings {
	if r := n.ringsTo(n.block.To); r != nil && !r.archived && r.block.Whole() {
		return r
	}
	return nil
}

// archiveBlock archives a block in the background. archived is true while that may succeed;
// memory.mu is held.
func (p *prefixTexts) archiveBlock(b sealed.Block, block *transformer.Block, archived *bool) {
	data := func() ([]byte, error) { return block.AppendBinary(nil) }
	*archived = p.archive.Keep(b, data, func(kept bool) {
		p.memory.mu.Lock()
		defer p.memory.mu.Unlock()
		*archived = kept
	})
}
