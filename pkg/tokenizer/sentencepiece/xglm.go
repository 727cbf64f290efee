package sentencepiece

import (
	"fmt"
	"slices"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/internal/subword"
)

// fairseq's ids: four special tokens, then the pieces of the model after its first three.
const (
	fairseqBOS = iota
	fairseqPadding
	fairseqEOS
	fairseqUnknown
	fairseqSpecials
)

// fairseqMoved is the number of pieces of the file that have other ids.
const fairseqMoved = 3

// xglmMadeUp is the number of unused words behind the pieces, which pad the vocabulary.
const xglmMadeUp = 7

// ParseXGLM builds XGLM's tokenizer from its sentencepiece.bpe.model. It cuts as
// sentencepiece does, with which the model was trained; a tokenizer.json only approximates
// that. The affix before a text is </s>.
func ParseXGLM(model []byte) (tokenizer.Tokenizer, error) {
	t, err := parseXGLM(model)
	if err != nil {
		return nil, fmt.Errorf("sentencepiece.bpe.model of XGLM: %w", err)
	}
	return t, nil
}

func parseXGLM(model []byte) (*remapped, error) {
	sp, err := parse(model)
	if err != nil {
		return nil, err
	}
	t := &remapped{before: []int{fairseqEOS}}
	if err := t.renumber(sp); err != nil {
		return nil, err
	}
	for i := range xglmMadeUp {
		t.pieces = append(t.pieces, fmt.Sprintf("<madeupword%d>", i))
	}
	return t, t.finish(t.specials())
}

// renumber gives the pieces of a model fairseq's ids.
func (t *remapped) renumber(sp *Tokenizer) error {
	if len(sp.pieces) <= fairseqMoved {
		return fmt.Errorf("there are %d pieces, not more than the %d special ones", len(sp.pieces), fairseqMoved)
	}
	for id, kind := range sp.kinds[:fairseqMoved] {
		if kind != subword.KindControl && kind != subword.KindUnknown {
			return fmt.Errorf("piece %d, %.40q, has type %d: the first %d must be the special ones", id, sp.pieces[id], kind, fairseqMoved)
		}
	}
	if sp.unknown.ID >= fairseqMoved {
		return fmt.Errorf("the unknown piece is %d, not one of the first %d", sp.unknown.ID, fairseqMoved)
	}
	t.sp, t.unknown = sp, fairseqUnknown
	t.pieces = slices.Concat([]string{"<s>", "<pad>", "</s>", "<unk>"}, sp.pieces[fairseqMoved:])
	t.ids = make([]int, len(sp.pieces))
	for id := range t.ids {
		t.ids[id] = id + fairseqSpecials - fairseqMoved
	}
	t.ids[0], t.ids[1], t.ids[2] = fairseqUnknown, fairseqUnknown, fairseqUnknown
	return nil
}

// specials returns the ids that are not those of text, after renumber: fairseq's, those of control
// pieces, and all behind the pieces.
func (t *remapped) specials() (list []int) {
	for id := range t.pieces {
		file := id - fairseqSpecials + fairseqMoved
		if id < fairseqSpecials || file >= len(t.sp.pieces) || t.sp.kinds[file] == subword.KindControl {
			list = append(list, id)
		}
	}
	return list
}
