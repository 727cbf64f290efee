package sentencepiece

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"glossa/pkg/tokenizer"
)

// m2m100Languages are the languages of M2M100 (Fan et al. 2020) in the order of
// their ids, which follow those of vocab.json.
const m2m100Languages = "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu " +
	"ha he hi hr ht hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or " +
	"pa pl ps pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu"

// m2m100MadeUp is the number of unused words after the languages, which pad the vocabulary.
const m2m100MadeUp = 8

// M2M100 is the tokenizer of the translation model of that name: the pieces of a
// SentencePiece model with the ids of a dictionary, and a token for each language. The
// affix after a text is </s>. The caller puts the language before it.
type M2M100 struct {
	remapped
	languages []string
	first     int // id of the first language
}

// ParseM2M100 builds the tokenizer of vocab.json and sentencepiece.bpe.model.
func ParseM2M100(vocabJSON, model []byte) (*M2M100, error) {
	sp, err := parse(model)
	if err != nil {
		return nil, fmt.Errorf("sentencepiece.bpe.model of M2M100: %w", err)
	}
	t := &M2M100{languages: strings.Fields(m2m100Languages)}
	t.sp = sp
	var vocab map[string]int
	if err = json.Unmarshal(vocabJSON, &vocab); err == nil {
		err = t.build(vocab)
	}
	if err != nil {
		return nil, fmt.Errorf("vocab.json of M2M100: %w", err)
	}
	return t, nil
}

func (t *M2M100) build(vocab map[string]int) error {
	special, err := t.read(vocab, "<s>", "<pad>", "</s>", "<unk>")
	if err != nil {
		return err
	}
	t.first = len(t.pieces)
	for _, code := range t.languages {
		special = append(special, len(t.pieces))
		t.pieces = append(t.pieces, "__"+code+"__")
	}
	for i := range m2m100MadeUp {
		t.pieces = append(t.pieces, fmt.Sprintf("<madeupword%d>", i))
	}
	t.remap(vocab)
	if err := t.finish(special); err != nil {
		return err
	}
	for id := t.first + len(t.languages); id < len(t.pieces); id++ {
		t.isSpecial[id] = true // they are not text either, but have no spelling
	}
	return nil
}

// Language returns the id of a language's token, by its code.
func (t *M2M100) Language(code string) (id int, ok bool) {
	i := slices.Index(t.languages, code)
	return t.first + i, i >= 0
}

// Languages returns the codes of all languages.
func (t *M2M100) Languages() []string { return slices.Clone(t.languages) }

// NewDecoder implements [tokenizer.Tokenizer]. It removes white space around the text.
func (t *M2M100) NewDecoder() tokenizer.Decoder { return &trimmedDecoder{of: t.remapped.NewDecoder()} }

// trimmedDecoder removes white space from both ends of a text.
type trimmedDecoder struct {
	of   tokenizer.Decoder
	some bool   // there is text
	held string // white space after it
}

// Next implements [tokenizer.Decoder].
func (d *trimmedDecoder) Next(id int) string { return d.trim(d.of.Next(id)) }

// Flush implements [tokenizer.Decoder].
func (d *trimmedDecoder) Flush() string { return d.trim(d.of.Flush()) }

func (d *trimmedDecoder) trim(text string) string {
	if !d.some {
		text = strings.TrimLeftFunc(text, isPythonSpace)
	}
	kept := strings.TrimRightFunc(text, isPythonSpace)
	if kept == "" {
		if d.some {
			d.held += text
		}
		return ""
	}
	result := d.held + kept
	d.some, d.held = true, text[len(kept):]
	return result
}

// isPythonSpace reports whether Python's str.strip removes r.
func isPythonSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }
