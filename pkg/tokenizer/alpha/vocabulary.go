package alpha

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/internal/encode"
)

// vocabulary holds pieces by id and special tokens. All tokenizers of this package share
// it.
type vocabulary struct {
	pieces  []string
	special map[string]int
	// reserved lists the special tokens by their first byte, the longest first.
	reserved  [256][]string
	isSpecial []bool // by id
}

// maxSpecials bounds the number of special tokens, to which the time of matching is
// proportional.
const maxSpecials = 256

// newVocabulary trims the special tokens and removes duplicates. Like upstream, it ignores
// those that are not among the first base pieces.
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

// text returns the piece of an ordinary token, "" for others.
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

// cut returns the place and the id of the next special token of text that is read, from a
// position on: at each place the longest. The id is -1 if there is none.
func (v *vocabulary) cut(text string, from int, reads encode.Reads) (start, end, id int) {
	for i := from; i < len(text) && len(v.special) > 0; i++ {
		for _, s := range v.reserved[text[i]] {
			if strings.HasPrefix(text[i:], s) && reads.At(i, i+len(s)) {
				return i, i + len(s), v.special[s]
			}
		}
	}
	return len(text), len(text), -1
}

// cutSpecial yields the text between the special tokens that are read with -1, and the ids of
// these tokens, until yield returns false.
func (v *vocabulary) cutSpecial(text string, reads encode.Reads, yield func(part string, id int) bool) {
	if !reads.Any() {
		yield(text, -1)
		return
	}
	for from := 0; ; {
		start, end, id := v.cut(text, from, reads)
		if !yield(text[from:start], -1) || id < 0 || !yield("", id) {
			return
		}
		from = end
	}
}

// count returns the number of characters of text that c has. A special token counts as one.
func (v *vocabulary) count(c *chars, text string, special bool) (n int) {
	v.cutSpecial(text, encode.ReadsIf(special), func(part string, id int) bool {
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

// isSpace reports whether JavaScript's trim and \s consider r white space (ECMA-262,
// WhiteSpace and LineTerminator). Unlike Unicode's White_Space, it includes U+FEFF and
// excludes U+0085.
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
