//go:build amd64 && !purego

package kernel

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// bringsKeys says whether routines bring later keys and values to the cache.
const bringsKeys = true

// hasDots reports whether the processor has AVX512_BF16, which not all with AVX-512 have.
func hasDots() bool { return cpu.X86.HasAVX512BF16 }

// pairUp rounds numbers, a multiple of 16, to bfloat16, in the first half of their room.
func pairUp(x []float32) {
	if len(x) > 0 {
		pairUpAVX512(sd(x), len(x))
	}
}

// scoreDots is score of bfloat16 with queries that pairUp has rounded.
func scoreDots(dst, q, keys []float32, dim, panels, rows, ahead int) {
	scoreDotsAVX512(sd(dst), sd(q), sd(keys), dim, panels, rows, ahead)
}

// softenDots is soften whose exponentials become bfloat16, in the first half of a row.
func softenDots(scores []float32, counts []int, top, total, factors []float32) {
	part := 0 // rows that see a part of the block come first
	for ; part < len(counts) && counts[part] < attendBlock; part++ {
	}
	if part > 0 {
		soften(isaAVX512, scores[:part*attendBlock], counts[:part], top[:part], total[:part], factors[:part])
		for i, n := range counts[:part] {
			pairUp(scores[i*attendBlock:][:int(up(n, keyPanel))*keyPanel])
		}
	}
	if rows := len(counts) - part; rows > 0 {
		softenFullAVX512(&scores[part*attendBlock], &top[part], &total[part], &factors[part], rows)
	}
}

// weighDots is weigh of bfloat16 with exponentials of softenDots.
func weighDots(sums []float32, p []uint16, values, factors []float32, counts []int, stride, ahead int, fresh bool) {
	last := len(counts) - 1
	var f *float32
	if !fresh {
		f = &factors[last]
	}
	weighDotsAVX512(&sums[last*stride], (*float32)(unsafe.Pointer(&p[last*2*attendBlock])), sd(values), f, &counts[last], len(counts), stride, ahead)
}

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
