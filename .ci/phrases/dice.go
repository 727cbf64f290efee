package main

import (
	"math/bits"
	"math/rand/v2"
)

// dice draws from a PCG stream; only 64-bit integers are involved, so draws
// are the same on every platform.
type dice struct{ src *rand.PCG }

func newDice(seed uint64) *dice { return &dice{rand.NewPCG(seed, hash("phrases"))} }

// n draws uniformly from [0, k).
func (d *dice) n(k int) int {
	hi, _ := bits.Mul64(d.src.Uint64(), uint64(k))
	return int(hi)
}

// chance is true in pct of 100 draws.
func (d *dice) chance(pct int) bool { return d.n(100) < pct }

// pick draws one element.
func pick[T any](d *dice, from ...T) T { return from[d.n(len(from))] }

// hash is FNV-1a, 64 bit, with its bits mixed (the finaliser of MurmurHash3), for
// the lowest bits of FNV depend on those of the text alone.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range []byte(s) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
