package transformer

// Cache holds the keys and values of one sequence.
type Cache struct {
	Len int // tokens

	capacity int
	keys     [][]float32 // per layer: (head, capacity, headDim), row-major
	values   [][]float32 // likewise
}

// NewCache returns an empty cache for at most capacity tokens.
func (m *Model) NewCache(capacity int) *Cache {
	capacity = min(capacity, m.Context)
	c := &Cache{capacity: capacity}
	slab := make([]float32, 2*m.Depth*capacity*m.Width)
	cut := func() []float32 {
		part := slab[: capacity*m.Width : capacity*m.Width]
		slab = slab[len(part):]
		return part
	}
	for range m.Depth {
		c.keys = append(c.keys, cut())
		c.values = append(c.values, cut())
	}
	return c
}

// Fork returns a copy of c that can go its own way, with room for capacity tokens.
func (m *Model) Fork(c *Cache, capacity int) *Cache {
	f := m.NewCache(max(capacity, c.Len))
	f.Len = c.Len
	dim := m.Width / m.Heads
	for l := range m.Depth {
		for h := range m.Heads {
			n := c.Len * dim
			from, to := h*c.capacity*dim, h*f.capacity*dim
			copy(f.keys[l][to:to+n], c.keys[l][from:from+n])
			copy(f.values[l][to:to+n], c.values[l][from:from+n])
		}
	}
	return f
}

// CacheBytes returns the memory of a cache of that capacity.
func (m *Model) CacheBytes(capacity int) int64 {
	return 2 * 4 * int64(m.Depth) * int64(min(capacity, m.Context)) * int64(m.Width)
}
