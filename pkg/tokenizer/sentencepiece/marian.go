package sentencepiece

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"glossa/pkg/tokenizer"
)

// Marian is the tokenizer of OPUS-MT's models: the pieces of a SentencePiece model of the source's
// language with the ids of a dictionary that the target's language shares, and perhaps tokens of
// the target's languages. The affix after a text is </s>. The caller puts the target's language
// before it.
type Marian struct {
	remapped
	languages []string
}

// ParseMarian builds the tokenizer of vocab.json and source.spm.
func ParseMarian(vocabJSON, model []byte) (*Marian, error) {
	sp, err := parse(model)
	if err != nil {
		return nil, fmt.Errorf("source.spm of Marian: %w", err)
	}
	t := &Marian{}
	t.sp = sp
	var vocab map[string]int
	if err = json.Unmarshal(vocabJSON, &vocab); err == nil {
		err = t.build(vocab)
	}
	if err != nil {
		return nil, fmt.Errorf("vocab.json of Marian: %w", err)
	}
	return t, nil
}

func (t *Marian) build(vocab map[string]int) error {
	special, err := t.read(vocab, "</s>", "<unk>", "<pad>")
	if err != nil {
		return err
	}
	for id, piece := range t.pieces {
		if code, ok := marianLanguage(piece); ok {
			special, t.languages = append(special, id), append(t.languages, code)
		}
	}
	t.remap(vocab)
	return t.finish(special)
}

// marianLanguage returns the code of a token of a language, >>code<<.
func marianLanguage(piece string) (code string, ok bool) {
	if code, ok = strings.CutPrefix(piece, ">>"); ok {
		code, ok = strings.CutSuffix(code, "<<")
	}
	return code, ok && code != ""
}

// Language returns the id of a language's token, by its code.
func (t *Marian) Language(code string) (id int, ok bool) {
	id, ok = t.special[">>"+code+"<<"]
	return id, ok
}

// Languages returns the codes of all languages that have tokens, by id.
func (t *Marian) Languages() []string { return slices.Clone(t.languages) }

// NewDecoder implements [tokenizer.Tokenizer]. It removes white space around the text.
func (t *Marian) NewDecoder() tokenizer.Decoder { return &trimmedDecoder{of: &markDecoder{t}} }

// markDecoder spells tokens with spaces for marks: most of the target's are not pieces of the
// source's model.
type markDecoder struct{ of *Marian }

// Next implements [tokenizer.Decoder].
func (d *markDecoder) Next(id int) string {
	if id < 0 || id >= len(d.of.pieces) || d.of.isSpecial[id] {
		return ""
	}
	return strings.ReplaceAll(d.of.pieces[id], spaceMark, " ")
}

// Flush implements [tokenizer.Decoder].
func (d *markDecoder) Flush() string { return "" }
