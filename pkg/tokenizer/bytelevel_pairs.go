package tokenizer

import (
	"iter"
	"math/bits"
	"math/rand/v2"
)

// merged is what a pair of adjacent tokens becomes.
type merged struct {
	rank int32 // never if it cannot be merged
	id   int32
}

const never = 1<<31 - 1

// pairTable maps pairs of ids: open addressing with linear probing, at most two
// thirds full. The seed is random, so that no file can choose pairs that collide.
type pairTable struct {
	slots []pairSlot // a power of two of them
	seed  uint64
}

type pairSlot struct {
	key uint64 // pairKey + 1; 0 is free
	to  merged
}

func newPairTable(n int) pairTable {
	log := bits.Len(uint(n + n/2 + 1))
	return pairTable{slots: make([]pairSlot, 1<<log), seed: rand.Uint64()}
}

// pairKey is the key of a pair in a [pairTable].
func pairKey(left, right int32) uint64 { return uint64(left)<<32 | uint64(right) }

// hashPair needs both halves of a product of 128 bits: one alone keeps the order of
// ids, and clusters.
func hashPair(key, seed uint64) uint64 {
	hi, lo := bits.Mul64(key^seed, 0x9e3779b97f4a7c15)
	return (hi ^ lo) * 0xff51afd7ed558ccd >> 32
}

// slot is that of key or the free one for it.
func (t *pairTable) slot(key uint64) *pairSlot {
	mask := uint64(len(t.slots) - 1)
	for i := hashPair(key, t.seed); ; i++ {
		if s := &t.slots[i&mask]; s.key == key || s.key == 0 {
			return s
		}
	}
}

// put reports whether the pair is new.
func (t *pairTable) put(pair uint64, to merged) bool {
	s := t.slot(pair + 1)
	if s.key != 0 {
		return false
	}
	*s = pairSlot{pair + 1, to}
	return true
}

// all yields each pair, by its key, with what it becomes, in no order.
func (t *pairTable) all() iter.Seq2[uint64, merged] {
	return func(yield func(uint64, merged) bool) {
		for _, s := range t.slots {
			if s.key != 0 && !yield(s.key-1, s.to) {
				return
			}
		}
	}
}

func (t *pairTable) get(left, right int32) merged {
	if s := t.slot(pairKey(left, right) + 1); s.key != 0 {
		return s.to
	}
	return merged{rank: never}
}
