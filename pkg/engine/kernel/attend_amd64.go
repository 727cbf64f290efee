//go:build amd64 && !purego

package kernel

// attendRow computes Attend of one row over 1 to attendBlock keys, to the bit, in two
// calls and without running sums. It returns false for instruction sets and formats without
// routines.
func (k *Kernels) attendRow(a *Attention, q *Queries, kv KV) bool {
	if k.isa == isaGeneric || kv.Format == KVQ8 {
		return false
	}
	n, dim := q.Seen, kv.Dim
	panels := (n + keyPanel - 1) / keyPanel
	in, out, scores := q.In[:dim], q.Out[:dim], a.scores[:panels*keyPanel]
	keyLen, valueLen := KVLen(kv.Format, n, dim)
	keys, values := kv.Keys[:keyLen], kv.Values[:valueLen]
	scoreRow(k.isa, kv.Format, scores, a.queries, keys, in, panels, q.Scale)
	k.Bound(scores[:n], q.Cap)
	weighRow(k.isa, kv.Format, out, scores, values, n)
	return true
}

// scoreRow computes scaled = q*scale and dst = scaled · keys.
func scoreRow(i isa, f KVFormat, dst, scaled, keys, q []float32, panels int, scale float32) {
	switch {
	case i == isaAVX512 && f == KVBF16:
		scoreRowBF16AVX512(sd(dst), sd(scaled), sd(keys), sd(q), len(q), panels, scale)
	case i == isaAVX512:
		scoreRowAVX512(sd(dst), sd(scaled), sd(keys), sd(q), len(q), panels, scale)
	case f == KVBF16:
		scoreRowBF16AVX2(sd(dst), sd(scaled), sd(keys), sd(q), len(q), panels, scale)
	default:
		scoreRowAVX2(sd(dst), sd(scaled), sd(keys), sd(q), len(q), panels, scale)
	}
}

// weighRow computes out = softmax(scores) · values; scores become exponentials.
func weighRow(i isa, f KVFormat, out, scores, values []float32, n int) {
	switch {
	case i == isaAVX512 && f == KVBF16:
		weighRowBF16AVX512(sd(out), sd(scores), sd(values), len(out), n)
	case i == isaAVX512:
		weighRowAVX512(sd(out), sd(scores), sd(values), len(out), n)
	case f == KVBF16:
		weighRowBF16AVX2(sd(out), sd(scores), sd(values), len(out), n)
	default:
		weighRowAVX2(sd(out), sd(scores), sd(values), len(out), n)
	}
}
