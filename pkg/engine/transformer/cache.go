package transformer

// A Cache holds the keys and values of one sequence, the inputs of its convolutions and its
// states. A layer with a window keeps only the last of them, see [Model.CacheBytes].
type Cache struct {
	Len int // tokens

	// Grids are the pictures among the tokens, those that are still to come too, in order. Copies have
	// them. They matter to a [Rotary] with axes.
	Grids []Grid

	capacity int
	layers   []kv
	slab     []float32 // the memory of the layers; nil: it is not recycled
	long     bool      // rotary tables are those of long sequences
}

// Long reports whether c was computed with the rotary tables of long sequences.
func (c *Cache) Long() bool { return c.long }

// Capacity returns how many tokens c can hold.
func (c *Cache) Capacity() int { return c.capacity }

// NewCache returns an empty cache for at most capacity tokens. The capacity decides which
// table a [Rotary] with two of them uses, so choose it for the whole sequence.
func (m *Model) NewCache(capacity int) *Cache {
	capacity = min(capacity, m.Context)
	layers := make([]kv, len(m.slots))
	for i := range layers {
		layers[i] = m.newKV(i, capacity)
	}
	c := &Cache{capacity: capacity, layers: layers, long: m.Long(capacity)}
	if recyclable(layers) {
		c.slab = m.slabs.take(floatsOf(layers))
		divide(layers, c.slab)
	} else {
		allocate(layers)
	}
	return c
}

// CacheBytes returns the memory of a cache with a capacity in tokens. A layer keeps
// min(capacity, ⌈(window-1+64)/128⌉·128) tokens: those that the next token sees, and at
// least 64 more that can be computed at once or dropped by [Model.Prefix]. For a layer
// with chunks the window is their size, for a convolution its taps. A layer without any of
// these keeps all tokens, and one with states only these.
func (m *Model) CacheBytes(capacity int) (total int64) {
	for i := range m.slots {
		layer := m.newKV(i, min(capacity, m.Context))
		keys, values := layer.floats()
		total += 4 * int64(keys+values)
	}
	return total
}

// Long reports whether sequences of a number of tokens use the tables of long ones.
func (m *Model) Long(tokens int) bool {
	for i := range m.Rotaries {
		if r := &m.Rotaries[i]; r.Original > 0 {
			return tokens > r.Original
		}
	}
	return false
}

// Reach returns how many of the first n tokens of c [Model.Prefix] can copy: min(n, Len) if
// every layer still has what the token after them sees, else 0. The latter is possible only
// if a layer with a window has dropped tokens and n is more than [SpareTokens] before the
// longest that the sequence has been.
//
// With a mark, the result is that of [Model.PrefixAt], at most the length of the mark.
func (c *Cache) Reach(mark *Mark, n int) int {
	tokens := c.tokens(mark)
	n = min(n, tokens)
	for i := range c.layers {
		from := c.source(mark, i)
		if from == nil || n < from.least(tokens) {
			return 0
		}
	}
	return n
}

// Truncate drops the tokens from index n on, at most [SpareTokens] of those that the sequence
// has had: what a ring kept before them it has overwritten. A model with states can drop none,
// see [Spec.Rewinds]. Another goroutine may concurrently
// copy the cache at a mark of at most n tokens.
func (c *Cache) Truncate(n int) {
	for i := range c.layers {
		if l := &c.layers[i]; l.ring {
			l.first = l.kept(c.Len)
		}
	}
	c.Len = n
}

// Fork returns an independent copy of c with room for capacity tokens.
func (m *Model) Fork(c *Cache, capacity int) *Cache { return m.Prefix(c, c.Len, capacity) }

// Prefix returns a copy of the first n tokens of c with room for capacity tokens. It uses
// the same rotary tables, see [Rotary]. If a layer has dropped tokens that it needs,
// the copy is empty, see [Cache.Reach].
func (m *Model) Prefix(c *Cache, n, capacity int) *Cache { return m.PrefixAt(c, nil, n, capacity) }

// Copy makes dst a copy of src. dst must have the capacity.
func (m *Model) Copy(dst, src *Cache) { dst.copy(src, nil, src.Len) }

// A Mark holds what layers with a ring had when it was made, so that the cache can be
// shortened to that place although tokens are appended to it. It is immutable.
type Mark struct {
	Len int // tokens

	layers []kv // with memory only for the rings of the cache
	bytes  int64
	long   bool
}

// Mark returns a mark at the end of c. It applies to every cache that begins with the same
// tokens, has the same rings, and was computed with the same rotary tables.
func (m *Model) Mark(c *Cache) *Mark {
	mark := &Mark{Len: c.Len, layers: make([]kv, len(c.layers)), long: c.long}
	for i := range c.layers {
		if c.layers[i].ring {
			mark.layers[i] = m.newKV(i, c.Len)
		}
	}
	mark.bytes = 4 * int64(len(allocate(mark.layers)))
	for i := range c.layers {
		if c.layers[i].ring && c.Len > 0 {
			mark.layers[i].copy(&c.layers[i], c.Len, c.Len)
		}
	}
	return mark
}

// Bytes returns the memory of the mark.
func (k *Mark) Bytes() int64 { return k.bytes }

// PrefixAt is Prefix of c as it was at a mark; a nil mark is its end. With a mark, another
// goroutine may concurrently append to c.
func (m *Model) PrefixAt(c *Cache, mark *Mark, n, capacity int) *Cache {
	n = c.Reach(mark, n)
	f := m.NewCache(max(capacity, n))
	f.copy(c, mark, n)
	return f
}

// copy makes c a copy of the first n tokens of from, at a mark if it is not nil.
func (c *Cache) copy(from *Cache, mark *Mark, n int) {
	tokens := from.tokens(mark)
	c.Len, c.long, c.Grids = n, from.long, from.Grids
	for i := range c.layers {
		if n == 0 { // there may be no source
			c.layers[i].first = 0
			continue
		}
		c.layers[i].copy(from.source(mark, i), tokens, n)
	}
}

// tokens returns how many tokens c has, or had at a mark.
func (c *Cache) tokens(mark *Mark) int {
	if mark == nil {
		return c.Len
	}
	return mark.Len
}

// source returns the keys and values of layer i: of c, or what a mark has kept of them. It is
// nil if the mark is not one of such a cache.
func (c *Cache) source(mark *Mark, i int) *kv {
	if mark == nil {
		return &c.layers[i]
	}
	if mark.long != c.long {
		return nil
	}
	if mark.layers[i].heads > 0 {
		return &mark.layers[i]
	}
	if c.layers[i].ring {
		return nil
	}
	return &c.layers[i]
}

// A Memory is an encoded text: the keys and values of each layer's cross-attention. It is
// immutable and may be shared by sequences.
type Memory struct {
	Len int // tokens

	layers []kv
}

func (m *Model) newMemory(tokens int) *Memory {
	layers := make([]kv, len(m.decoder))
	for i := range layers {
		layers[i] = m.memoryKV(&m.decoder[i].Attention, tokens)
	}
	allocate(layers)
	return &Memory{Len: tokens, layers: layers}
}

// memoryKV is newKV without a window: that of a layer does not bound its cross-attention.
func (m *Model) memoryKV(a *Attention, tokens int) kv {
	return kv{slots: tokens, heads: a.KVHeads, dim: a.HeadDim, format: m.kvFormat}
}

// MemoryBytes returns the memory of an encoded text with a number of tokens.
func (m *Model) MemoryBytes(tokens int) (total int64) {
	for i := range m.decoder {
		layer := m.memoryKV(&m.decoder[i].Attention, tokens)
		keys, values := layer.floats()
		total += 4 * int64(keys+values)
	}
	return total
}
