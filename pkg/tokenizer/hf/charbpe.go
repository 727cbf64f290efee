package hf

import (
	"fmt"
	"unicode/utf8"

	"glossa/pkg/tokenizer/internal/bpe"
	"glossa/pkg/tokenizer/internal/encode"
	"glossa/pkg/tokenizer/internal/subword"
)

// charBPE is a BPE of characters: those that are not in the vocabulary become their
// bytes' tokens, or unknown. A byte that belongs to no valid rune is a character.
type charBPE struct {
	bpe.Merger
	low     [utf8.RuneSelf]int32 // ids of ASCII characters, -1 for none
	chars   map[rune]int32       // ids of the others
	bytes   *[256]int            // ids of byte fallback, -1 for none; nil without it
	unk     int32                // -1: unknown characters are left out
	fuseUnk bool                 // a run of them is one token
	whole   map[string]int       // with ignore_merges: all of the vocabulary
}

// newCharBPE builds the model of a vocabulary without special tokens; pieces is all of
// it, by id.
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

// tokens appends what piece is before it is merged. As in the reference, an unknown
// token comes only before the next character that is in the vocabulary, the next
// unknown one, or at the end.
func (m *charBPE) tokens(dst []int32, piece string) []int32 {
	unknown := false // one is to be written
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

// hasPrefixRune tells whether text begins with U+FFFD itself, not with a broken rune.
func hasPrefixRune(text string) bool {
	_, n := utf8.DecodeRuneInString(text)
	return n > 1
}

// fallBack appends the tokens of the bytes of a character if there are all of them.
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
