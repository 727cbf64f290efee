// Package alpha holds Alpha's tokenizers: characters, words, and byte-pair encoding of
// characters; and trains them. It does not know checkpoints.
//
// Start with [Train] or [Parse].
//
// Source: Alpha's documentation, and the artifacts that its trainer stores in checkpoints.
package alpha

import (
	"encoding/json"
	"fmt"
	"math"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/internal/bpe"
	"glossa/pkg/tokenizer/internal/encode"
)

// Kinds of Alpha tokenizers.
const (
	BPE  = "bpe"
	Char = "char"
	Word = "word"
)

// Artifacts is Alpha's stored form of a tokenizer.
type Artifacts struct {
	Type          string   `json:"type"` // [BPE], [Char] or [Word]
	VocabSize     int      `json:"vocabSize"`
	Vocab         []string `json:"vocab"`                   // by id: characters, special tokens, then the results of the merges
	Merges        [][2]int `json:"merges,omitempty"`        // left and right id, by rank
	SpecialTokens []string `json:"specialTokens,omitempty"` // spellings, each in Vocab
}

// Parse builds the tokenizer of a checkpoint's tokenizerArtifacts. It rejects unknown
// types, which upstream treats as char.
func Parse(raw json.RawMessage) (tokenizer.Tokenizer, error) {
	var f struct {
		Artifacts
		Merges [][]int `json:"merges"` // a [2]int would take any length
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	a := &f.Artifacts
	a.Merges = make([][2]int, len(f.Merges))
	for i, m := range f.Merges {
		if len(m) != 2 {
			return nil, fmt.Errorf("tokenizer: merge %d has %d ids, not 2", i, len(m))
		}
		a.Merges[i] = [2]int(m)
	}
	t, err := a.Tokenizer()
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Tokenizer builds the tokenizer.
func (a *Artifacts) Tokenizer() (tokenizer.Tokenizer, error) {
	t, err := a.build()
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	return t, nil
}

func (a *Artifacts) build() (tokenizer.Tokenizer, error) {
	n := len(a.Vocab)
	if n == 0 || n > encode.MaxVocab {
		return nil, fmt.Errorf("vocab: %d entries, not 1 to %d", n, encode.MaxVocab)
	}
	if a.VocabSize != n {
		return nil, fmt.Errorf("vocabSize is %d, vocab has %d entries", a.VocabSize, n)
	}
	base := n
	if a.Type == BPE {
		if base = n - len(a.Merges); base < 1 || n > maxBPE {
			return nil, fmt.Errorf("%d merges in a vocab of %d entries, at most %d", len(a.Merges), n, maxBPE)
		}
	}
	if err := a.checkVocab(base); err != nil {
		return nil, err
	}
	v, err := newVocabulary(a.Vocab, a.SpecialTokens, base)
	if err != nil {
		return nil, err
	}
	switch a.Type {
	case BPE:
		merges, err := a.checkMerges(v, base)
		if err != nil {
			return nil, err
		}
		return newBPE(v, merges), nil
	case Word:
		return newWord(v), nil
	case Char:
		return newChar(v), nil
	}
	return nil, fmt.Errorf("type must be bpe, char or word, not %.40q", a.Type)
}

// checkVocab rejects empty entries, and duplicates among those that no merge makes. Two
// merges may spell the same text: "a"+"bc" and "ab"+"c".
func (a *Artifacts) checkVocab(base int) error {
	seen := make(map[string]int, base)
	for id, piece := range a.Vocab {
		if piece == "" {
			return fmt.Errorf("vocab: entry %d is empty", id)
		}
		if id >= base {
			continue
		}
		if first, ok := seen[piece]; ok {
			return fmt.Errorf("vocab: entries %d and %d are both %.40q", first, id, piece)
		}
		seen[piece] = id
	}
	return nil
}

// checkMerges rejects merges of special tokens, of tokens that later merges make, and
// repeated merges.
func (a *Artifacts) checkMerges(v *vocabulary, base int) ([][2]int32, error) {
	merges := make([][2]int32, len(a.Merges))
	seen := make(map[uint64]int, len(a.Merges))
	for i, m := range a.Merges {
		for _, id := range m {
			if id < 0 || id >= base+i || id > math.MaxInt32 {
				return nil, fmt.Errorf("merge %d uses id %d, which is not below %d", i, id, base+i)
			}
			if v.isSpecial[id] {
				return nil, fmt.Errorf("merge %d uses the special token %q", i, v.pieces[id])
			}
		}
		merges[i] = [2]int32{int32(m[0]), int32(m[1])}
		key := bpe.PairKey(merges[i][0], merges[i][1])
		if first, ok := seen[key]; ok {
			return nil, fmt.Errorf("merge %d repeats merge %d", i, first)
		}
		seen[key] = i
	}
	return merges, nil
}
