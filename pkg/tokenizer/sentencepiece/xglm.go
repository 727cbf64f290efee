package sentencepiece

import (
	"fmt"
	"slices"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/internal/subword"
)

// XGLM's ids, which are fairseq's: four special tokens, then the pieces of the model after
// its first three, then seven unused words.
const (
	xglmBOS = iota
	xglmPadding
	xglmEOS
	xglmUnknown
	xglmSpecials
)

// xglmMadeUp is the number of unused words that pad the vocabulary.
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
	const moved = 3 // pieces of the file that have other ids
	if len(sp.pieces) <= moved {
		return nil, fmt.Errorf("there are %d pieces, not more than the %d special ones", len(sp.pieces), moved)
	}
	for id, kind := range sp.kinds[:moved] {
		if kind != subword.KindControl && kind != subword.KindUnknown {
			return nil, fmt.Errorf("piece %d, %.40q, has type %d: the first %d must be the special ones", id, sp.pieces[id], kind, moved)
		}
	}
	if sp.unknown.ID >= moved {
		return nil, fmt.Errorf("the unknown piece is %d, not one of the first %d", sp.unknown.ID, moved)
	}
	pieces := slices.Concat([]string{"<s>", "<pad>", "</s>", "<unk>"}, sp.pieces[moved:])
	for i := range xglmMadeUp {
		pieces = append(pieces, fmt.Sprintf("<madeupword%d>", i))
	}
	t := &remapped{sp: sp, pieces: pieces, unknown: xglmUnknown, before: []int{xglmEOS}}
	t.ids = make([]int, len(sp.pieces))
	for id := range t.ids {
		t.ids[id] = id + xglmSpecials - moved
	}
	t.ids[0], t.ids[1], t.ids[2] = xglmUnknown, xglmUnknown, xglmUnknown
	var special []int
	for id := range pieces {
		file := id - xglmSpecials + moved
		if id < xglmSpecials || file >= len(sp.pieces) || sp.kinds[file] == subword.KindControl {
			special = append(special, id)
		}
	}
	return t, t.finish(special)
}
