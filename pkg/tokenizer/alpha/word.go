package alpha

import (
	"strings"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/internal/encode"
)

// wordTokenizer has a token for each word and one for the end of a line. White space
// separates words; unknown words are dropped.
type wordTokenizer struct {
	*vocabulary
	words map[string]int
}

func newWord(v *vocabulary) *wordTokenizer {
	t := &wordTokenizer{v, make(map[string]int, len(v.pieces))}
	for id, piece := range v.pieces {
		if !v.isSpecial[id] {
			t.words[piece] = id
		}
	}
	return t
}

// Encode implements [tokenizer.Tokenizer].
func (t *wordTokenizer) Encode(text string) []int { return encode.All(t, text, false) }

// EncodeSpecial implements [tokenizer.Tokenizer].
func (t *wordTokenizer) EncodeSpecial(text string) []int { return encode.All(t, text, true) }

// EncodeTo implements [encode.Encoder].
func (t *wordTokenizer) EncodeTo(o *encode.Output, text string, reads encode.Reads) {
	newline, hasNewline := t.words["\n"]
	t.cutSpecial(text, reads, func(part string, id int) bool {
		if id >= 0 {
			o.IDs = append(o.IDs, id)
			return o.More(1)
		}
		first := true
		for line := range strings.SplitSeq(part, "\n") {
			if !first && hasNewline {
				o.IDs = append(o.IDs, newline)
			}
			first = false
			for word := range strings.FieldsFuncSeq(line, isSpace) {
				if id, ok := t.words[word]; ok {
					o.IDs = append(o.IDs, id)
				}
				if !o.More(len(word)) {
					return false
				}
			}
			if !o.More(1) {
				return false
			}
		}
		return true
	})
}

// Weigh implements [encode.Encoder]. Nothing is known, because unknown words are dropped
// and others have any length.
func (t *wordTokenizer) Weigh(string, bool) (n, per int) { return 0, 0 }

// NewDecoder implements [tokenizer.Tokenizer]. It puts a space between two words unless a
// line ends between them, so that streamed text equals the result of upstream's decode.
// (Upstream's own stream puts a space before every word.)
func (t *wordTokenizer) NewDecoder() tokenizer.Decoder {
	return &wordDecoder{v: t.vocabulary, joined: true}
}

type wordDecoder struct {
	v      *vocabulary
	joined bool // the next word follows without a space
}

func (d *wordDecoder) Next(id int) string {
	word := d.v.text(id)
	if word == "" {
		return ""
	}
	space := !d.joined && word[0] != '\n'
	d.joined = word[len(word)-1] == '\n'
	if space {
		return " " + word
	}
	return word
}

func (d *wordDecoder) Flush() string { return "" }
