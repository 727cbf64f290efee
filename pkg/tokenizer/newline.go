package tokenizer

import "strings"

// WithNewline is t for the dense models of fairseq, whose texts never had line feeds:
// a text is cut at runs of "\n", each part is encoded by itself, and id stands between
// two parts. It decodes to "\n", whatever it is to t. Affixes and specials are those
// of t.
//
// Source: fairseq's examples/moe_lm, which joins the lines of a document with </s>.
func WithNewline(t Tokenizer, id int) Tokenizer { return &newlineTokenizer{t, id} }

type newlineTokenizer struct {
	Tokenizer
	id int
}

// Encode implements [Tokenizer].
func (t *newlineTokenizer) Encode(text string) []int { return t.encode(text, t.Tokenizer.Encode) }

// EncodeSpecial implements [Tokenizer].
func (t *newlineTokenizer) EncodeSpecial(text string) []int {
	return t.encode(text, t.Tokenizer.EncodeSpecial)
}

func (t *newlineTokenizer) encode(text string, encode func(string) []int) []int {
	var ids []int
	for text != "" {
		line, rest, cut := strings.Cut(text, "\n")
		if line != "" {
			ids = append(ids, encode(line)...)
		}
		if cut {
			ids = append(ids, t.id)
		}
		text = strings.TrimLeft(rest, "\n")
	}
	return ids
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

// newlineDecoder decodes each line by itself.
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
