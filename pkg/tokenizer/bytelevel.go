package tokenizer

import (
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"
)

// byteAlphabet is GPT-2's spelling of bytes: those that Latin-1 prints stand for
// themselves, the others in their order for U+0100 and after.
var byteAlphabet = func() (alphabet [256]rune) {
	next := rune(0x100)
	for b := range rune(256) {
		if '!' <= b && b <= '~' || '¡' <= b && b <= '¬' || '®' <= b && b <= 'ÿ' {
			alphabet[b] = b
			continue
		}
		alphabet[b] = next
		next++
	}
	return alphabet
}()

// byteOf is the inverse of byteAlphabet for runes below 0x144, -1 for none.
var byteOf = func() (inverse [0x144]int16) {
	for r := range inverse {
		inverse[r] = -1
	}
	for b, r := range byteAlphabet {
		inverse[r] = int16(b)
	}
	return inverse
}()

// despell returns the bytes that a spelling in the alphabet stands for.
func despell(piece string) (string, bool) {
	var b strings.Builder
	b.Grow(len(piece))
	for _, r := range piece {
		if int(r) >= len(byteOf) || byteOf[r] < 0 {
			return "", false
		}
		b.WriteByte(byte(byteOf[r]))
	}
	return b.String(), true
}

// byteBPE merges the bytes of one piece of text: of all adjacent pairs that can be
// merged the one of the lowest rank first, of equal ones the leftmost.
type byteBPE struct {
	bytes [256]int32 // id of each byte
	pairs pairTable
	// whole has the pieces that are one token: those that their merges lead to, or
	// with ignore_merges all of the vocabulary.
	whole map[string]int32
	// ordered tells that every merge comes after all that make its parts, so that
	// ranks are done in order.
	ordered bool
}

// newByteBPE builds the model of a vocabulary in the alphabet's spelling and of its
// merges by rank. The ids are checked: distinct, and at least 0.
func newByteBPE(vocab map[string]int, merges [][2]string, ignoreMerges bool) (*byteBPE, error) {
	m := &byteBPE{pairs: newPairTable(len(merges)), whole: make(map[string]int32, len(vocab))}
	if err := m.addBytes(vocab); err != nil {
		return nil, err
	}
	if err := m.addMerges(vocab, merges); err != nil {
		return nil, err
	}
	for piece, id := range vocab {
		text, ok := despell(piece)
		if !ok || text == "" {
			continue
		}
		if ids := m.merge(nil, text); ignoreMerges || len(ids) == 1 && ids[0] == id {
			m.whole[text] = int32(id)
		}
	}
	return m, nil
}

func (m *byteBPE) addBytes(vocab map[string]int) error {
	for b, r := range byteAlphabet {
		id, ok := vocab[string(r)]
		if !ok {
			return fmt.Errorf("vocab: byte %#02x, spelled %q, is missing", b, r)
		}
		m.bytes[b] = int32(id)
	}
	return nil
}

func (m *byteBPE) addMerges(vocab map[string]int, merges [][2]string) error {
	m.ordered = true
	used := make(map[int]bool, len(vocab)) // as a part
	for rank, parts := range merges {
		var ids [3]int
		for i, piece := range []string{parts[0], parts[1], parts[0] + parts[1]} {
			id, ok := vocab[piece]
			if !ok || piece == "" {
				return fmt.Errorf("merge %d: %.40q is not in the vocabulary", rank, piece)
			}
			ids[i] = id
		}
		if !m.pairs.put(pairKey(int32(ids[0]), int32(ids[1])), merged{int32(rank), int32(ids[2])}) {
			return fmt.Errorf("merge %d, %.40q with %.40q, repeats an earlier one", rank, parts[0], parts[1])
		}
		used[ids[0]], used[ids[1]] = true, true
		m.ordered = m.ordered && !used[ids[2]]
	}
	return nil
}

// encode appends the ids of a piece of text, which is not empty.
func (m *byteBPE) encode(ids []int, piece string) []int {
	if id, ok := m.whole[piece]; ok {
		return append(ids, int(id))
	}
	return m.merge(ids, piece)
}

// merged is what a pair becomes.
type merged struct {
	rank int32 // never if it cannot be merged
	id   int32
}

const never = 1<<31 - 1

// pairTable maps pairs of ids: open addressing, at most two thirds full. The seed is
// random, so that no file can choose pairs that collide.
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

// slot is that of key or the free one for it. Both halves of a product of 128 bits
// make the hash: one alone keeps the order of ids and clusters.
func (t *pairTable) slot(key uint64) *pairSlot {
	mask := uint64(len(t.slots) - 1)
	hi, lo := bits.Mul64(key^t.seed, 0x9e3779b97f4a7c15)
	for i := (hi ^ lo) * 0xff51afd7ed558ccd >> 32; ; i++ {
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

func (t *pairTable) get(left, right int32) merged {
	if s := t.slot(pairKey(left, right) + 1); s.key != 0 {
		return s.to
	}
	return merged{rank: never}
}

var errNoVocab = errors.New("vocab is empty")

// spellings returns the vocabulary by id, "" for ids that are not used.
func spellings(vocab map[string]int) ([]string, error) {
	if len(vocab) == 0 {
		return nil, errNoVocab
	}
	size := 0
	for piece, id := range vocab {
		if id < 0 || id >= maxVocab {
			return nil, fmt.Errorf("vocab: %.40q has id %d, not 0 to %d", piece, id, maxVocab-1)
		}
		size = max(size, id+1)
	}
	pieces, used := make([]string, size), make([]bool, size)
	for piece, id := range vocab {
		if used[id] {
			a, b := min(piece, pieces[id]), max(piece, pieces[id])
			return nil, fmt.Errorf("vocab: %.40q and %.40q have both id %d", a, b, id)
		}
		pieces[id], used[id] = piece, true
	}
	return pieces, nil
}
