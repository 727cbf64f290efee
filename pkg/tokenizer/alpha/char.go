package alpha

import (
	"glossa/pkg/tokenizer/internal/encode"
)

// chars maps single runes to ids. Special tokens are left out, so that they cannot
// be typed.
type chars struct {
	ascii [128]int32 // -1 if unknown
	other map[rune]int32
}

// newChars indexes the pieces that are one rune.
func newChars(v *vocabulary, base int) *chars {
	c := &chars{other: map[rune]int32{}}
	for i := range c.ascii {
		c.ascii[i] = -1
	}
	for id, piece := range v.pieces[:base] {
		runes := []rune(piece)
		switch {
		case len(runes) != 1 || v.isSpecial[id]:
		case runes[0] < 128:
			c.ascii[runes[0]] = int32(id)
		default:
			c.other[runes[0]] = int32(id)
		}
	}
	return c
}

// id returns the id of r, -1 if unknown.
func (c *chars) id(r rune) int32 {
	if r < 128 {
		return c.ascii[r]
	}
	if id, ok := c.other[r]; ok {
		return id
	}
	return -1
}

// charTokenizer has a token for each character. Unknown characters are dropped.
type charTokenizer struct {
	*vocabulary
	chars *chars
}

func newChar(v *vocabulary) *charTokenizer {
	return &charTokenizer{v, newChars(v, len(v.pieces))}
}

// Encode implements [tokenizer.Tokenizer].
func (t *charTokenizer) Encode(text string) []int { return encode.All(t, text, false) }

// EncodeSpecial implements [tokenizer.Tokenizer].
func (t *charTokenizer) EncodeSpecial(text string) []int { return encode.All(t, text, true) }

// EncodeTo implements [encode.Encoder].
func (t *charTokenizer) EncodeTo(o *encode.Output, text string, reads encode.Reads) {
	t.cutSpecial(text, reads, func(part string, id int) bool {
		if id >= 0 {
			o.IDs = append(o.IDs, id)
		}
		for _, r := range part {
			if id := t.chars.id(r); id >= 0 {
				o.IDs = append(o.IDs, int(id))
			}
			if !o.More(1) {
				return false
			}
		}
		return o.More(1)
	})
}

// Weigh implements [encode.Encoder].
func (t *charTokenizer) Weigh(text string, special bool) (n, per int) {
	return t.count(t.chars, text, special), 1
}

// Place implements [encode.Tailer]: every character is a token.
func (t *charTokenizer) Place(text string, at int, special bool) (from int, ok bool) {
	return encode.RuneAt(text, at), !special || len(t.special) == 0
}
