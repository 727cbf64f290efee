package bpe

import (
	"math/bits"
	"math/rand/v2"
)

// maxKey is the length in bytes of the longest piece that a pieceKey can hold.
const maxKey = 16

// pieceKey is a piece of 1 to maxKey bytes by value.
type pieceKey struct {
	head, tail uint64 // the first and last 8, 4 or 1 bytes, which may overlap
	length     uint8  // in bytes, 0 for none
}

func makeKey(piece string) pieceKey {
	n := len(piece)
	k := pieceKey{length: uint8(n)}
	switch {
	case n >= 8:
		k.head, k.tail = load64(piece), load64(piece[n-8:])
	case n >= 4:
		k.head, k.tail = load32(piece), load32(piece[n-4:])
	default:
		k.head, k.tail = uint64(piece[0])|uint64(piece[n/2])<<8, uint64(piece[n-1])
	}
	return k
}

func load64(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func load32(s string) uint64 {
	_ = s[3]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}

// hash returns 64 bits, the high ones being the best. Both factors are seeded, so that no
// file can make either zero.
func (k pieceKey) hash(seed [2]uint64) uint64 {
	hi, lo := bits.Mul64(k.head^seed[0], k.tail^uint64(k.length)<<56^seed[1])
	return (hi ^ lo) * 0xff51afd7ed558ccd
}

// pieceTable maps pieces to ids: short ones by open addressing, at most half full,
// the others by a map.
type pieceTable struct {
	slots []pieceSlot // a power of two of them
	seed  [2]uint64
	shift uint // 64 - log2 of their number
	long  map[string]int32
}

type pieceSlot struct {
	key pieceKey // of length 0 if free
	id  int32
}

func newPieceTable(n int) pieceTable {
	log := bits.Len(uint(2*n + 1))
	return pieceTable{
		slots: make([]pieceSlot, 1<<log),
		seed:  [2]uint64{rand.Uint64(), rand.Uint64()},
		shift: uint(64 - log),
		long:  map[string]int32{},
	}
}

func (t *pieceTable) slot(k pieceKey) *pieceSlot {
	mask := uint64(len(t.slots) - 1)
	for i := k.hash(t.seed) >> t.shift; ; i++ {
		if s := &t.slots[i&mask]; s.key == k || s.key.length == 0 {
			return s
		}
	}
}

// put sets the id of a piece, which must not be empty. The table holds no more pieces than
// it was made for.
func (t *pieceTable) put(piece string, id int32) {
	if len(piece) > maxKey {
		t.long[piece] = id
		return
	}
	k := makeKey(piece)
	*t.slot(k) = pieceSlot{k, id}
}

func (t *pieceTable) get(piece string) (int32, bool) {
	if len(piece) > maxKey {
		id, ok := t.long[piece]
		return id, ok
	}
	s := t.slot(makeKey(piece))
	return s.id, s.key.length != 0
}
