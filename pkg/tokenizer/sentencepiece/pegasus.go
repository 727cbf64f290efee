package sentencepiece

import (
	"fmt"
	"slices"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/internal/subword"
)

// Pegasus has words of its first training between the first two pieces of the model and the others:
// two masks, and <unk_2> to <unk_102>.
const (
	pegasusKept   = 2
	pegasusOffset = 103
)

// ParsePegasus builds the tokenizer of Pegasus from its spiece.model. The affix after a text is
// </s>.
func ParsePegasus(model []byte) (tokenizer.Tokenizer, error) {
	t, err := parsePegasus(model)
	if err != nil {
		return nil, fmt.Errorf("spiece.model of Pegasus: %w", err)
	}
	return t, nil
}

func parsePegasus(model []byte) (*remapped, error) {
	sp, err := parse(model)
	if err != nil {
		return nil, err
	}
	if len(sp.pieces) <= pegasusKept {
		return nil, fmt.Errorf("there are %d pieces, not more than the first %d", len(sp.pieces), pegasusKept)
	}
	for id, kind := range sp.kinds[:pegasusKept] {
		if kind != subword.KindControl {
			return nil, fmt.Errorf("piece %d, %.40q, has type %d: it must be the padding or the end", id, sp.pieces[id], kind)
		}
	}
	pieces := append(slices.Clone(sp.pieces[:pegasusKept]), "<mask_1>", "<mask_2>")
	for i := pegasusKept; i < pegasusOffset; i++ {
		pieces = append(pieces, fmt.Sprintf("<unk_%d>", i))
	}
	t := &remapped{sp: sp, unknown: sp.unknown.ID + pegasusOffset, after: []int{1}}
	t.pieces = append(pieces, sp.pieces[pegasusKept:]...)
	t.ids = make([]int, len(sp.pieces))
	for id := range t.ids {
		t.ids[id] = id + pegasusOffset
	}
	var special []int
	for id := range t.pieces {
		file := id - pegasusOffset
		if file < pegasusKept || sp.kinds[file] == subword.KindControl || file == sp.unknown.ID {
			special = append(special, id)
		}
	}
	return t, t.finish(special)
}
