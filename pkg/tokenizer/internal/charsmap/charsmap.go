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

// Map is a precompiled_charsmap of SentencePiece: a Darts-clone double array (its size in
// bytes, then little-endian units of 32 bits), followed by the replacements, each ended by
// NUL. Units outside the array do not exist.
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
		return nil, fmt.Errorf("precompiled_charsmap: the array has %d bytes, but only %d are there", size, len(raw))
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

// Replacements yields the replacements.
func (m *Map) Replacements() iter.Seq[string] { return strings.SplitSeq(m.texts, "\x00") }

// Match returns the length of a prefix of text that has a rule, and its replacement: of the
// longest prefix, or else of the shortest. The length is 0 if there is none.
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

// Begins reports whether a rule begins with c.
func (m *Map) Begins(c byte) bool {
	at := offset(m.units[0]) ^ uint32(c)
	return at < uint32(len(m.units)) && m.units[at]&(1<<31|0xff) == uint32(c)
}

// offset returns the offset from a unit to its children, to be combined by XOR.
func offset(unit uint32) uint32 { return unit >> 10 << (unit >> 6 & 8) }

// ReplaceClusters applies the map as Hugging Face's Precompiled does. It replaces a
// grapheme cluster of less than 6 bytes as a whole, by the rule of its shortest prefix, and
// the characters of other clusters one by one. text must be valid UTF-8.
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
