package hf

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/internal/bpe"
	"glossa/pkg/tokenizer/internal/encode"
	"glossa/pkg/tokenizer/internal/pretoken"
)

// Tokenizer is a tokenizer in the parts of tokenizer.json. It reads added tokens in the
// text, normalizes the text between them and cuts it into pieces, and the model turns each
// piece into ids.
type Tokenizer struct {
	raw        addedTrie // tokens read in the text as it is
	normalized addedTrie // tokens read in the normalized text
	normalize  normalizer
	steps      []preStep // pre-tokenizers, in order
	model      pieceModel
	before     []int // affixes, by the post-processor
	after      []int
	pair       []tokenizer.PairPart
	special    map[string]int
	spelling   []string // by id, as the vocabulary has it
	decoder    *decoderPlan
	weights    encode.ByteWeights
}

// pieceModel turns pieces of text into ids.
type pieceModel interface {
	// Encode appends the ids of a piece, which is not empty.
	Encode(o *encode.Output, piece string)
}

// addTokens adds the vocabulary, which has ids by spelling, and the added tokens, which it
// may contain. It returns the vocabulary without special tokens.
func (t *Tokenizer) addTokens(vocab map[string]int, added []AddedToken) (map[string]int, error) {
	if len(vocab) == 0 {
		return nil, errNoVocab
	}
	if len(added) > maxAdded {
		return nil, fmt.Errorf("added_tokens: %d of them, at most %d", len(added), maxAdded)
	}
	all, ordinary := maps.Clone(vocab), maps.Clone(vocab)
	t.special = map[string]int{}
	for _, token := range added {
		if id, ok := all[token.Content]; ok && id != token.ID {
			return nil, fmt.Errorf("added token %.40q has id %d, in vocab %d", token.Content, token.ID, id)
		}
		all[token.Content] = token.ID
		if token.Special {
			t.special[token.Content] = token.ID
			delete(ordinary, token.Content)
		}
		if err := t.add(token); err != nil {
			return nil, err
		}
	}
	var err error
	t.spelling, err = spellings(all)
	return ordinary, err
}

func (t *Tokenizer) add(token AddedToken) error {
	if !token.Normalized {
		return t.raw.add(token.Content, 0, token)
	}
	if err := checkLength(token, token.Content); err != nil {
		return err
	}
	normal, prefix := t.normalize.text(token.Content), t.prefix()
	pad := 0
	if len(prefix) < len(normal) && strings.HasPrefix(normal, prefix) {
		pad = len(prefix)
	}
	return t.normalized.add(normal, pad, token)
}

// Encode implements [tokenizer.Tokenizer]. It reads added tokens that are not special.
func (t *Tokenizer) Encode(text string) []int { return encode.All(t, text, false) }

// EncodeSpecial implements [tokenizer.Tokenizer].
func (t *Tokenizer) EncodeSpecial(text string) []int { return encode.All(t, text, true) }

// EncodeTo implements [encode.Encoder].
func (t *Tokenizer) EncodeTo(o *encode.Output, text string, reads encode.Reads) {
	o.Grow(len(text))
	for p, id := range t.raw.cut(text, reads) {
		if id >= 0 {
			o.IDs = append(o.IDs, id)
			if !o.More(1) {
				return
			}
			continue
		}
		normal := segment{text: text[p.start:p.end]}
		if p.start == 0 && slices.ContainsFunc(t.steps, func(s preStep) bool { return s.first }) {
			_, normal.head = utf8.DecodeRuneInString(text)
		}
		normal = t.normalize.segment(normal)
		within := t.readsAfter(text[p.start:p.end], normal.text, reads.After(p.start))
		for p, id := range t.normalized.cut(normal.text, within) {
			if id >= 0 {
				o.IDs = append(o.IDs, id)
			} else {
				t.encodePart(o, normal.part(p.start, p.end))
			}
			if !o.More(1) {
				return
			}
		}
	}
}

// encodePart encodes the text between added tokens, which is not empty.
func (t *Tokenizer) encodePart(o *encode.Output, part segment) {
	if len(t.steps) == 1 && t.steps[0].split != nil { // the usual case of byte-level vocabularies
		split, text := t.steps[0].splitter(part.text), part.text
		for i := 0; i < len(text); {
			end := split(text, i)
			t.model.Encode(o, text[i:end])
			if !o.More(end - i) {
				return
			}
			i = end
		}
		return
	}
	cutSteps(t.steps, part, func(s segment) bool {
		t.model.Encode(o, s.text)
		return o.More(len(s.text))
	})
}

// Size implements [tokenizer.Tokenizer].
func (t *Tokenizer) Size() int { return len(t.spelling) }

// Piece implements [tokenizer.Tokenizer]: the spelling is the vocabulary's own, of byte-level
// ones in GPT-2's byte alphabet.
func (t *Tokenizer) Piece(id int) string {
	if id < 0 || id >= len(t.spelling) {
		return ""
	}
	return t.spelling[id]
}

// SpecialTokens implements [tokenizer.Specials].
func (t *Tokenizer) SpecialTokens() map[string]int { return maps.Clone(t.special) }

// Affixes implements [tokenizer.Affixes].
func (t *Tokenizer) Affixes() (before, after []int) {
	return slices.Clone(t.before), slices.Clone(t.after)
}

// Pair implements [tokenizer.Pairs].
func (t *Tokenizer) Pair() []tokenizer.PairPart { return slices.Clone(t.pair) }

// NewDecoder implements [tokenizer.Tokenizer].
func (t *Tokenizer) NewDecoder() tokenizer.Decoder { return t.decoder.start() }

// ByteLevel describes a tokenizer of bytes.
type ByteLevel struct {
	Vocab        map[string]int // ids by spelling in GPT-2's byte alphabet
	Merges       [][2]string    // by rank
	Added        []AddedToken
	IgnoreMerges bool              // a piece in the vocabulary is one token, whatever the merges
	Digits       bool              // each digit is a piece of its own
	Patterns     []string          // regular expressions whose matches are cut out, one after another
	Split        pretoken.Splitter // cuts texts into pieces; may be nil after Patterns
	Then         []string          // as Patterns, after Split
	LongestFirst bool              // added tokens are read as by [encode.Partition]
}

// NewByteLevel builds a tokenizer of bytes, without affixes.
func NewByteLevel(o ByteLevel) (*Tokenizer, error) {
	t := &Tokenizer{raw: addedTrie{longestFirst: o.LongestFirst}}
	if o.Digits {
		t.steps = append(t.steps, cutAt(matchRune(unicode.IsNumber), isolated, false))
	}
	if err := t.cutOut(o.Patterns); err != nil {
		return nil, err
	}
	if o.Split != nil {
		t.steps = append(t.steps, preStep{split: o.Split})
	}
	if err := t.cutOut(o.Then); err != nil {
		return nil, err
	}
	return t, t.setBytes(o.Vocab, o.Merges, o.Added, o.IgnoreMerges)
}

// cutOut adds steps that isolate the matches of patterns.
func (t *Tokenizer) cutOut(patterns []string) error {
	for _, source := range patterns {
		steps, err := readSplit(&fileStep{Pattern: filePattern{Regex: &source}, Behavior: string(isolated)})
		if err != nil {
			return err
		}
		t.steps = append(t.steps, steps...)
	}
	return nil
}

// SetAffixes sets the ids before and after a text. It must be called before t is used.
func (t *Tokenizer) SetAffixes(before, after []int) { t.before, t.after = before, after }

// setBytes sets a byte-level vocabulary. Every text has ids. Without a normalizer those of
// valid UTF-8 decode to exactly its bytes, and so do those of other bytes that have tokens of
// the vocabulary. A byte that has an added token instead decodes to the content of that token,
// and one that has neither to U+FFFD.
func (t *Tokenizer) setBytes(vocab map[string]int, merges [][2]string, added []AddedToken, ignoreMerges bool) error {
	ordinary, err := t.addTokens(vocab, added)
	if err != nil {
		return err
	}
	extra := map[string]int{}
	for _, token := range added {
		if !token.Special {
			extra[token.Content] = token.ID
		}
	}
	if t.model, err = bpe.NewByteLevel(ordinary, merges, ignoreMerges, t.special, extra); err != nil {
		return err
	}
	texts := make([]string, len(t.spelling))
	for id, piece := range t.spelling {
		texts[id] = byteText(piece)
	}
	for _, token := range added {
		texts[token.ID] = t.decoded(token)
	}
	t.decoder = &decoderPlan{texts: texts}
	t.decoder.addTokens(t.spelling, added)
	t.setWeights(1)
	return nil
}

// byteText returns the text of a token by the decoder ByteLevel.
func byteText(piece string) string {
	if text, ok := bpe.Despell(piece); ok {
		return text
	}
	return piece
}

// Place implements [encode.Tailer]: all patterns that have scanners cut between a letter or digit
// and a space with a letter after it.
func (t *Tokenizer) Place(text string, at int, special bool) (from int, ok bool) {
	ordinary := t.raw.ordinary || t.normalized.ordinary
	tokens := len(t.raw.tokens)+len(t.normalized.tokens) > 0
	if t.normalize != nil || len(t.steps) != 1 || t.steps[0].split == nil || ordinary || special && tokens {
		return 0, false
	}
	return encode.LastPlace(text, at, func(i int) bool { return encode.IsWordStart(text, i) }), true
}
