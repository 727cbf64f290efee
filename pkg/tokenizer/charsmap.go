package tokenizer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// charsmap is a precompiled_charsmap of SentencePiece: what replaces what, as a
// Darts-clone double array (its size in bytes, little-endian units of 32 bits) and,
// after it, the replacements, each ended by NUL. Places outside the array lead
// nowhere.
type charsmap struct {
	units []uint32
	texts string
}

// newCharsmap reads a precompiled_charsmap.
func newCharsmap(raw []byte) (*charsmap, error) {
	if len(raw) < 4 {
		return nil, errors.New("precompiled_charsmap: it is cut off")
	}
	size := binary.LittleEndian.Uint32(raw)
	raw = raw[4:]
	if size == 0 || size%4 != 0 || uint64(size) > uint64(len(raw)) {
		return nil, fmt.Errorf("precompiled_charsmap: the array has %d bytes, %d are there", size, len(raw))
	}
	m := &charsmap{units: make([]uint32, size/4), texts: string(raw[size:])}
	for i := range m.units {
		m.units[i] = binary.LittleEndian.Uint32(raw[4*i:])
	}
	if !strings.HasSuffix(m.texts, "\x00") {
		return nil, errors.New("precompiled_charsmap: the replacements do not end with NUL")
	}
	return m, nil
}

// replacements yields what characters are replaced by.
func (m *charsmap) replacements() iter.Seq[string] { return strings.SplitSeq(m.texts, "\x00") }

// match looks up the prefixes of text and returns the length of one that is replaced
// and by what: the longest, or else the first, which is the shortest; 0 for none.
func (m *charsmap) match(text string, longest bool) (length int, by string) {
	at := charsmapOffset(m.units[0])
	for i := range len(text) {
		c := uint32(text[i])
		at ^= c
		if at >= uint32(len(m.units)) || m.units[at]&(1<<31|0xff) != c {
			break
		}
		unit := m.units[at]
		at ^= charsmapOffset(unit)
		if unit>>8&1 == 0 || at >= uint32(len(m.units)) {
			continue
		}
		if from := m.units[at] &^ (1 << 31); from < uint32(len(m.texts)) {
			length, by = i+1, m.texts[from:]
			if !longest {
				break
			}
		}
	}
	by, _, _ = strings.Cut(by, "\x00")
	return length, by
}

// begins tells whether a rule begins with c.
func (m *charsmap) begins(c byte) bool {
	at := charsmapOffset(m.units[0]) ^ uint32(c)
	return at < uint32(len(m.units)) && m.units[at]&(1<<31|0xff) == uint32(c)
}

// charsmapOffset is what a unit's place is combined with to get to its children.
func charsmapOffset(unit uint32) uint32 { return unit >> 10 << (unit >> 6 & 8) }

// replaceClusters applies the map as Hugging Face's Precompiled does: a grapheme cluster
// of less than 6 bytes is replaced as a whole by what its shortest prefix with a
// rule stands for, and characters of others by themselves. text is valid UTF-8.
func (m *charsmap) replaceClusters(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for clusters := graphemes.FromString(text); clusters.Next(); {
		cluster := clusters.Value()
		if len(cluster) < 6 {
			if n, by := m.match(cluster, false); n > 0 {
				b.WriteString(by)
				continue
			}
		}
		for cluster != "" {
			_, n := utf8.DecodeRuneInString(cluster)
			char := cluster[:n]
			if n, by := m.match(char, false); n > 0 {
				char = by
			}
			b.WriteString(char)
			cluster = cluster[n:]
		}
	}
	return b.String()
}
