package bpe

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"glossa/pkg/tokenizer/internal/encode"
)

// byteAlphabet is GPT-2's spelling of bytes: printable bytes of Latin-1 stand for
// themselves, the others, in order, are spelled U+0100 and after.
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

// ByteRune returns the spelling of b in GPT-2's alphabet.
func ByteRune(b byte) rune { return byteAlphabet[b] }

// Spell returns text in GPT-2's alphabet.
func Spell(text string) string {
	var b strings.Builder
	b.Grow(len(text) + len(text)/4)
	for i := range len(text) {
		b.WriteRune(byteAlphabet[text[i]])
	}
	return b.String()
}

// Despell returns the bytes that are spelled in GPT-2's alphabet.
func Despell(piece string) (string, bool) {
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

// ByteLevel is the model of a byte-level vocabulary: a piece of text is a token, or its
// bytes are merged.
type ByteLevel struct {
	Merger
	bytes [256]int32       // id of each byte, -1 for none
	gaps  bool             // some bytes have no id
	first *[1 << 16]Merged // the merge of two bytes, by the first << 8 | the second
	// whole has the pieces that are one token: those that their merges make, or with
	// ignore_merges the whole vocabulary.
	whole pieceTable
}

// NewByteLevel builds the model of a vocabulary spelled in the alphabet and of its merges
// by rank, both without special tokens. The ids must be distinct and not negative. A byte
// that vocab lacks has the id of its spelling in added, if any. That must be ASCII or a byte
// that UTF-8 never uses, because an added token decodes to its spelling. Bytes that UTF-8
// never uses may be missing from both.
func NewByteLevel(vocab map[string]int, merges [][2]string, ignoreMerges bool, special, added map[string]int) (*ByteLevel, error) {
	m := &ByteLevel{first: new([1 << 16]Merged), whole: newPieceTable(len(vocab))}
	err := m.setBytes(vocab, added)
	if err != nil {
		return nil, err
	}
	if m.Merger, err = NewMerger(vocab, merges, special); err != nil {
		return nil, err
	}
	for i := range m.first {
		m.first[i] = Merged{Rank: Never}
		if left, right := m.bytes[i>>8], m.bytes[i&0xff]; left >= 0 && right >= 0 {
			m.first[i] = m.Pairs.Get(left, right)
		}
	}
	for piece, id := range vocab {
		text, ok := Despell(piece)
		if !ok || text == "" {
			continue
		}
		o := encode.Output{Limit: math.MaxInt}
		if m.mergeBytes(&o, text); ignoreMerges || len(o.IDs) == 1 && o.IDs[0] == id {
			m.whole.put(text, int32(id))
		}
	}
	return m, nil
}

// setBytes sets the ids of the bytes.
func (m *ByteLevel) setBytes(vocab, added map[string]int) error {
	for b, r := range byteAlphabet {
		id, ok := vocab[string(r)]
		if !ok && (r < utf8.RuneSelf || !inUTF8(byte(b))) {
			id, ok = added[string(r)]
		}
		switch {
		case ok:
			m.bytes[b] = int32(id)
		case inUTF8(byte(b)):
			return fmt.Errorf("vocab: byte %#02x, spelled %q, is missing", b, r)
		default:
			m.bytes[b], m.gaps = -1, true
		}
	}
	return nil
}

// inUTF8 reports whether b occurs in valid UTF-8 (RFC 3629, sec. 3).
func inUTF8(b byte) bool { return b < 0xc0 || 0xc2 <= b && b <= 0xf4 }

// fillGaps replaces each byte of a piece that has no id by U+FFFD, whose bytes have ids.
func (m *ByteLevel) fillGaps(piece string) string {
	var b strings.Builder
	from := 0
	for i := range len(piece) {
		if m.bytes[piece[i]] < 0 {
			b.WriteString(piece[from:i])
			b.WriteRune(utf8.RuneError)
			from = i + 1
		}
	}
	if from == 0 {
		return piece
	}
	b.WriteString(piece[from:])
	return b.String()
}

// Encode appends the ids of a piece of text, which is not empty. A byte without an id is
// encoded as U+FFFD; it is not part of valid UTF-8.
func (m *ByteLevel) Encode(o *encode.Output, piece string) {
	if id, ok := m.whole.get(piece); ok {
		o.IDs = append(o.IDs, int(id))
		return
	}
	m.mergeBytes(o, piece)
}

func (m *ByteLevel) mergeBytes(o *encode.Output, piece string) {
	if m.gaps {
		piece = m.fillGaps(piece)
	}
	if len(piece) > ShortPiece {
		m.MergeTo(o, len(piece), func(dst []int32, from, to int) []int32 {
			for i := from; i < to; i++ {
				dst = append(dst, m.bytes[piece[i]])
			}
			return dst
		})
		return
	}
	for _, id := range m.mergeFew(new([ShortPiece]int32)[:len(piece)], piece) {
		o.IDs = append(o.IDs, int(id))
	}
}

// mergeFew writes the tokens of a short piece to dst, which has its length.
func (m *ByteLevel) mergeFew(dst []int32, piece string) []int32 {
	var next [ShortPiece]Merged
	for i := range len(piece) {
		dst[i] = m.bytes[piece[i]]
		if i > 0 {
			next[i-1] = m.first[int(piece[i-1])<<8|int(piece[i])]
		}
	}
	return m.mergeShort(dst, next[:])
}
