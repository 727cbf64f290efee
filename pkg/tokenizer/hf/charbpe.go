package hf

import (
	"fmt"
	"unicode/utf8"

	"glossa/pkg/tokenizer/internal/bpe"
	"glossa/pkg/tokenizer/internal/encode"
	"glossa/pkg/tokenizer/internal/subword"
)

// charBPE is a BPE of characters. A character that is not in the vocabulary becomes the
// tokens of its bytes, or unknown. A byte that is not part of a valid rune is a character.
type charBPE struct {
	bpe.Merger
	low     [utf8.RuneSelf]int32 // ids of ASCII characters, -1 for none
	chars   map[rune]int32       // ids of the others
	bytes   *[256]int            // ids of byte fallback, -1 for none; nil without it
	unk     int32                // -1: unknown characters are left out
	fuseUnk bool                 // a run of them is one token
	whole   map[string]int       // with ignore_merges: all of the vocabulary
}

// newCharBPE builds the model. ordinary is the vocabulary without special tokens, pieces
// the whole vocabulary by id.
func newCharBPE(f *fileModel, ordinary, special map[string]int, pieces []string) (*charBPE, error) {
	m := &charBPE{chars: map[rune]int32{}, unk: -1, fuseUnk: f.FuseUnk}
	if f.UnkToken != nil {
		id, ok := f.vocab[*f.UnkToken]
		if !ok {
			return nil, fmt.Errorf("model: unk_token %.40q is not in the vocabulary", *f.UnkToken)
		}
		m.unk = int32(id)
	}
	for c := range m.low {
		m.low[c] = -1
	}
	for piece, id := range ordinary {
		r, n := utf8.DecodeRuneInString(piece)
		switch {
		case n != len(piece) || r == utf8.RuneError && n < 2:
		case r < utf8.RuneSelf:
			m.low[r] = int32(id)
		default:
			m.chars[r] = int32(id)
		}
	}
	if f.ByteFallback {
		m.bytes = subword.ByteIDs(pieces)
	}
	if f.IgnoreMerges {
		m.whole = ordinary
	}
	var err error
	m.Merger, err = bpe.NewMerger(f.vocab, f.merges(), special)
	return m, err
}

// Encode implements pieceModel.
func (m *charBPE) Encode(o *encode.Output, piece string) {
	if id, ok := m.whole[piece]; ok {
		o.IDs = append(o.IDs, id)
		return
	}
	var few [bpe.ShortPiece]int32
	tokens := few[:0]
	if len(piece) > bpe.ShortPiece {
		tokens = make([]int32, 0, utf8.RuneCountInString(piece))
	}
	tokens = m.tokens(tokens, piece)
	if len(tokens) > bpe.ShortPiece {
		m.MergeTo(o, len(tokens), func(dst []int32, from, to int) []int32 { return append(dst, tokens[from:to]...) })
		return
	}
	for _, id := range m.Merge(tokens) {
		o.IDs = append(o.IDs, int(id))
	}
}

// tokens appends the symbols of piece before merging. As in the reference, an unknown token
// is written only before the next character that is in the vocabulary, before the next
// unknown one, or at the end.
func (m *charBPE) tokens(dst []int32, piece string) []int32 {
	unknown := false // an unknown token is pending
	for i, r := range piece {
		n := utf8.RuneLen(r)
		id := int32(-1)
		switch {
		case r < utf8.RuneSelf:
			id = m.low[r]
		case r == utf8.RuneError && !hasPrefixRune(piece[i:]):
			n = 1
		default:
			if found, ok := m.chars[r]; ok {
				id = found
			}
		}
		if id >= 0 {
			if unknown {
				dst, unknown = append(dst, m.unk), false
			}
			dst = append(dst, id)
			continue
		}
		if with, ok := m.fallBack(dst, piece[i:i+n]); ok {
			dst = with
			continue
		}
		if unknown && !m.fuseUnk {
			dst = append(dst, m.unk)
		}
		unknown = m.unk >= 0
	}
	if unknown {
		dst = append(dst, m.unk)
	}
	return dst
}

// hasPrefixRune reports whether text begins with a valid rune, such as U+FFFD itself.
func hasPrefixRune(text string) bool {
	_, n := utf8.DecodeRuneInString(text)
	return n > 1
}

// fallBack appends the tokens of the bytes of a character if all of them exist.
func (m *charBPE) fallBack(dst []int32, char string) ([]int32, bool) {
	if m.bytes == nil {
		return dst, false
	}
	for i := range len(char) {
		if m.bytes[char[i]] < 0 {
			return dst, false
		}
	}
	for i := range len(char) {
		dst = append(dst, int32(m.bytes[char[i]]))
	}
	return dst, true
}
