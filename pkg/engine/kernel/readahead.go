package kernel

import (
	"math/bits"
	"sync/atomic"
	"time"

	"glossa/pkg/engine/faster"
)

// A readahead says what a routine brings to the second-level cache: for each piece of its
// work, step bytes, from ahead bytes after its weights on. Routines of NEON bring nothing.
type readahead struct{ ahead, step int }

// spread returns the readahead of call i of several, which together bring as many bytes as they
// multiply, from ahead bytes after these on; a single call would bring each bytes for a piece.
// So reading takes no time of its own: all calls for the same weights but the first find them
// in the cache, and would leave the memory idle (768 inputs, weights in memory that a Sapphire
// Rapids core reads at 16 GB/s: Q8_0 on AVX-512 45 % of the peak instead of 35 with 16 rows, 65
// instead of 43 with 32; float32 90 instead of 60 with 128).
func spread(i, calls, bytes, ahead, each int) readahead {
	return readahead{ahead: ahead + bytes/calls*i, step: (each + calls - 1) / calls}
}

// fewRows is the most rows of products that wait for their weights.
const fewRows = 4

// cached is the maximum size of a matrix, in bytes, that is assumed to be in the second-level cache: those
// of models that fit it are smaller, and those of larger models are not.
const cached = 288 << 10

// A nearness chooses, by kind, rows-1 and size, whether few rows fetch weights at a short distance
// only, which is the first way, or at a long one too. Processors differ in which of the two is
// faster, and by as much as 1.9 times: with Q4_0, Q4_K and Q6_K on AVX-512, a core of Zen 4 reads
// 31, 31 and 30 GB/s from near alone and 20, 16 and 17 from afar too; with Q4_0 and Q6_K on AVX2, one
// of Zen 5 reads 31 and 15, and 46 and 32.
type nearness [MXFP4 + 1][fewRows][volumes]struct {
	faster.Duel
	calls atomic.Uint32
}

const volumes = 4 // to a factor of 4 each: the last-level cache holds the smaller ones

// tileFew computes a span of w for so few rows that it waits for the weights. Its routine fetches them
// from near if ahead is 0.
func (k *Kernels) tileFew(w *Packed, t *span) {
	size := len(w.data)
	if size < cached {
		tilePacked(k, w.Kind, t)
		return
	}
	way := &k.near[w.Kind][t.rows-1][min((bits.Len(uint(size/cached))-1)/2, volumes-1)]
	timed, near := faster.Turn(way.calls.Add(1))
	if !timed {
		near = way.Best()
	}
	if !near {
		t.ahead = 1
	}
	if !timed {
		tilePacked(k, w.Kind, t)
		return
	}
	begin := time.Now()
	tilePacked(k, w.Kind, t)
	way.Note(near, len(t.w), time.Since(begin))
}

// follows reports whether panels that the same worker multiplies next follow panel end in
// memory, if those before until are. In the slab of a model's weights, the next matrix follows the
// last panel.
func (p *Packed) follows(end, from, until int) bool {
	return end < until || from == 0 && until == p.Panels()
}

// pieces returns the number of pieces of a superblock after which a readahead advances.
func (k Kind) pieces() int {
	switch k {
	case Q8W:
		return 4
	case BF16, F16:
		return 8
	}
	return formats[k].cols / superCols
}

// Distances in bytes at which attention brings keys and values. Processors differ in which is faster: a
// core of Zen 4 reads 2,000 tokens of a head in bfloat16 at 28 GB/s from near and 25 from afar, as many
// as without; one of Zen 5 read 22 without and 33 from afar.
const (
	nearKeys = 128  // a help to the processor's own fetching
	farKeys  = 8192 // two panels of keys or more
)

// timedBytes is the least that attention reads in a call that is timed.
const timedBytes = 32 << 10

// tileSizes is the number of powers of two up to a tile's rows. More rows take longer than their keys.
const tileSizes = 4

// bringing has compute read a number of tokens for some rows, and sets how far ahead it brings them.
func (k *Kernels) bringing(a *Attention, kv KV, rows, tokens int, compute func()) {
	size := 4 * kv.Format.words(tokens*(kv.Dim+valueStride(kv.Dim)))
	timed, near := false, false
	if bringsKeys && size >= timedBytes {
		a.calls++
		timed, near = faster.Turn(a.calls)
	}
	if !timed {
		compute()
		return
	}
	duel, begin := &k.keys[kv.Format][bits.Len(uint(rows))-1], time.Now()
	a.setAhead(near)
	compute()
	duel.Note(near, size, time.Since(begin))
	a.setAhead(duel.Best())
}

// setAhead sets the distance at which keys and values are brought.
func (a *Attention) setAhead(near bool) {
	if a.ahead = farKeys; near {
		a.ahead = nearKeys
	}
}
