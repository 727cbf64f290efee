package alpha

import (
	"encoding/json"
	"fmt"
	"math"
)

// exported is a tokenizer.json whose model is a BPE of characters. Without a pre-tokenizer
// a whole text is one word; without an unknown token, characters that are not in the
// vocabulary are dropped.
type exported struct {
	Version       string          `json:"version"`
	Truncation    *struct{}       `json:"truncation"`
	Padding       *struct{}       `json:"padding"`
	AddedTokens   []exportedToken `json:"added_tokens"`
	Normalizer    *struct{}       `json:"normalizer"`
	PreTokenizer  *struct{}       `json:"pre_tokenizer"`
	PostProcessor *struct{}       `json:"post_processor"`
	Decoder       exportedStep    `json:"decoder"`
	Model         exportedModel   `json:"model"`
}

type exportedStep struct {
	Type string `json:"type"`
}

type exportedToken struct {
	ID         int    `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

type exportedModel struct {
	Type         string         `json:"type"`
	Dropout      *float64       `json:"dropout"`
	UnkToken     *string        `json:"unk_token"`
	Prefix       *string        `json:"continuing_subword_prefix"`
	Suffix       *string        `json:"end_of_word_suffix"`
	FuseUnk      bool           `json:"fuse_unk"`
	ByteFallback bool           `json:"byte_fallback"`
	IgnoreMerges bool           `json:"ignore_merges"`
	Vocab        map[string]int `json:"vocab"`
	Merges       [][2]string    `json:"merges"`
}

// Export implements [tokenizer.Exporter].
func (t *charTokenizer) Export() ([]byte, error) { return t.export(nil) }

// Export implements [tokenizer.Exporter]. The library merges equal pairs from left to
// right, as Alpha does with fewer than 1000 merges. With more merges the result is the same
// unless a token merges with itself.
func (t *bpeTokenizer) Export() ([]byte, error) {
	merges := make([][2]string, t.merger.Ranks)
	for pair, to := range t.merger.Pairs.All() {
		left, right := int(pair>>32), int(pair&math.MaxUint32)
		if !t.byPos && left == right {
			return nil, fmt.Errorf("a tokenizer.json cannot say how %q is merged with itself here", t.pieces[left])
		}
		merges[to.Rank] = [2]string{t.pieces[left], t.pieces[right]}
	}
	return t.export(merges)
}

// export writes the file of a vocabulary and of merges by rank. Each merge makes the piece
// that joins the texts of its parts.
func (v *vocabulary) export(merges [][2]string) ([]byte, error) {
	out := exported{
		Version: "1.0", AddedTokens: []exportedToken{}, Decoder: exportedStep{"Fuse"},
		Model: exportedModel{Type: "BPE", Vocab: make(map[string]int, len(v.pieces)), Merges: merges},
	}
	if merges == nil {
		out.Model.Merges = [][2]string{}
	}
	for id, piece := range v.pieces {
		if other, ok := out.Model.Vocab[piece]; ok {
			return nil, fmt.Errorf("a tokenizer.json cannot have %q as token %d and token %d", piece, other, id)
		}
		out.Model.Vocab[piece] = id
		if v.isSpecial[id] {
			out.AddedTokens = append(out.AddedTokens, exportedToken{ID: id, Content: piece, Special: true})
		}
	}
	for i, m := range merges {
		if id, ok := out.Model.Vocab[m[0]+m[1]]; !ok || id != len(v.pieces)-len(merges)+i {
			return nil, fmt.Errorf("a tokenizer.json cannot have merge %d, of %q and %q", i, m[0], m[1])
		}
	}
	return json.Marshal(out)
}
