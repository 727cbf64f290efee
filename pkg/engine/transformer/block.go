package transformer

import "glossa/pkg/engine/kernel"

// BlockTokens is the number of tokens of a whole [Block].
const BlockTokens = 64

// A Block holds the keys and values of the tokens From, ..., To-1 of a sequence, which lie
// between two multiples of BlockTokens. It has those of the layers that keep all tokens, or
// those of the layers with a ring, see [Model.HasRings]. It is immutable and may be shared by
// sequences.
type Block struct {
	From, To int

	layers []kv // with memory only for those of the block; first is the first token of a layer
	slab   []float32
}

// isRing reports whether layer i drops tokens of long sequences.
func (m *Model) isRing(i int) bool { return m.newKV(i, m.Context).ring }

// HasRings reports whether some layers drop tokens of long sequences. A sequence then needs
// blocks of both kinds to be continued.
func (m *Model) HasRings() bool {
	for i := range m.slots {
		if m.isRing(i) {
			return true
		}
	}
	return false
}

// newBlock returns a block with memory for its layers.
func (m *Model) newBlock(rings bool, from, to int) *Block {
	b := &Block{From: from, To: to, layers: make([]kv, len(m.slots))}
	for i := range b.layers {
		if m.isRing(i) == rings {
			b.layers[i] = m.newKV(i, BlockTokens)
			b.layers[i].resize(to - from)
			b.layers[i].first = from
		}
	}
	b.slab = allocate(b.layers)
	return b
}

// BlockBytes returns the memory of a block of a number of tokens.
func (m *Model) BlockBytes(rings bool, tokens int) (total int64) {
	for i := range m.slots {
		if m.isRing(i) == rings {
			layer := m.newKV(i, tokens)
			layer.resize(tokens)
			keys, values := layer.floats()
			total += 4 * int64(keys+values)
		}
	}
	return total
}

// RingTokens returns how many tokens the largest ring of a long sequence has.
func (m *Model) RingTokens() (most int) {
	for i := range m.slots {
		if layer := m.newKV(i, m.Context); layer.ring {
			most = max(most, layer.slots)
		}
	}
	return most
}

// Block returns a copy of the tokens from, ..., to-1 of c as it was at a mark; a nil mark is
// its end. They must lie between two multiples of [BlockTokens], and from must be the first
// of these. The block has what is left of the tokens: it is nil if the layers have dropped
// them all, or if the mark is not one of such a cache.
func (m *Model) Block(c *Cache, mark *Mark, rings bool, from, to int) *Block {
	tokens := c.tokens(mark)
	if to > tokens || !m.keeps(c, mark, rings, to) {
		return nil
	}
	b := m.newBlock(rings, from, to)
	for i := range b.layers {
		l := &b.layers[i]
		if l.heads == 0 {
			continue
		}
		source := c.source(mark, i)
		l.first = min(to, max(from, source.kept(tokens)))
		for h := range l.heads {
			b.head(i, h).Copy(source.head(h), l.first, to)
		}
	}
	return b
}

// keeps reports whether layers still have token to-1 of c at a mark.
func (m *Model) keeps(c *Cache, mark *Mark, rings bool, to int) bool {
	some := false
	for i := range c.layers {
		if m.isRing(i) != rings {
			continue
		}
		source := c.source(mark, i)
		if source == nil {
			return false
		}
		some = some || source.kept(c.tokens(mark)) < to
	}
	return some
}

// Kept returns the first token that all layers with a ring have of c as it was at a mark; a nil
// mark is its end.
func (c *Cache) Kept(mark *Mark) (first int) {
	for i := range c.layers {
		if source := c.source(mark, i); source != nil {
			first = max(first, source.kept(c.tokens(mark)))
		}
	}
	return first
}

// head returns the keys and values of a head of a layer. Token t is in slot t%BlockTokens.
func (b *Block) head(layer, h int) kernel.KV {
	kv := b.layers[layer].head(h)
	if !b.layers[layer].single {
		kv.Ring = BlockTokens
	}
	return kv
}

// Bytes returns the memory of b.
func (b *Block) Bytes() int64 { return 4 * int64(len(b.slab)) }

// First returns the first token that all layers of b have.
func (b *Block) First() int {
	first := b.From
	for i := range b.layers {
		if b.layers[i].heads > 0 {
			first = max(first, b.layers[i].first)
		}
	}
	return first
}

// firstOf returns the first of the tokens before n that layer i has without a gap in blocks,
// which are sorted by their tokens.
func firstOf(blocks []*Block, i, n int) int {
	first := n
	for k := len(blocks) - 1; k >= 0; k-- {
		b := blocks[k]
		if b.layers[i].heads == 0 || b.From >= first {
			continue
		}
		if b.To < first || b.layers[i].first >= first {
			break
		}
		if first = b.layers[i].first; first > b.From {
			break
		}
	}
	return first
}

// Continues reports whether the blocks of layers with a ring, sorted by their tokens, have what
// the token after the first n sees.
func (m *Model) Continues(rings []*Block, n int) bool {
	for i := range m.slots {
		if !m.isRing(i) {
			continue
		}
		layer := m.newKV(i, m.Context)
		layer.ring, layer.first = false, firstOf(rings, i, n)
		if n < layer.least(n) {
			return false
		}
	}
	return true
}

// Join returns a cache with room for capacity tokens that begins with the first n tokens of
// blocks, which are sorted by their tokens. They must have all of them for the layers that keep
// all tokens, and satisfy [Model.Continues]. The tokens must have been computed with the same
// rotary tables, see [Model.Long].
func (m *Model) Join(all, rings []*Block, n, capacity int) *Cache {
	c := m.NewCache(max(capacity, n))
	c.Len = n
	Concurrently(joiners, func(part int) {
		for i := part; i < len(c.layers); i += joiners {
			c.join(i, all, n)
			c.join(i, rings, n)
		}
	})
	return c
}

// joiners is the number of goroutines that copy blocks: one does not saturate the memory.
const joiners = 2

// join copies the first n tokens of blocks to layer i, if they are of it.
func (c *Cache) join(i int, blocks []*Block, n int) {
	l := &c.layers[i]
	if len(blocks) == 0 || blocks[0].layers[i].heads == 0 {
		return
	}
	l.first = firstOf(blocks, i, n)
	l.first = l.kept(n)
	for _, b := range blocks {
		from, to := max(l.first, b.layers[i].first), min(n, b.To)
		for h := 0; h < l.heads && from < to; h++ {
			l.head(h).Copy(b.head(i, h), from, to)
		}
	}
}
