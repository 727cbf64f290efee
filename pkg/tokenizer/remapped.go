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
func (t *remapped) Encode(text string) []int { return t.encode(nil, text) }

func (t *remapped) encode(ids []int, text string) []int {
	text = t.sp.normalizer.normalize(text)
	if text == "" {
		return ids
	}
	for piece, run := range t.sp.unknown.runs(text, t.sp.model.cut(nil, text)) {
		switch id, ok := t.surfaces[run]; {
		case run == "":
			ids = append(ids, t.ids[piece])
		case ok:
			ids = append(ids, id)
		default:
			n := len(ids)
			ids = t.sp.unknown.appendRun(ids, run)
			for i := n; i < len(ids); i++ {
				ids[i] = t.ids[ids[i]]
			}
		}
	}
	return ids
}

// EncodeSpecial implements [Tokenizer].
func (t *remapped) EncodeSpecial(text string) []int { return encodeBetween(t.trie, text, t.encode) }

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
