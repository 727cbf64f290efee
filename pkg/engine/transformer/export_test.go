package transformer

import (
	"math"
	"slices"
	"sync/atomic"
)

// NewFullCache is NewCache without rings.
func (m *Model) NewFullCache(capacity int) *Cache {
	c := m.NewCache(capacity)
	for i := range c.layers {
		if !c.layers[i].single {
			c.layers[i].slots, c.layers[i].ring = c.capacity, false
		}
	}
	allocate(c.layers)
	return c
}

// ForkFull is Prefix without rings.
func (m *Model) ForkFull(c *Cache, n, capacity int) *Cache {
	f := m.NewFullCache(capacity)
	f.copy(c, nil, n)
	return f
}

// FullBytes is CacheBytes without rings.
func (m *Model) FullBytes(capacity int) int64 { return m.NewFullCache(capacity).Bytes() }

// Bytes returns the memory of c.
func (c *Cache) Bytes() (total int64) {
	for i := range c.layers {
		total += 4 * int64(len(c.layers[i].keys)+len(c.layers[i].values))
	}
	return total
}

// Spoil makes the memory of c, if it is recycled, NaN in every format, and returns its length.
func (c *Cache) Spoil() int {
	for i := range c.slab {
		c.slab[i] = math.Float32frombits(0x7fc07fc0)
	}
	return len(c.slab)
}

// Spoil makes the scratch memory of p NaN.
func (p *Pass) Spoil() {
	for _, x := range [][]float32{p.x, p.out, p.qkv, p.heads, p.h, p.g, p.eh, p.eg, p.mixed, p.cross, p.narrow, p.logits, p.texts} {
		for i := range x[:cap(x)] {
			x[:cap(x)][i] = float32(math.NaN())
		}
	}
}

// Holds reports whether p has sequences, or what was set for them.
func (p *Pass) Holds() bool {
	has := func(sp span) bool { return sp.cache != nil || sp.memory != nil || sp.mutual != nil || sp.keys != nil }
	of := func(r run) bool { return r.Adapter != nil }
	return slices.ContainsFunc(p.spans[:cap(p.spans)], has) || slices.ContainsFunc(p.runs[:cap(p.runs)], of) || p.seqs != nil || p.decoding.seqs != nil ||
		p.Hidden != nil || p.Stop != nil || p.ShareAll || p.ShareTexts || p.chain != nil || p.PortionsHold()
}

// Spoiled reports whether the memory of a new cache was spoiled.
func (c *Cache) Spoiled() bool { return len(c.slab) > 0 && c.slab[0] != c.slab[0] }

// Choose returns the experts that a token with these logits uses, and their shares.
func (e *Experts) Choose(logits []float32) (chosen []int, shares []float32) {
	chosen, shares = make([]int, e.Used), make([]float32, e.Used)
	(&experts{Experts: e}).chooseSoftmax(&routes{}, logits, chosen, shares)
	return chosen, shares
}

// Portions returns the number of portions of passes so far, 0 if all were computed as a whole.
func (p *Pass) Portions() int { return len(p.portions) }

// PortionsHold reports whether passes of portions have sequences, or what was set for them.
func (p *Pass) PortionsHold() bool { return slices.ContainsFunc(p.portions, (*Pass).Holds) }

var LikePortions = likePortions

// Cut returns the parts of sequences that workers compute: the first token's position, the tokens and the
// rows of logits of each, then the first part of each worker. chained reports whether they wait for each
// other.
func (p *Pass) Cut(seqs []Sequence, workers int) (parts [][3]int, starts []int, chained bool) {
	for i := range seqs {
		seqs[i].start = seqs[i].Cache.Len
	}
	d := &decoding{seqs: seqs}
	b, starts, c := d.divide(p, p.m.decoder, workers)
	if starts == nil {
		return nil, nil, false
	}
	for _, s := range b.(*decoding).seqs {
		parts = append(parts, [3]int{s.start, len(s.Tokens), s.Logits})
	}
	return parts, starts, c != nil
}

// Chain returns passes of a chain of portions.
func Chain(team *Team, n int) (passes []*Pass) {
	c := &chain{team: team, done: make([]atomic.Int32, n)}
	for k := range n {
		passes = append(passes, &Pass{chain: c, place: k})
	}
	return passes
}

// Meet waits until all portions have come as far as p.
func (p *Pass) Meet() { p.meet() }

// Leave lets those go on that wait for p.
func (p *Pass) Leave() { p.leave() }

// TextRooms returns the memory of keys and values of two layers of a text that is cut, of each head.
func (m *Model) TextRooms(tokens int) (rooms [][]float32) {
	p := m.NewPass(nil)
	k := p.textKeys(0, tokens)
	for layer := range int32(2) {
		a := &m.encoder[layer].Attention
		for head := range a.KVHeads {
			kv := k.head(a, layer, head)
			rooms = append(rooms, kv.Keys, kv.Values)
		}
	}
	return rooms
}

// Follow waits for the portion before p.
func (p *Pass) Follow() { p.follow() }

// Precede lets the portion behind p follow.
func (p *Pass) Precede() { p.precede() }

// PagesLocked reports whether a pass holds the lock of the experts that stay in their file.
func (m *Model) PagesLocked() bool {
	if !m.pager.mu.TryLock() {
		return true
	}
	m.pager.mu.Unlock()
	return false
}
