package hf

import (
	"errors"
	"fmt"

	"glossa/pkg/tokenizer/internal/encode"
)

var errNoVocab = errors.New("vocab is empty")

// spellings returns the vocabulary by id, "" for ids that are not used.
func spellings(vocab map[string]int) ([]string, error) {
	if len(vocab) == 0 {
		return nil, errNoVocab
	}
	size := 0
	for piece, id := range vocab {
		if id < 0 || id >= encode.MaxVocab {
			return nil, fmt.Errorf("vocab: %.40q has id %d, not 0 to %d", piece, id, encode.MaxVocab-1)
		}
		size = max(size, id+1)
	}
	pieces, used := make([]string, size), make([]bool, size)
	for piece, id := range vocab {
		if used[id] {
			a, b := min(piece, pieces[id]), max(piece, pieces[id])
			return nil, fmt.Errorf("vocab: %.40q and %.40q both have the id %d", a, b, id)
		}
		pieces[id], used[id] = piece, true
	}
	return pieces, nil
}
