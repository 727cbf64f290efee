package tokenizer

import "strings"

// wordTokenizer has a token for each word and one for the end of a line. Words are
// what white space separates; unknown words are dropped.
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

func (t *wordTokenizer) Encode(text string) []int { return t.encode(nil, text) }

func (t *wordTokenizer) EncodeSpecial(text string) []int { return t.encodeSpecial(text, t.encode) }

func (t *wordTokenizer) encode(ids []int, text string) []int {
	newline, hasNewline := t.words["\n"]
	first := true
	for line := range strings.SplitSeq(text, "\n") {
		if !first && hasNewline {
			ids = append(ids, newline)
		}
		first = false
		for word := range strings.FieldsFuncSeq(line, isSpace) {
			if id, ok := t.words[word]; ok {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// NewDecoder returns a decoder that puts a space between two words unless a line
// ends between them, so that what it streams is what upstream's decode joins.
// (Upstream's own stream puts a space before every word.)
func (t *wordTokenizer) NewDecoder() Decoder { return &wordDecoder{v: t.vocabulary, joined: true} }

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
