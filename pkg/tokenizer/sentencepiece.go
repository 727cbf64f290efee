package tokenizer

import (
	"fmt"
	"maps"
	"strings"
)

// FromSentencePiece builds the tokenizer of a SentencePiece .model file, Unigram or
// BPE as the file says (its name does not tell: many a sentencepiece.bpe.model is
// Unigram). Control pieces and the unknown piece are its special tokens. The file
// does not say what goes before and after a text: its affixes are none.
func FromSentencePiece(model []byte) (Tokenizer, error) {
	t, err := fromSentencePiece(model)
	if err != nil {
		return nil, fmt.Errorf("sentencepiece model: %w", err)
	}
	return t, nil
}

func fromSentencePiece(model []byte) (*sentencePiece, error) {
	m, err := readPieceModel(model)
	if err != nil {
		return nil, err
	}
	o := sentencePieceOptions{
		unigram: m.modelType == modelUnigram, byteFallback: m.byteFallback, unkSurface: m.unkSurface,
		dummyPrefix: m.normalizer.dummyPrefix, removeExtra: m.normalizer.removeExtra, suffix: m.suffix, escapeSpaces: m.normalizer.escapeSpaces,
	}
	if len(m.normalizer.charsmap) > 0 {
		if o.charsmap, err = newCharsmap(m.normalizer.charsmap); err != nil {
			return nil, fmt.Errorf("normalizer_spec: %w", err)
		}
	}
	return newSentencePiece(m.pieces, m.scores, m.kinds, o)
}

// sentencePiece is a tokenizer that cuts the whole text, spaces with the words.
type sentencePiece struct {
	normalizer    pieceNormalizer
	model         textCutter
	unknown       unknownPiece
	pieces        []string // by id
	kinds         []pieceKind
	texts         []string // by id: what is decoded, in full
	strip         bool     // the first space is not decoded
	special       map[string]int
	trie          *pieceTrie // of the special tokens
	before, after []int      // affixes
	weights       byteWeights
}

// textCutter puts out the cut of a normalized text, until o has enough.
type textCutter interface {
	cut(o *output, text string, put func(pieceCut))
}

// sentencePieceOptions are what pieces, scores and kinds do not say.
type sentencePieceOptions struct {
	unigram      bool // or else BPE
	byteFallback bool
	unkSurface   string // what the unknown piece is decoded to

	charsmap     *charsmap // nil for none
	dummyPrefix  bool      // a space before the text
	removeExtra  bool      // no spaces around the text, and no two within it
	suffix       bool      // the dummy prefix is behind the text
	escapeSpaces bool      // spaces become U+2581
	raw          bool      // bytes that are no UTF-8 stay; else each becomes U+FFFD
}

func (o *sentencePieceOptions) normalizer() pieceNormalizer {
	n := pieceNormalizer{
		charsmap: o.charsmap, dummyPrefix: o.dummyPrefix, removeExtra: o.removeExtra, suffix: o.suffix, space: " ", raw: o.raw,
	}
	if o.escapeSpaces {
		n.space = spaceMark
	}
	return n
}

// newSentencePiece builds a tokenizer of pieces, scores and kinds, by id.
func newSentencePiece(pieces []string, scores []float64, kinds []pieceKind, o sentencePieceOptions) (*sentencePiece, error) {
	t := &sentencePiece{
		normalizer: o.normalizer(), pieces: pieces, kinds: kinds, special: map[string]int{},
		strip: o.dummyPrefix || o.removeExtra,
	}
	unk, err := unknownID(kinds)
	if err != nil {
		return nil, err
	}
	t.unknown.id = unk
	if o.byteFallback {
		t.unknown.bytes = bytePieces(pieces)
	}
	if err := t.unknown.check(); err != nil {
		return nil, err
	}
	if err := t.sort(o.unkSurface); err != nil {
		return nil, err
	}
	t.normalizer.prepare()
	t.setWeights()
	if o.unigram {
		t.model, err = newUnigram(pieces, scores, unk, unigramOptions{kinds: kinds, byteFallback: o.byteFallback})
	} else {
		t.model, err = newScoredBPE(pieces, scores, kinds, unk, t.normalizer.user)
	}
	return t, err
}

// sort makes the tables of what each kind of piece is for.
func (t *sentencePiece) sort(unkSurface string) error {
	var user, special []int
	t.texts = make([]string, len(t.pieces))
	for id, piece := range t.pieces {
		switch t.kinds[id] {
		case pieceControl, pieceUnknown:
			t.special[piece] = id
			if len(piece) > maxSpecialLength {
				return fmt.Errorf("piece %d, %.40q, is special and longer than %d bytes", id, piece, maxSpecialLength)
			}
			special = append(special, id)
			if t.kinds[id] == pieceUnknown {
				t.texts[id] = unkSurface
			}
			continue
		case pieceByteOf:
			b, _ := pieceByte(piece)
			t.texts[id] = string([]byte{b})
			continue
		case pieceUser:
			user = append(user, id)
		}
		t.texts[id] = strings.ReplaceAll(piece, spaceMark, " ")
	}
	var err error
	if len(user) > 0 {
		if t.normalizer.user, err = newPieceTrie(t.pieces, user); err != nil {
			return err
		}
	}
	t.trie, err = newPieceTrie(t.pieces, special)
	return err
}

// Encode implements [Tokenizer].
func (t *sentencePiece) Encode(text string) []int { return encodeAll(t, text, false) }

// EncodeSpecial implements [Tokenizer]. Each part between special tokens is encoded
// as a text of its own, with the dummy prefix, as llama.cpp does.
func (t *sentencePiece) EncodeSpecial(text string) []int { return encodeAll(t, text, true) }

func (t *sentencePiece) encodeTo(o *output, text string, special bool) {
	encodeBetween(t.trie, o, text, special, func(text string) {
		text = t.normalizer.normalize(text)
		if text == "" || !o.worked(0) {
			return
		}
		o.grow(len(text))
		runs := t.unknown.runs(o, text)
		t.model.cut(o, text, runs.add)
		runs.close()
	})
}

// encodeBetween encodes what is between special tokens with encode; without special,
// all of text.
func encodeBetween(trie *pieceTrie, o *output, text string, special bool, encode func(text string)) {
	from := 0
	for i := 0; special && i < len(text); {
		id, length := trie.longest(text[i:])
		if id < 0 {
			i++
			continue
		}
		encode(text[from:i])
		o.ids = append(o.ids, id)
		if !o.more(i + length - from) {
			return
		}
		i += length
		from = i
	}
	encode(text[from:])
	o.more(len(text) - from)
}

// Size implements [Tokenizer].
func (t *sentencePiece) Size() int { return len(t.pieces) }

// Piece implements [Tokenizer].
func (t *sentencePiece) Piece(id int) string {
	if id < 0 || id >= len(t.pieces) {
		return ""
	}
	return t.pieces[id]
}

// SpecialTokens implements [Specials].
func (t *sentencePiece) SpecialTokens() map[string]int { return maps.Clone(t.special) }

// setAffixes sets the ids before and after a text. It must be called before t is used.
func (t *sentencePiece) setAffixes(before, after []int) { t.before, t.after = before, after }

// Affixes implements [Affixes].
func (t *sentencePiece) Affixes() (before, after []int) { return t.before, t.after }

// NewDecoder implements [Tokenizer].
func (t *sentencePiece) NewDecoder() Decoder { return &pieceTextDecoder{t: t, first: t.strip} }

// pieceTextDecoder decodes as sentencepiece does: the space that begins the text is
// not part of it, and bytes that are no UTF-8 become U+FFFD, unless the tokenizer
// keeps them.
type pieceTextDecoder struct {
	t     *sentencePiece
	first bool // a space that comes now is dropped
	some  bool // there is text
	run   byteRun
}

// Next implements [Decoder].
func (d *pieceTextDecoder) Next(id int) string {
	if id < 0 || id >= len(d.t.pieces) {
		return ""
	}
	text := d.t.texts[id]
	if d.t.kinds[id] == pieceByteOf {
		if !d.t.normalizer.raw {
			text = d.run.add(text[0])
		}
		d.some = true
		return text
	}
	return d.run.flush() + d.drop(id, text)
}

// literal is Next of a token that is no piece.
func (d *pieceTextDecoder) literal(text string) string {
	d.some = d.some || text != ""
	return d.run.flush() + text
}

// drop takes the space off text if that begins the whole text. With removeExtra
// spaces are dropped until there is text, else once.
func (d *pieceTextDecoder) drop(id int, text string) string {
	if d.some {
		d.first = false
	}
	if d.t.kinds[id] == pieceControl {
		return ""
	}
	if d.first && d.t.kinds[id] != pieceUnknown && strings.HasPrefix(d.t.pieces[id], spaceMark) {
		text = text[1:]
		d.first = d.t.normalizer.removeExtra
	}
	d.some = d.some || text != ""
	return text
}

// Flush implements [Decoder].
func (d *pieceTextDecoder) Flush() string { return d.run.flush() }

// place implements tailer: words are cut alone. What stands before the first is of no
// consequence to the others.
func (t *sentencePiece) place(text string, at int, special bool) (from int, ok bool) {
	m, bpe := t.model.(*scoredBPE)
	n := &t.normalizer
	if !bpe || !m.words || n.user != nil || n.charsmap != nil || n.space != spaceMark || special && len(t.special) > 0 {
		return 0, false
	}
	return lastPlace(text, at, func(i int) bool { return isWordStart(text, i) }), true
}
