// Package charsmap reads and applies SentencePiece's precompiled_charsmap.
package charsmap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// Map is a precompiled_charsmap of SentencePiece: what replaces what, as a
// Darts-clone double array (its size in bytes, little-endian units of 32 bits) and,
// after it, the replacements, each ended by NUL. Places outside the array lead
// nowhere.
type Map struct {
	units []uint32
	texts string
}

// New reads a precompiled_charsmap.
func New(raw []byte) (*Map, error) {
	if len(raw) < 4 {
		return nil, errors.New("precompiled_charsmap: it is cut off")
	}
	size := binary.LittleEndian.Uint32(raw)
	raw = raw[4:]
	if size == 0 || size%4 != 0 || uint64(size) > uint64(len(raw)) {
		return nil, fmt.Errorf("precompiled_charsmap: the array has %d bytes, %d are there", size, len(raw))
	}
	m := &Map{units: make([]uint32, size/4), texts: string(raw[size:])}
	for i := range m.units {
		m.units[i] = binary.LittleEndian.Uint32(raw[4*i:])
	}
	if !strings.HasSuffix(m.texts, "\x00") {
		return nil, errors.New("precompiled_charsmap: the replacements do not end with NUL")
	}
	return m, nil
}

// Replacements yields what characters are replaced by.
func (m *Map) Replacements() iter.Seq[string] { return strings.SplitSeq(m.texts, "\x00") }

// Match looks up the prefixes of text and returns the length of one that is replaced
// and by what: the longest, or else the first, which is the shortest; 0 for none.
func (m *Map) Match(text string, longest bool) (length int, by string) {
	at := offset(m.units[0])
	for i := range len(text) {
		c := uint32(text[i])
		at ^= c
		if at >= uint32(len(m.units)) || m.units[at]&(1<<31|0xff) != c {
			break
		}
		unit := m.units[at]
		at ^= offset(unit)
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

// Begins tells whether a rule begins with c.
func (m *Map) Begins(c byte) bool {
	at := offset(m.units[0]) ^ uint32(c)
	return at < uint32(len(m.units)) && m.units[at]&(1<<31|0xff) == uint32(c)
}

// offset is what a unit's place is combined with to get to its children.
func offset(unit uint32) uint32 { return unit >> 10 << (unit >> 6 & 8) }

// ReplaceClusters applies the map as Hugging Face's Precompiled does: a grapheme cluster
// of less than 6 bytes is replaced as a whole by what its shortest prefix with a
// rule stands for, and characters of others by themselves. text is valid UTF-8.
func (m *Map) ReplaceClusters(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for clusters := graphemes.FromString(text); clusters.Next(); {
		cluster := clusters.Value()
		if len(cluster) < 6 {
			if n, by := m.Match(cluster, false); n > 0 {
				b.WriteString(by)
				continue
			}
		}
		for cluster != "" {
			_, n := utf8.DecodeRuneInString(cluster)
			char := cluster[:n]
			if n, by := m.Match(char, false); n > 0 {
				char = by
			}
			b.WriteString(char)
			cluster = cluster[n:]
		}
	}
	return b.String()
}
