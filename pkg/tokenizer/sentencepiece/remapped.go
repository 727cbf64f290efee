package sentencepiece

import (
	"fmt"
	"maps"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/internal/encode"
	"glossa/pkg/tokenizer/internal/subword"
)

// remapped is a SentencePiece tokenizer with other ids: fairseq's models have a dictionary
// of their own. Special tokens, including the unknown one, decode to nothing.
type remapped struct {
	sp            *Tokenizer
	pieces        []string       // by id
	ids           []int          // by piece of sp
	from          []int          // by id: the piece of sp, -1 for none
	unknown       int            // the id
	surfaces      map[string]int // ids of runs that sp does not know; may be nil
	special       map[string]int
	isSpecial     []bool // by id
	trie          *subword.Trie
	before, after []int // affixes
}

// finish computes the other fields from pieces, ids and the special tokens.
func (t *remapped) finish(special []int) error {
	t.from = make([]int, len(t.pieces))
	for id := range t.from {
		t.from[id] = -1
	}
	for piece, id := range t.ids {
		t.from[id] = piece
	}
	t.special, t.isSpecial = map[string]int{}, make([]bool, len(t.pieces))
	for _, id := range special {
		if other, ok := t.special[t.pieces[id]]; ok {
			return fmt.Errorf("tokens %d and %d are both %.40q", other, id, t.pieces[id])
		}
		t.special[t.pieces[id]] = id
		t.isSpecial[id] = true
	}
	var err error
	t.trie, err = subword.NewTrie(t.pieces, special)
	return err
}

// Encode implements [tokenizer.Tokenizer].
func (t *remapped) Encode(text string) []int { return encode.All(t, text, false) }

// EncodeSpecial implements [tokenizer.Tokenizer].
func (t *remapped) EncodeSpecial(text string) []int { return encode.All(t, text, true) }

// EncodeTo implements [encode.Encoder].
func (t *remapped) EncodeTo(o *encode.Output, text string, reads encode.Reads) {
	encodeBetween(t.trie, o, text, reads, func(text string, reads encode.Reads) { t.encode(o, text, reads) })
}

func (t *remapped) encode(o *encode.Output, text string, reads encode.Reads) {
	text, refuse := t.sp.normalizer.parts(text, reads)
	if text == "" || !o.Worked(0) {
		return
	}
	o.Grow(len(text))
	runs := subword.Runs{
		Text: text, Unk: t.sp.unknown.ID,
		Put: func(piece int) { o.IDs = append(o.IDs, t.ids[piece]) },
		Run: func(run string) {
			if id, ok := t.surfaces[run]; ok {
				o.IDs = append(o.IDs, id)
				return
			}
			n := len(o.IDs)
			o.IDs = t.sp.unknown.AppendRun(o.IDs, run)
			for i := n; i < len(o.IDs); i++ {
				o.IDs[i] = t.ids[o.IDs[i]]
			}
		},
	}
	t.sp.model.Cut(o, text, refuse, runs.Add)
	runs.Close()
}

// Size implements [tokenizer.Tokenizer].
func (t *remapped) Size() int { return len(t.pieces) }

// Piece implements [tokenizer.Tokenizer].
func (t *remapped) Piece(id int) string {
	if id < 0 || id >= len(t.pieces) {
		return ""
	}
	return t.pieces[id]
}

// SpecialTokens implements [tokenizer.Specials].
func (t *remapped) SpecialTokens() map[string]int { return maps.Clone(t.special) }

// Affixes implements [tokenizer.Affixes].
func (t *remapped) Affixes() (before, after []int) { return t.before, t.after }

// NewDecoder implements [tokenizer.Tokenizer].
func (t *remapped) NewDecoder() tokenizer.Decoder {
	return &remappedDecoder{t: t, sp: textDecoder{t: t.sp, first: t.sp.strip}}
}

// remappedDecoder decodes by the pieces of sp. Another token that is not special decodes to
// its own spelling.
type remappedDecoder struct {
	t  *remapped
	sp textDecoder
}

// Next implements [tokenizer.Decoder].
func (d *remappedDecoder) Next(id int) string {
	if id < 0 || id >= len(d.t.pieces) || d.t.isSpecial[id] {
		return ""
	}
	if piece := d.t.from[id]; piece >= 0 {
		return d.sp.Next(piece)
	}
	return d.sp.literal(d.t.pieces[id])
}

// Flush implements [tokenizer.Decoder].
func (d *remappedDecoder) Flush() string { return d.sp.Flush() }
