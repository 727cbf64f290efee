package tokenizer

import (
	"strings"

	"glossa/pkg/tokenizer/internal/encode"
)

// WithNewline adapts t to the dense models of fairseq, which were trained on texts without
// line feeds. It cuts a text at runs of "\n", encodes each part by itself, and puts id
// between two parts. The token id decodes to "\n", whatever it means to t. Affixes and
// special tokens are those of t.
//
// Source: fairseq's examples/moe_lm, which joins the lines of a document with </s>.
func WithNewline(t Tokenizer, id int) Tokenizer { return &newlineTokenizer{t, id} }

type newlineTokenizer struct {
	Tokenizer
	id int
}

// Encode implements [Tokenizer].
func (t *newlineTokenizer) Encode(text string) []int { return encode.All(t, text, false) }

// EncodeSpecial implements [Tokenizer].
func (t *newlineTokenizer) EncodeSpecial(text string) []int { return encode.All(t, text, true) }

// EncodeTo implements [encode.Encoder].
func (t *newlineTokenizer) EncodeTo(o *encode.Output, text string, reads encode.Reads) {
	whole := len(text)
	for text != "" {
		line, rest, cut := strings.Cut(text, "\n")
		if line != "" {
			t.line(o, line, reads.After(whole-len(text)))
		}
		if cut {
			o.IDs = append(o.IDs, t.id)
		}
		if !o.More(1) {
			return
		}
		text = strings.TrimLeft(rest, "\n")
	}
}

func (t *newlineTokenizer) line(o *encode.Output, text string, reads encode.Reads) {
	switch e, ok := t.Tokenizer.(encode.Encoder); {
	case ok:
		e.EncodeTo(o, text, reads)
	case reads.At(0, len(text)):
		o.IDs = append(o.IDs, t.Tokenizer.EncodeSpecial(text)...)
	default:
		o.IDs = append(o.IDs, t.Tokenizer.Encode(text)...)
	}
}

// Weigh implements [encode.Encoder]. Line feeds have no weight.
func (t *newlineTokenizer) Weigh(text string, special bool) (n, per int) {
	e, ok := t.Tokenizer.(encode.Encoder)
	if !ok {
		return 0, 0
	}
	_, per = e.Weigh("", special)
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" && per > 0 {
			weight, _ := e.Weigh(line, special)
			n += weight
		}
	}
	return n, per
}

// SpecialTokens implements [Specials].
func (t *newlineTokenizer) SpecialTokens() map[string]int {
	if s, ok := t.Tokenizer.(Specials); ok {
		return s.SpecialTokens()
	}
	return nil
}

// Affixes implements [Affixes].
func (t *newlineTokenizer) Affixes() (before, after []int) {
	if a, ok := t.Tokenizer.(Affixes); ok {
		return a.Affixes()
	}
	return nil, nil
}

// NewDecoder implements [Tokenizer].
func (t *newlineTokenizer) NewDecoder() Decoder {
	return &newlineDecoder{t: t, line: t.Tokenizer.NewDecoder()}
}

// newlineDecoder decodes each line separately.
type newlineDecoder struct {
	t    *newlineTokenizer
	line Decoder
}

func (d *newlineDecoder) Next(id int) string {
	if id != d.t.id {
		return d.line.Next(id)
	}
	text := d.line.Flush() + "\n"
	d.line = d.t.Tokenizer.NewDecoder()
	return text
}

func (d *newlineDecoder) Flush() string { return d.line.Flush() }
