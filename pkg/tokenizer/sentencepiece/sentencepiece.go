// Package sentencepiece encodes texts as SentencePiece does, by Unigram or BPE, and holds
// the tokenizers of XGLM, M2M100 and Marian, which give the pieces of such a model other ids.
//
// Start with [Parse]. [New] is for package gguf.
//
// Source: SentencePiece (Kudo and Richardson 2018); fairseq and transformers for XGLM, M2M100 and
// Marian.
package sentencepiece

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/internal/charsmap"
	"glossa/pkg/tokenizer/internal/encode"
	"glossa/pkg/tokenizer/internal/spmodel"
	"glossa/pkg/tokenizer/internal/subword"
	"glossa/pkg/tokenizer/internal/unigram"
)

// Parse builds the tokenizer of a SentencePiece .model file, Unigram or BPE as the file
// says (not as its name says: many files sentencepiece.bpe.model are Unigram). Control
// pieces and the unknown piece are its special tokens. The affixes are empty, because the
// file does not have them.
func Parse(model []byte) (tokenizer.Tokenizer, error) {
	t, err := parse(model)
	if err != nil {
		return nil, fmt.Errorf("sentencepiece model: %w", err)
	}
	return t, nil
}

func parse(model []byte) (*Tokenizer, error) {
	m, err := spmodel.Read(model)
	if err != nil {
		return nil, err
	}
	o := Options{
		Unigram: m.ModelType == spmodel.Unigram, ByteFallback: m.ByteFallback, UnkSurface: m.UnkSurface,
		DummyPrefix: m.Normalizer.DummyPrefix, RemoveExtra: m.Normalizer.RemoveExtra, Suffix: m.Suffix, EscapeSpaces: m.Normalizer.EscapeSpaces,
	}
	if len(m.Normalizer.Charsmap) > 0 {
		if o.Charsmap, err = charsmap.New(m.Normalizer.Charsmap); err != nil {
			return nil, fmt.Errorf("normalizer_spec: %w", err)
		}
	}
	return New(m.Pieces, m.Scores, m.Kinds, o)
}

// Tokenizer cuts the whole text into pieces, spaces with the words.
type Tokenizer struct {
	normalizer    normalizer
	model         textCutter
	unknown       subword.Unknown
	pieces        []string // by id
	kinds         []subword.Kind
	texts         []string // by id: the decoded text, with a leading space
	strip         bool     // the first space is not decoded
	special       map[string]int
	trie          *subword.Trie // of the special tokens; of user-defined pieces, too, if partition
	partition     bool
	before, after []int // affixes
	takesSpace    []bool
	weights       encode.ByteWeights
}

// textCutter passes the pieces of a normalized text to put until o has enough. It does not
// use those that refuse, which may be nil, returns true for.
type textCutter interface {
	Cut(o *encode.Output, text string, refuse subword.Refuse, put func(subword.Cut))
}

// Options are the settings other than pieces, scores and kinds.
type Options struct {
	Unigram      bool // or else BPE
	ByteFallback bool
	UnkSurface   string // the decoded text of the unknown piece

	Charsmap     *charsmap.Map // nil for none
	DummyPrefix  bool          // a space before the text
	RemoveExtra  bool          // no spaces around the text, and no two within it
	Suffix       bool          // the dummy prefix is after the text
	EscapeSpaces bool          // spaces become U+2581
	Raw          bool          // invalid bytes stay; else each becomes U+FFFD
	LlamaCpp     bool          // user-defined pieces are read as special ones, in every text; see [encode.Partition]
	TakesSpace   []bool        // by id, with LlamaCpp: a piece that is read so takes the white space after it; nil: none does
}

func (o *Options) newNormalizer() normalizer {
	n := normalizer{
		charsmap: o.Charsmap, dummyPrefix: o.DummyPrefix, removeExtra: o.RemoveExtra, suffix: o.Suffix, space: " ",
		blank: o.LlamaCpp && o.Unigram && o.DummyPrefix, raw: o.Raw, markIsText: o.LlamaCpp,
	}
	if o.EscapeSpaces {
		n.space = spaceMark
	}
	return n
}

// New builds a tokenizer of pieces, scores and kinds, by id.
func New(pieces []string, scores []float64, kinds []subword.Kind, o Options) (*Tokenizer, error) {
	t := &Tokenizer{
		normalizer: o.newNormalizer(), pieces: pieces, kinds: kinds, special: map[string]int{},
		strip: o.DummyPrefix || o.RemoveExtra, partition: o.LlamaCpp, takesSpace: o.TakesSpace,
	}
	unk, err := spmodel.UnknownID(kinds)
	if err != nil {
		return nil, err
	}
	t.unknown.ID = unk
	if o.ByteFallback {
		t.unknown.Bytes = subword.ByteIDs(pieces)
	}
	if err := t.unknown.Check(); err != nil {
		return nil, err
	}
	if err := t.sort(o.UnkSurface); err != nil {
		return nil, err
	}
	t.normalizer.prepare()
	t.setWeights()
	if o.Unigram {
		as := unigram.SentencePiece
		if o.LlamaCpp {
			as = unigram.LlamaCpp
		}
		t.model, err = unigram.New(pieces, scores, unk, unigram.Options{Kinds: kinds, ByteFallback: o.ByteFallback, As: as})
	} else {
		t.model, err = newScoredBPE(pieces, scores, kinds, unk, t.normalizer.user)
	}
	return t, err
}

// sort makes the tables of special, user-defined and other pieces.
func (t *Tokenizer) sort(unkSurface string) error {
	var user, special []int
	t.texts = make([]string, len(t.pieces))
	for id, piece := range t.pieces {
		switch t.kinds[id] {
		case subword.KindControl, subword.KindUnknown:
			t.special[piece] = id
			if len(piece) > encode.MaxSpecialLength {
				return fmt.Errorf("piece %d, %.40q, is special and longer than %d bytes", id, piece, encode.MaxSpecialLength)
			}
			special = append(special, id)
			if t.kinds[id] == subword.KindUnknown {
				t.texts[id] = unkSurface
			}
			continue
		case subword.KindByte:
			b, _ := subword.ParseByte(piece)
			t.texts[id] = string([]byte{b})
			continue
		case subword.KindUser:
			user = append(user, id)
		}
		t.texts[id] = strings.ReplaceAll(piece, spaceMark, " ")
	}
	var err error
	if t.partition {
		special = append(special, user...)
	} else if len(user) > 0 {
		if t.normalizer.user, err = subword.NewTrie(t.pieces, user); err != nil {
			return err
		}
	}
	t.normalizer.marks = make([]bool, len(t.pieces))
	for _, id := range user {
		t.normalizer.marks[id] = encode.IsMark(t.pieces[id])
	}
	t.trie, err = subword.NewTrie(t.pieces, special)
	return err
}

// Encode implements [tokenizer.Tokenizer].
func (t *Tokenizer) Encode(text string) []int { return encode.All(t, text, false) }

// EncodeSpecial implements [tokenizer.Tokenizer]. Each part between special tokens is encoded
// as a text of its own, with the dummy prefix, as llama.cpp does.
func (t *Tokenizer) EncodeSpecial(text string) []int { return encode.All(t, text, true) }

// EncodeTo implements [encode.Encoder].
func (t *Tokenizer) EncodeTo(o *encode.Output, text string, reads encode.Reads) {
	between := encodeBetween
	if t.partition {
		between = t.encodeParts
	}
	between(t.trie, o, text, reads, func(text string, reads encode.Reads) {
		text, refuse := t.normalizer.parts(text, reads)
		if text == "" || !o.Worked(0) {
			return
		}
		o.Grow(len(text))
		runs := t.unknown.Runs(o, text)
		t.model.Cut(o, text, refuse, runs.Add)
		runs.Close()
	})
}

// encodeBetween encodes the text between the special tokens that are read with encode.
func encodeBetween(trie *subword.Trie, o *encode.Output, text string, reads encode.Reads, encode func(string, encode.Reads)) {
	refuse := func(_, from, to int) bool { return !reads.At(from, to) }
	from := 0
	for i := 0; reads.Any() && i < len(text); {
		id, length := trie.LongestBut(text, i, refuse)
		if id < 0 {
			i++
			continue
		}
		encode(text[from:i], reads.After(from))
		o.IDs = append(o.IDs, id)
		if !o.More(i + length - from) {
			return
		}
		i += length
		from = i
	}
	encode(text[from:], reads.After(from))
	o.More(len(text) - from)
}

// encodeParts is encodeBetween for a trie that has user-defined pieces, too.
func (t *Tokenizer) encodeParts(trie *subword.Trie, o *encode.Output, text string, reads encode.Reads, encodePart func(string, encode.Reads)) {
	refuse := func(id, from, to int) bool {
		if t.kinds[id] == subword.KindUser && (reads.Plain() || !t.normalizer.marks[id]) {
			return false
		}
		return !reads.At(from, to)
	}
	from := 0
	matches := encode.Partition(len(text), func(from, to int) (id, length int) { return trie.LongestBut(text[:to], from, refuse) })
	for i, m := range matches {
		encodePart(text[from:m.From], reads.After(from))
		o.IDs = append(o.IDs, m.ID)
		if t.takesSpace != nil && t.takesSpace[m.ID] {
			next := len(text)
			if i+1 < len(matches) {
				next = matches[i+1].From
			}
			for m.To < next && isSpace(text[m.To]) {
				m.To++
			}
		}
		if !o.More(m.To - from) {
			return
		}
		from = m.To
	}
	encodePart(text[from:], reads.After(from))
	o.More(len(text) - from)
}

// isSpace is isspace in C.
func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// Size implements [tokenizer.Tokenizer].
func (t *Tokenizer) Size() int { return len(t.pieces) }

// Piece implements [tokenizer.Tokenizer].
func (t *Tokenizer) Piece(id int) string {
	if id < 0 || id >= len(t.pieces) {
		return ""
	}
	return t.pieces[id]
}

// SpecialTokens implements [tokenizer.Specials].
func (t *Tokenizer) SpecialTokens() map[string]int { return maps.Clone(t.special) }

// SetAffixes sets the ids before and after a text. It must be called before t is used.
func (t *Tokenizer) SetAffixes(before, after []int) { t.before, t.after = before, after }

// Affixes implements [tokenizer.Affixes].
func (t *Tokenizer) Affixes() (before, after []int) { return t.before, t.after }

// NewDecoder implements [tokenizer.Tokenizer].
func (t *Tokenizer) NewDecoder() tokenizer.Decoder { return &textDecoder{t: t, first: t.strip} }

// textDecoder decodes as sentencepiece does: it removes the space at the beginning of the
// text, and invalid bytes become U+FFFD, unless the tokenizer keeps them.
type textDecoder struct {
	t     *Tokenizer
	first bool // drop a space that comes next
	some  bool // there is text
	run   byteRun
}

// Next implements [tokenizer.Decoder].
func (d *textDecoder) Next(id int) string {
	if id < 0 || id >= len(d.t.pieces) {
		return ""
	}
	text := d.t.texts[id]
	if d.t.kinds[id] == subword.KindByte {
		if !d.t.normalizer.raw {
			text = d.run.add(text[0])
		}
		d.some = true
		return text
	}
	return d.run.flush() + d.drop(id, text)
}

// literal is Next for a token that is not a piece.
func (d *textDecoder) literal(text string) string {
	d.some = d.some || text != ""
	return d.run.flush() + text
}

// drop removes the space at the beginning of text if text begins the whole text. With
// removeExtra it removes spaces until there is text, otherwise one.
func (d *textDecoder) drop(id int, text string) string {
	if d.some {
		d.first = false
	}
	if d.t.kinds[id] == subword.KindControl {
		return ""
	}
	if d.first && d.t.kinds[id] != subword.KindUnknown && strings.HasPrefix(d.t.pieces[id], spaceMark) {
		text = text[1:]
		d.first = d.t.normalizer.removeExtra
	}
	d.some = d.some || text != ""
	return text
}

// Flush implements [tokenizer.Decoder].
func (d *textDecoder) Flush() string { return d.run.flush() }

// Place implements [encode.Tailer]: words are cut separately, so that the text before a
// word does not affect it.
func (t *Tokenizer) Place(text string, at int, special bool) (from int, ok bool) {
	m, bpe := t.model.(*scoredBPE)
	n := &t.normalizer
	if user := n.user != nil || t.partition && slices.Contains(t.kinds, subword.KindUser); user || !bpe || !m.words || n.charsmap != nil || n.space != spaceMark || special && len(t.special) > 0 {
		return 0, false
	}
	return encode.LastPlace(text, at, func(i int) bool { return encode.IsWordStart(text, i) }), true
}
