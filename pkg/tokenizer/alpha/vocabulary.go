package alpha

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/internal/encode"
)

// vocabulary is what all tokenizers share: pieces by id and special tokens.
type vocabulary struct {
	pieces  []string
	special map[string]int
	// reserved lists the special tokens by their first byte, the longest first.
	reserved  [256][]string
	isSpecial []bool // by id
}

// maxSpecials bounds the number of special tokens: matching them takes time in it.
const maxSpecials = 256

// newVocabulary takes the special tokens trimmed, each once. One that is not among
// the first base pieces is never read, as upstream has it.
func newVocabulary(pieces, specials []string, base int) (*vocabulary, error) {
	if len(specials) > maxSpecials {
		return nil, fmt.Errorf("specialTokens: %d of them, at most %d", len(specials), maxSpecials)
	}
	v := &vocabulary{pieces: pieces, special: map[string]int{}, isSpecial: make([]bool, len(pieces))}
	for _, s := range specials {
		s = strings.TrimFunc(s, isSpace)
		if len(s) > encode.MaxSpecialLength {
			return nil, fmt.Errorf("specialTokens: %.40q is longer than %d bytes", s, encode.MaxSpecialLength)
		}
		id := slices.Index(pieces[:base], s)
		if _, dup := v.special[s]; dup || s == "" || id < 0 {
			continue
		}
		v.special[s] = id
		v.isSpecial[id] = true
		v.reserved[s[0]] = append(v.reserved[s[0]], s)
	}
	for _, list := range v.reserved {
		slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
	}
	return v, nil
}

// Size implements [tokenizer.Tokenizer].
func (v *vocabulary) Size() int { return len(v.pieces) }

// Piece implements [tokenizer.Tokenizer].
func (v *vocabulary) Piece(id int) string {
	if id < 0 || id >= len(v.pieces) {
		return ""
	}
	return v.pieces[id]
}

// SpecialTokens implements [tokenizer.Specials].
func (v *vocabulary) SpecialTokens() map[string]int {
	m := make(map[string]int, len(v.special))
	for s, id := range v.special {
		m[s] = id
	}
	return m
}

// Affixes implements [tokenizer.Affixes]: Alpha's tokenizers put nothing around a text.
func (v *vocabulary) Affixes() (before, after []int) { return nil, nil }

// NewDecoder implements [tokenizer.Tokenizer].
func (v *vocabulary) NewDecoder() tokenizer.Decoder { return pieceDecoder{v} }

// text is the piece of an ordinary token, "" for others.
func (v *vocabulary) text(id int) string {
	if id < 0 || id >= len(v.pieces) || v.isSpecial[id] {
		return ""
	}
	return v.pieces[id]
}

// pieceDecoder concatenates pieces.
type pieceDecoder struct{ v *vocabulary }

func (d pieceDecoder) Next(id int) string { return d.v.text(id) }

func (d pieceDecoder) Flush() string { return "" }

// cut returns text up to the next special token, that token's id, and the rest
// after it; id is -1 if there is none.
func (v *vocabulary) cut(text string) (before string, id int, rest string) {
	if len(v.special) == 0 {
		return text, -1, ""
	}
	for i := range len(text) {
		for _, s := range v.reserved[text[i]] {
			if strings.HasPrefix(text[i:], s) {
				return text[:i], v.special[s], text[i+len(s):]
			}
		}
	}
	return text, -1, ""
}

// cutSpecial yields what is between special tokens with -1, and the ids of those, until
// yield returns false. Without special there are none.
func (v *vocabulary) cutSpecial(text string, special bool, yield func(part string, id int) bool) {
	if !special {
		yield(text, -1)
		return
	}
	for {
		before, id, rest := v.cut(text)
		if !yield(before, -1) || id < 0 || !yield("", id) {
			return
		}
		text = rest
	}
}

// count is the number of characters of text that c knows, where a special token is one.
func (v *vocabulary) count(c *chars, text string, special bool) (n int) {
	v.cutSpecial(text, special, func(part string, id int) bool {
		if id >= 0 {
			n++
		}
		for _, r := range part {
			if c.id(r) >= 0 {
				n++
			}
		}
		return true
	})
	return n
}

// isSpace tells whether JavaScript's trim and \s take r for white space
// (ECMA-262, WhiteSpace and LineTerminator). It differs from Unicode's White_Space
// in U+FEFF, which is, and U+0085, which is not.
func isSpace(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', ' ', 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff:
		return true
	}
	return r >= 0x2000 && r <= 0x200a
}

// compareUTF16 orders strings by UTF-16 code units, as JavaScript's sort does.
func compareUTF16(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}
