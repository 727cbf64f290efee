package kernel

// A KV is the keys and values of one head, in the layout that Attend reads. It does not
// depend on the instruction set.
type KV struct {
	Keys   []float32 // (token/16, Dim, 16): a score is a lane, without horizontal sums
	Values []float32 // (token, Dim padded to a multiple of 16)
	Dim    int
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

// Store writes n keys and values as tokens at, at+1, and so on. Its input keys and
// values, Dim floats each, are stride floats apart. Other tokens are unchanged.
func (k *Kernels) Store(kv KV, at int, keys, values []float32, n, stride int) {
	out := valueStride(kv.Dim)
	for i := range n {
		copy(kv.Values[(at+i)*out:], values[i*stride:i*stride+kv.Dim])
	}
	step := lanes(k.isa)
	for i := 0; i < n; {
		rows, token := 1, at+i
		if token%step == 0 && n-i >= step {
			rows = step
		}
		dst := kv.Keys[token/keyPanel*keyPanel*kv.Dim+token%keyPanel:]
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

// Copy copies the first n tokens of from to kv. Other goroutines may concurrently write
// other tokens of from.
func (kv KV) Copy(from KV, n int) {
	whole := n / keyPanel * keyPanel * kv.Dim
	copy(kv.Keys[:whole], from.Keys)
	if rest := n % keyPanel; rest > 0 {
		for j := range kv.Dim {
			at := whole + j*keyPanel
			copy(kv.Keys[at:at+rest], from.Keys[at:])
		}
	}
	copy(kv.Values[:n*valueStride(kv.Dim)], from.Values)
}
