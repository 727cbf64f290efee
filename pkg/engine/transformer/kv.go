package transformer

import (
	"cmp"
	"slices"

	"glossa/pkg/engine/dtype"
	"glossa/pkg/engine/kernel"
)

// A KVFormat is the number format of the keys and values in caches.
type KVFormat uint8

// The formats.
const (
	KVAuto KVFormat = iota // KVF32 if the matrices that tokens multiply are float32 too, else KVBF16
	KVF32
	KVBF16 // half the memory, and the time that a token takes to read it
	KVQ8   // bytes with a scale for each key and each value of a head: a quarter and a bit
)

// KVFormats returns the formats that can be chosen, by name, as records spell them.
func KVFormats() map[string]KVFormat {
	return map[string]KVFormat{dtype.F32.Option(): KVF32, dtype.BF16.Option(): KVBF16, "q8": KVQ8}
}

// StoreKV sets the format of caches and of encoded texts, which is KVF32 without it. Call it before
// the first is made.
func (m *Model) StoreKV(f KVFormat) {
	switch {
	case f == KVQ8:
		m.kvFormat = kernel.KVQ8
	case f == KVBF16, f == KVAuto && m.packed:
		m.kvFormat = kernel.KVBF16
	default:
		m.kvFormat = kernel.KVF32
	}
}

// anyPacked reports whether some matrix that tokens multiply is not float32 in a format.
func anyPacked(parts []part, f Format) bool {
	return slices.ContainsFunc(parts, func(p part) bool { return p.usage == multiplied && !p.absent() && p.format(f) != F32 })
}

// SpareTokens is the least number of tokens that a layer with a window keeps beyond those that
// the next token sees: as many can be computed at once, or dropped by [Model.Prefix]. With
// [Spec.Mutual] there are as many more.
const SpareTokens = 64

// kv holds the keys and values of one layer, or its states.
type kv struct {
	keys, values []float32 // (KVHeads, of a head: see kernel.KV)
	slots        int       // tokens for which there is room
	ring         bool      // only the last slots tokens are kept
	window       int       // tokens that a token sees; 0: all before it
	first        int       // the first token that is kept, unless the ring has passed it
	heads        int
	dim          int // of a head
	format       kernel.KVFormat
	keyless      bool // there are only values: the inputs of a convolution, or states
	single       bool // there is one slot, in blocks too: states
}

// ringSlots returns the size of the ring of a layer with a window, 0 if the layer keeps all
// tokens: those that the next token sees, and at least a number of spare ones, in whole blocks of
// keys.
func ringSlots(window, spare, tokens int) int {
	if window == 0 || window >= tokens {
		return 0
	}
	blocks := (window - 1 + spare + kernel.RingStep - 1) / kernel.RingStep
	if slots := blocks * kernel.RingStep; slots < tokens {
		return slots
	}
	return 0
}

// A slot is a part of a cache.
type slot struct {
	*Kind      // of the layer that fills it
	lent  bool // later layers read it: it must have all tokens of a pass
}

// setSlots numbers what a cache keeps: what each layer does that mixes tokens and does not read another's, then the
// states of those that have attention too.
func (m *Model) setSlots() {
	for i := range m.decoder {
		l := &m.decoder[i]
		if from := l.Attention.KVLayer; from > 0 {
			l.slot = m.decoder[from-1].slot
			m.slots[l.slot].lent = true
			continue
		}
		if !l.Mixes() {
			continue
		}
		l.slot = len(m.slots)
		m.slots = append(m.slots, slot{Kind: l.Kind})
	}
	for i := range m.decoder {
		l := &m.decoder[i]
		if l.states == nil {
			continue
		}
		if l.states.slot = l.slot; l.attends() {
			l.states.slot = len(m.slots)
			m.slots = append(m.slots, slot{Kind: &Kind{States: l.States}})
		}
	}
}

// newKV returns what slot i of a cache keeps of a number of tokens, without memory.
func (m *Model) newKV(i, tokens int) kv {
	k := m.slots[i]
	switch {
	case k.Convolution != nil:
		return k.Convolution.newState(m.Width, tokens)
	case k.Deltas != nil:
		return k.Deltas.newState()
	case !k.attends():
		return k.States.newState()
	}
	a := &k.Attention
	window := cmp.Or(a.Window, a.Chunk) // a chunk sees less than a window of its size
	if k.lent {
		window = 0
	}
	c := newWindow(window, SpareTokens+m.Mutual, tokens)
	c.heads, c.dim, c.format = a.KVHeads, a.HeadDim, m.kvFormat
	return c
}

// newWindow returns what keeps a number of tokens of which each sees a window, and spare ones.
func newWindow(window, spare, tokens int) kv {
	c := kv{slots: tokens, window: window}
	if slots := ringSlots(window, spare, tokens); slots > 0 {
		c.slots, c.ring = slots, true
	}
	return c
}

// resize makes room for a number of tokens, unless there is one slot for any.
func (c *kv) resize(tokens int) {
	if !c.single {
		c.slots = tokens
	}
}

// floats returns the lengths of the keys and values.
func (c *kv) floats() (keys, values int) {
	if keys, values = kernel.KVLen(c.format, c.slots, c.dim); c.keyless {
		keys = 0
	}
	return c.heads * keys, c.heads * values
}

// allocate gives layers their memory, in one piece, and returns that. A layer without heads
// gets none.
func allocate(layers []kv) []float32 {
	all := make([]float32, floatsOf(layers))
	divide(layers, all)
	return all
}

// floatsOf returns the length of the memory of layers.
func floatsOf(layers []kv) (size int) {
	for i := range layers {
		keys, values := layers[i].floats()
		size += keys + values
	}
	return size
}

// divide gives layers their parts of a slab.
func divide(layers []kv, slab []float32) {
	for i := range layers {
		c := &layers[i]
		keys, values := c.floats()
		c.keys, c.values, slab = slab[:keys:keys], slab[keys:keys+values:keys+values], slab[keys+values:]
	}
}

// head returns the keys and values of a head.
func (c *kv) head(h int) kernel.KV {
	keys, values := len(c.keys)/c.heads, len(c.values)/c.heads
	out := kernel.KV{Keys: c.keys[h*keys : (h+1)*keys], Values: c.values[h*values : (h+1)*values], Dim: c.dim, Format: c.format}
	if c.ring {
		out.Ring = c.slots
	}
	return out
}

// room returns how many of n tokens can be stored at once, so that the first still sees all
// that its window reaches.
func (c *kv) room(n int) int {
	if !c.ring {
		return n
	}
	return min(n, c.slots-(c.window-1))
}

// kept returns the first token that c keeps of a number of tokens.
func (c *kv) kept(tokens int) int {
	if !c.ring {
		return c.first
	}
	return max(c.first, tokens-c.slots)
}

// least returns the least number of tokens to which c, which has a number of them, can be
// shortened: the next token must see all that its window reaches.
func (c *kv) least(tokens int) int {
	if kept := c.kept(tokens); kept > 0 {
		return kept + c.window - 1
	}
	return 0
}

// copy makes c a copy of the first n of the tokens in from, n > 0.
func (c *kv) copy(from *kv, tokens, n int) {
	c.first = from.kept(tokens)
	c.first = c.kept(n)
	for h := range c.heads {
		c.head(h).Copy(from.head(h), c.first, n)
	}
}
