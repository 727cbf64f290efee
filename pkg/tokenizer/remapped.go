package tokenizer

import (
	"fmt"
	"maps"
)

// remapped is a SentencePiece tokenizer with other ids, as fairseq's models have it:
// their vocabulary is a dictionary of its own. Special tokens, also the unknown one,
// are no text.
type remapped struct {
	sp            *sentencePiece
	pieces        []string       // by id
	ids           []int          // by piece of sp
	from          []int          // by id: the piece of sp, -1 for none
	unknown       int            // the id
	surfaces      map[string]int // ids of runs that sp does not know; may be nil
	special       map[string]int
	isSpecial     []bool // by id
	trie          *pieceTrie
	before, after []int // affixes
}

// finish makes what follows from pieces, ids and the special tokens.
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
	t.trie, err = newPieceTrie(t.pieces, special)
	return err
}

// Encode implements [Tokenizer].
func (t *remapped) Encode(text string) []int { return encodeAll(t, text, false) }

// EncodeSpecial implements [Tokenizer].
func (t *remapped) EncodeSpecial(text string) []int { return encodeAll(t, text, true) }

func (t *remapped) encodeTo(o *output, text string, special bool) {
	encodeBetween(t.trie, o, text, special, func(text string) { t.encode(o, text) })
}

func (t *remapped) encode(o *output, text string) {
	text = t.sp.normalizer.normalize(text)
	if text == "" || !o.worked(0) {
		return
	}
	o.grow(len(text))
	runs := pieceRuns{
		text: text, unk: t.sp.unknown.id,
		put: func(piece int) { o.ids = append(o.ids, t.ids[piece]) },
		run: func(run string) {
			if id, ok := t.surfaces[run]; ok {
				o.ids = append(o.ids, id)
				return
			}
			n := len(o.ids)
			o.ids = t.sp.unknown.appendRun(o.ids, run)
			for i := n; i < len(o.ids); i++ {
				o.ids[i] = t.ids[o.ids[i]]
			}
		},
	}
	t.sp.model.cut(o, text, runs.add)
	runs.close()
}

// Size implements [Tokenizer].
func (t *remapped) Size() int { return len(t.pieces) }

// Piece implements [Tokenizer].
func (t *remapped) Piece(id int) string {
	if id < 0 || id >= len(t.pieces) {
		return ""
	}
	return t.pieces[id]
}

// SpecialTokens implements [Specials].
func (t *remapped) SpecialTokens() map[string]int { return maps.Clone(t.special) }

// Affixes implements [Affixes].
func (t *remapped) Affixes() (before, after []int) { return t.before, t.after }

// NewDecoder implements [Tokenizer].
func (t *remapped) NewDecoder() Decoder {
	return &remappedDecoder{t: t, sp: pieceTextDecoder{t: t.sp, first: t.sp.strip}}
}

// remappedDecoder decodes by the pieces of sp; a token that is none of them, and not
// special, stands for itself.
type remappedDecoder struct {
	t  *remapped
	sp pieceTextDecoder
}

// Next implements [Decoder].
func (d *remappedDecoder) Next(id int) string {
	if id < 0 || id >= len(d.t.pieces) || d.t.isSpecial[id] {
		return ""
	}
	if piece := d.t.from[id]; piece >= 0 {
		return d.sp.Next(piece)
	}
	return d.sp.literal(d.t.pieces[id])
}

// Flush implements [Decoder].
func (d *remappedDecoder) Flush() string { return d.sp.Flush() }
