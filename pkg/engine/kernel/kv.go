package kernel

// A KV is the keys and values of one head, in the layout that Attend reads. It does not
// depend on the instruction set.
type KV struct {
	Keys   []float32 // (slot/16, Dim, 16): a score is a lane, without horizontal sums. Empty: there are only values
	Values []float32 // (slot, Dim padded to a multiple of 16)
	Dim    int

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

// keyPanel is the number of interleaved keys: a cache line for each dimension. Short
// texts would waste reads with more.
const keyPanel = 16

// valueAlign is the alignment of a row of values in floats: a cache line.
const valueAlign = 16

// valueStride returns the distance of values, in floats.
func valueStride(dim int) int { return (dim + valueAlign - 1) / valueAlign * valueAlign }

// KVLen returns the numbers of floats of the keys and the values of one head.
func KVLen(tokens, dim int) (keys, values int) {
	return (tokens + keyPanel - 1) / keyPanel * keyPanel * dim, tokens * valueStride(dim)
}

// Value returns the values of a token (Dim).
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

// Copy copies the tokens first, ..., n-1 of from to kv, and perhaps up to 15 before them. Both
// must have slots for them. Other goroutines may concurrently write other tokens of from,
// unless it is a ring.
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
	whole, stride := n/keyPanel*keyPanel*kv.Dim, valueStride(kv.Dim)
	if len(kv.Keys) > 0 {
		dst, src := kv.Keys[to*kv.Dim:], from.Keys[at*kv.Dim:]
		copy(dst[:whole], src)
		if rest := n % keyPanel; rest > 0 {
			for j := range kv.Dim {
				i := whole + j*keyPanel
				copy(dst[i:i+rest], src[i:])
			}
		}
	}
	copy(kv.Values[to*stride:(to+n)*stride], from.Values[at*stride:])
}
