//go:build amd64 && !purego

package kernel

// attendRow computes Attend of one row over 1 to attendBlock keys, to the bit, in two
// calls and without running sums. It returns false for instruction sets without routines.
func (k *Kernels) attendRow(a *Attention, q *Queries, kv KV) bool {
	n, dim := q.Seen, kv.Dim
	panels := (n + keyPanel - 1) / keyPanel
	in, out, scores := q.In[:dim], q.Out[:dim], a.scores[:panels*keyPanel]
	keys, values := kv.Keys[:panels*keyPanel*dim], kv.Values[:n*valueStride(dim)]
	switch k.isa {
	case isaAVX512:
		scoreRowAVX512(sd(scores), sd(a.queries), sd(keys), sd(in), dim, panels, q.Scale)
		k.Bound(scores[:n], q.Cap)
		weighRowAVX512(sd(out), sd(scores), sd(values), dim, n)
	case isaAVX2:
		scoreRowAVX2(sd(scores), sd(a.queries), sd(keys), sd(in), dim, panels, q.Scale)
		k.Bound(scores[:n], q.Cap)
		weighRowAVX2(sd(out), sd(scores), sd(values), dim, n)
	default:
		return false
	}
	return true
}
