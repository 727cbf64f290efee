package kernel

import "unsafe"

// A KVFormat is the number format of stored keys and values.
type KVFormat uint8

// The formats.
const (
	KVF32  KVFormat = iota
	KVBF16          // bfloat16, rounded to nearest, half to even, when stored; widened when read, which is exact
	KVQ8            // bytes times a scale of the key, or of the value, of a head: the largest number / 127
)

// words returns the length of the memory of n numbers.
func (f KVFormat) words(n int) int { return n >> f }

// panel returns the length of a panel of keys. With KVQ8 the scales of its keys come after them,
// and then those of the values of the same tokens.
func (f KVFormat) panel(dim int) int {
	n := f.words(keyPanel * dim)
	if f == KVQ8 {
		n += 2 * keyPanel
	}
	return n
}

// A KV is the keys and values of one head, in the layout that Attend reads. It does not
// depend on the instruction set.
type KV struct {
	Keys   []float32 // (slot/16, Dim, 16): a score is a lane, without horizontal sums. Empty: there are only values
	Values []float32 // (slot, Dim padded to a multiple of 16)
	Dim    int
	Format KVFormat // each float32 of Keys and Values is the memory of two numbers with KVBF16, of four with KVQ8

	// Ring, a multiple of RingStep, is the number of slots of a ring: token t is in slot
	// t%Ring, and only the last Ring tokens are kept. 0: token t is in slot t.
	Ring int
}

// RingStep is the granularity of rings: a block of keys, which begins at a multiple of
// RingStep tokens, lies in one piece.
const RingStep = attendBlock

// slot returns where a token is.
func (kv KV) slot(token int) int {
	if kv.Ring == 0 {
		return token
	}
	return token % kv.Ring
}

// run returns how many of n tokens lie one after another, beginning with token.
func (kv KV) run(token, n int) int {
	if kv.Ring == 0 {
		return n
	}
	return min(n, kv.Ring-token%kv.Ring)
}

// keyPanel is the number of interleaved keys: a cache line of float32 for each dimension. Short
// texts would waste reads with more.
const keyPanel = 16

// valueAlign is the alignment of a row of values in numbers: a cache line of float32.
const valueAlign = 16

// valueStride returns the distance of values, in numbers.
func valueStride(dim int) int { return (dim + valueAlign - 1) / valueAlign * valueAlign }

// KVLen returns the lengths of the keys and the values of one head.
func KVLen(f KVFormat, tokens, dim int) (keys, values int) {
	return (tokens + keyPanel - 1) / keyPanel * f.panel(dim), f.words(tokens * valueStride(dim))
}

// narrowed returns the memory of x as twice as many numbers of 16 bits.
func narrowed(x []float32) []uint16 {
	return unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))
}

// Value returns the values of a token (Dim), which are float32.
func (kv KV) Value(token int) []float32 {
	at := kv.slot(token) * valueStride(kv.Dim)
	return kv.Values[at : at+kv.Dim]
}

// Store writes n keys and values as tokens at, at+1, and so on; n is at most the size of a
// ring. Its input keys and values, Dim floats each, are stride floats apart. Other slots are
// unchanged.
func (k *Kernels) Store(kv KV, at int, keys, values []float32, n, stride int) {
	for run := 0; n > 0; at, n = at+run, n-run {
		if run > 0 {
			keys, values = keys[run*stride:], values[run*stride:]
		}
		run = kv.run(at, n)
		k.storeRun(kv, kv.slot(at), keys, values, run, stride)
	}
}

// storeRun writes n keys and values to slot at and those after it.
func (k *Kernels) storeRun(kv KV, at int, keys, values []float32, n, stride int) {
	out := valueStride(kv.Dim)
	switch kv.Format {
	case KVQ8:
		for i := range n {
			k.storeBytes(kv, at+i, keys[i*stride:][:kv.Dim], values[i*stride:][:kv.Dim])
		}
		return
	case KVBF16:
		dst := narrowed(kv.Values)[at*out:]
		for i := range n {
			k.narrow(dst[i*out:], values[i*stride:i*stride+kv.Dim])
		}
		k.storeNarrowKeys(narrowed(kv.Keys), at, keys, kv.Dim, n, stride)
		return
	}
	for i := range n {
		copy(kv.Values[(at+i)*out:], values[i*stride:i*stride+kv.Dim])
	}
	step := lanes(k.isa)
	for i := 0; i < n; {
		rows, slot := 1, at+i
		if slot%step == 0 && n-i >= step {
			rows = step
		}
		dst := kv.Keys[slot/keyPanel*keyPanel*kv.Dim+slot%keyPanel:]
		k.storeKeys(dst, keys[i*stride:], kv.Dim, rows, stride)
		i += rows
	}
}

// storeKeys writes columns of a panel of keys: one, or as many as transpose handles.
func (k *Kernels) storeKeys(dst, x []float32, dim, rows, stride int) {
	done := 0
	if rows > 1 {
		done = dim / rows * rows
		transpose(k.isa, dst, keyPanel, x, stride, dim/rows, rows)
	}
	for r := range rows {
		for j := done; j < dim; j++ {
			dst[j*keyPanel+r] = x[r*stride+j]
		}
	}
}

// storeNarrowKeys is the keys' part of storeRun for bfloat16. Whole panels are transposed before
// they are narrowed, so many dimensions at a time.
func (k *Kernels) storeNarrowKeys(keys []uint16, at int, x []float32, dim, n, stride int) {
	const dims = narrowDims
	var wide [dims * keyPanel]float32
	for i := 0; i < n; {
		slot := at + i
		dst := keys[slot/keyPanel*keyPanel*dim+slot%keyPanel:]
		if slot%keyPanel > 0 || n-i < keyPanel {
			k.storeNarrowKey(dst, x[i*stride:i*stride+dim])
			i++
			continue
		}
		step := lanes(k.isa)
		for j := 0; j < dim; j += dims {
			m := min(dims, dim-j)
			for r := 0; r < keyPanel; r += step {
				k.storeKeys(wide[r:], x[(i+r)*stride+j:], m, step, stride)
			}
			k.narrow(dst[j*keyPanel:], wide[:m*keyPanel])
		}
		i += keyPanel
	}
}

// narrowDims is the number of dimensions of keys that are narrowed together.
const narrowDims = 64

// storeNarrowKey writes a column of a panel of keys.
func (k *Kernels) storeNarrowKey(dst []uint16, x []float32) {
	var row [narrowDims]uint16
	for j := 0; j < len(x); j += narrowDims {
		n := min(narrowDims, len(x)-j)
		k.narrow(row[:n], x[j:j+n])
		for i, b := range row[:n] {
			dst[(j+i)*keyPanel] = b
		}
	}
}

// narrow rounds x to bfloat16, as [dtype.ToBFloat16] does.
func (k *Kernels) narrow(dst []uint16, x []float32) {
	whole := len(x) / keyPanel * keyPanel
	if whole > 0 {
		narrowAll(k.isa, dst[:whole], x[:whole])
	}
	narrowGeneric(dst[whole:], x[whole:])
}

// Copy copies the tokens first, ..., n-1 of from to kv, and perhaps up to 15 before them. Both
// must have slots for them. Other goroutines may concurrently write other tokens of from,
// unless it is a ring. Their formats are the same.
func (kv KV) Copy(from KV, first, n int) {
	if len(kv.Keys) > 0 {
		first = first / keyPanel * keyPanel
	}
	for at, run := first, 0; at < n; at += run {
		run = kv.run(at, from.run(at, n-at))
		kv.copyRun(from, kv.slot(at), from.slot(at), run)
	}
}

// copyRun copies n tokens in slots that follow one another. The first begin panels.
func (kv KV) copyRun(from KV, to, at, n int) {
	switch kv.Format {
	case KVQ8:
		kv.copyBytes(from, to, at, n)
	case KVBF16:
		copyTokens(narrowed(kv.Keys), narrowed(kv.Values), narrowed(from.Keys), narrowed(from.Values), kv.Dim, to, at, n)
	default:
		copyTokens(kv.Keys, kv.Values, from.Keys, from.Values, kv.Dim, to, at, n)
	}
}

// copyTokens is copyRun for keys and values of either size.
func copyTokens[T float32 | uint16](keys, values, fromKeys, fromValues []T, dim, to, at, n int) {
	whole, stride := n/keyPanel*keyPanel*dim, valueStride(dim)
	if len(keys) > 0 {
		dst, src := keys[to*dim:], fromKeys[at*dim:]
		copy(dst[:whole], src)
		if rest := n % keyPanel; rest > 0 {
			for j := range dim {
				i := whole + j*keyPanel
				copy(dst[i:i+rest], src[i:])
			}
		}
	}
	copy(values[to*stride:(to+n)*stride], fromValues[at*stride:])
}
