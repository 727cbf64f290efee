package transformer

import "glossa/pkg/engine/kernel"

// kv holds the keys and values of one layer.
type kv struct {
	keys, values []float32 // (KVHeads, of a head: see kernel.KV)
	capacity     int       // tokens
	heads        int
	dim          int // of a head
}

// head returns the keys and values of a head.
func (c *kv) head(h int) kernel.KV {
	keys, values := len(c.keys)/c.heads, len(c.values)/c.heads
	return kernel.KV{Keys: c.keys[h*keys : (h+1)*keys], Values: c.values[h*values : (h+1)*values], Dim: c.dim}
}

// A Cache holds the keys and values of one sequence. Layers with a window keep those of all
// tokens too, so that any prefix can be copied, see [Model.Prefix].
type Cache struct {
	Len int // tokens

	layers []kv
	long   bool // rotary tables are those of long sequences
}

// Capacity returns how many tokens c can hold.
func (c *Cache) Capacity() int { return c.layers[0].capacity }

// newLayers returns empty keys and values for the layers of the decoder.
func (m *Model) newLayers(capacity int) []kv {
	slab := make([]float32, m.kvBytes(capacity)/4)
	cut := func(size int) []float32 {
		part := slab[:size:size]
		slab = slab[size:]
		return part
	}
	layers := make([]kv, len(m.decoder))
	for i := range layers {
		a := &m.decoder[i].Attention
		keys, values := kernel.KVLen(capacity, a.HeadDim)
		layers[i] = kv{keys: cut(a.KVHeads * keys), values: cut(a.KVHeads * values), capacity: capacity, heads: a.KVHeads, dim: a.HeadDim}
	}
	return layers
}

// NewCache returns an empty cache for at most capacity tokens. The capacity decides which
// table a [Rotary] with two of them uses, so choose it for the whole sequence.
func (m *Model) NewCache(capacity int) *Cache {
	capacity = min(capacity, m.Context)
	return &Cache{layers: m.newLayers(capacity), long: m.Long(capacity)}
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

// Extends reports whether a cache of a capacity may begin with tokens of c: a longer
// sequence may need other keys, see [Rotary].
func (m *Model) Extends(c *Cache, capacity int) bool {
	return c.long == m.Long(min(capacity, m.Context))
}

// Fork returns an independent copy of c with room for capacity tokens.
func (m *Model) Fork(c *Cache, capacity int) *Cache { return m.Prefix(c, c.Len, capacity) }

// Prefix returns a copy of the first n tokens of c with room for capacity tokens. It uses
// the same rotary tables, see [Model.Extends]. Another goroutine may append to c meanwhile.
func (m *Model) Prefix(c *Cache, n, capacity int) *Cache {
	f := m.NewCache(max(capacity, n))
	f.long = c.long
	m.copy(f, c, n)
	return f
}

// Copy makes dst a copy of src. dst must have the capacity.
func (m *Model) Copy(dst, src *Cache) { m.copy(dst, src, src.Len) }

func (m *Model) copy(dst, src *Cache, n int) {
	dst.Len, dst.long = n, src.long
	for l := range src.layers {
		for h := range src.layers[l].heads {
			dst.layers[l].head(h).Copy(src.layers[l].head(h), n)
		}
	}
}

// CacheBytes returns the memory of a cache with a capacity in tokens.
func (m *Model) CacheBytes(capacity int) int64 { return m.kvBytes(min(capacity, m.Context)) }

func (m *Model) kvBytes(tokens int) (total int64) {
	for i := range m.decoder {
		a := &m.decoder[i].Attention
		keys, values := kernel.KVLen(tokens, a.HeadDim)
		total += 4 * int64(a.KVHeads) * int64(keys+values)
	}
	return total
}

// A Memory is an encoded text: the keys and values of each layer's cross-attention. It is
// immutable and may be shared by sequences.
type Memory struct {
	Len int // tokens

	layers []kv
}

// MemoryBytes returns the memory of an encoded text with a number of tokens.
func (m *Model) MemoryBytes(tokens int) int64 { return m.kvBytes(tokens) }
