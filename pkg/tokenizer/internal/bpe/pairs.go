package bpe

import (
	"iter"
	"math/bits"
	"math/rand/v2"
)

// Merged is the result of merging a pair of adjacent tokens.
type Merged struct {
	Rank int32 // Never if the pair does not merge
	ID   int32
}

// Never is the rank of a pair that does not merge.
const Never = 1<<31 - 1

// PairTable maps pairs of ids: open addressing with linear probing, at most two thirds
// full. The seed is random, so that no file can provoke collisions.
type PairTable struct {
	slots []pairSlot // a power of two of them
	seed  uint64
}

type pairSlot struct {
	key uint64 // PairKey + 1; 0 is free
	to  Merged
}

// NewPairTable returns a table for at most n pairs.
func NewPairTable(n int) PairTable {
	log := bits.Len(uint(n + n/2 + 1))
	return PairTable{slots: make([]pairSlot, 1<<log), seed: rand.Uint64()}
}

// PairKey is the key of a pair in a [PairTable].
func PairKey(left, right int32) uint64 { return uint64(left)<<32 | uint64(right) }

// hashPair uses both halves of a 128-bit product: one half alone keeps the order of ids and
// makes clusters.
func hashPair(key, seed uint64) uint64 {
	hi, lo := bits.Mul64(key^seed, 0x9e3779b97f4a7c15)
	return (hi ^ lo) * 0xff51afd7ed558ccd >> 32
}

// slot returns the slot of key, or the free slot for it.
func (t *PairTable) slot(key uint64) *pairSlot {
	mask := uint64(len(t.slots) - 1)
	for i := hashPair(key, t.seed); ; i++ {
		if s := &t.slots[i&mask]; s.key == key || s.key == 0 {
			return s
		}
	}
}

// Put adds a pair unless it is there, and reports whether it is new.
func (t *PairTable) Put(pair uint64, to Merged) bool {
	s := t.slot(pair + 1)
	if s.key != 0 {
		return false
	}
	*s = pairSlot{pair + 1, to}
	return true
}

// All yields each key with its merge, in no particular order.
func (t *PairTable) All() iter.Seq2[uint64, Merged] {
	return func(yield func(uint64, Merged) bool) {
		for _, s := range t.slots {
			if s.key != 0 && !yield(s.key-1, s.to) {
				return
			}
		}
	}
}

// Get returns the merge of a pair, of rank [Never] if there is none.
func (t *PairTable) Get(left, right int32) Merged {
	if s := t.slot(PairKey(left, right) + 1); s.key != 0 {
		return s.to
	}
	return Merged{Rank: Never}
}
