package tokenizer

import (
	"fmt"
	"maps"

	"golang.org/x/text/unicode/norm"
)

// byteTokenizer is a byte-level BPE: every text has ids, and without nfc they
// stand for exactly its bytes.
type byteTokenizer struct {
	model      *byteBPE
	split      splitter
	nfc        bool
	raw        addedTrie // tokens read in the text as it is
	normalized addedTrie // tokens read in what is normalized
	special    map[string]int
	spelling   []string // by id, as the vocabulary has it
	texts      []string // by id: the bytes it stands for, "" for special tokens
}

// newByteTokenizer builds a tokenizer of a vocabulary without special tokens and of
// the added tokens, which may be in it.
func newByteTokenizer(vocab map[string]int, merges [][2]string, added []addedToken, o byteOptions) (*byteTokenizer, error) {
	all := maps.Clone(vocab)
	if all == nil {
		return nil, errNoVocab
	}
	if len(added) > maxAdded {
		return nil, fmt.Errorf("added_tokens: %d of them, at most %d", len(added), maxAdded)
	}
	t := &byteTokenizer{split: o.split, nfc: o.nfc, special: map[string]int{}}
	for _, token := range added {
		if id, ok := all[token.Content]; ok && id != token.ID {
			return nil, fmt.Errorf("added token %.40q has id %d, in vocab %d", token.Content, token.ID, id)
		}
		all[token.Content] = token.ID
		if err := t.add(token); err != nil {
			return nil, err
		}
	}
	var err error
	if t.spelling, err = spellings(all); err != nil {
		return nil, err
	}
	ordinary := maps.Clone(vocab)
	for content := range t.special {
		delete(ordinary, content)
	}
	if t.model, err = newByteBPE(ordinary, merges, o.ignoreMerges); err != nil {
		return nil, err
	}
	t.texts = make([]string, len(t.spelling))
	for id, piece := range t.spelling {
		if text, ok := despell(piece); ok {
			piece = text
		}
		t.texts[id] = piece
	}
	for _, token := range added { // they stand for themselves
		t.texts[token.ID] = token.Content
		if token.Special {
			t.texts[token.ID] = ""
		}
	}
	return t, nil
}

// byteOptions are what byte-level tokenizers differ in besides their vocabulary.
type byteOptions struct {
	split        splitter
	ignoreMerges bool // a piece that is in the vocabulary is that token
	nfc          bool
}

func (t *byteTokenizer) add(token addedToken) error {
	if token.Special {
		t.special[token.Content] = token.ID
	}
	if !token.Normalized {
		return t.raw.add(token.Content, token)
	}
	return t.normalized.add(t.normalize(token.Content), token)
}

// normalize is NFC of the Unicode version of x/text, in its stream-safe form: it
// puts U+034F into runs of more than 30 combining marks, which references do not.
func (t *byteTokenizer) normalize(text string) string {
	if t.nfc {
		return norm.NFC.String(text)
	}
	return text
}

// Encode implements [Tokenizer]. Added tokens that are not special are part of
// ordinary text, and are read.
func (t *byteTokenizer) Encode(text string) []int { return t.encode(text, false) }

// EncodeSpecial implements [Tokenizer].
func (t *byteTokenizer) EncodeSpecial(text string) []int { return t.encode(text, true) }

func (t *byteTokenizer) encode(text string, special bool) []int {
	if text == "" {
		return nil
	}
	ids := make([]int, 0, len(text)/4+4)
	for part, id := range t.raw.cut(text, special) {
		if id >= 0 {
			ids = append(ids, id)
			continue
		}
		for part, id := range t.normalized.cut(t.normalize(part), special) {
			if id >= 0 {
				ids = append(ids, id)
				continue
			}
			for i := 0; i < len(part); {
				end := t.split(part, i)
				ids = t.model.encode(ids, part[i:end])
				i = end
			}
		}
	}
	return ids
}

// Size implements [Tokenizer].
func (t *byteTokenizer) Size() int { return len(t.spelling) }

// Piece implements [Tokenizer]: the spelling is that of GPT-2's byte alphabet.
func (t *byteTokenizer) Piece(id int) string {
	if id < 0 || id >= len(t.spelling) {
		return ""
	}
	return t.spelling[id]
}

// SpecialTokens implements [Specials].
func (t *byteTokenizer) SpecialTokens() map[string]int { return maps.Clone(t.special) }

// NewDecoder implements [Tokenizer].
func (t *byteTokenizer) NewDecoder() Decoder { return byteDecoder{t.texts} }

// byteDecoder returns the bytes of each token, perhaps parts of runes.
type byteDecoder struct{ texts []string }

func (d byteDecoder) Next(id int) string {
	if id < 0 || id >= len(d.texts) {
		return ""
	}
	return d.texts[id]
}

func (d byteDecoder) Flush() string { return "" }
