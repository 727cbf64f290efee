package hf

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Bert describes a tokenizer of BERT whose files have no tokenizer.json.
type Bert struct {
	Vocab        map[string]int // ids; pieces that continue a word begin with ##
	Added        []AddedToken   // nil: BERT's five special tokens
	Lowercase    bool
	Chinese      bool  // each ideograph is a word
	StripAccents *bool // nil: if Lowercase
}

// bertSpecials are BERT's special tokens.
var bertSpecials = []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}

// ParseVocab reads a vocab.txt: a piece on each line, whose number from 0 is its id.
func ParseVocab(text []byte) (map[string]int, error) {
	vocab := map[string]int{}
	id := 0
	for line := range strings.Lines(string(text)) {
		piece := strings.TrimRight(line, "\r\n")
		vocab[piece] = id // of equal pieces the last counts, as in the reference
		id++
	}
	if len(vocab) == 0 {
		return nil, errNoVocab
	}
	return vocab, nil
}

// JSON returns the tokenizer.json of b, as the reference's BertTokenizer makes it.
func (b *Bert) JSON() ([]byte, error) {
	ends := map[string]any{}
	added := b.Added
	for _, piece := range bertSpecials {
		id, ok := b.Vocab[piece]
		if ok && b.Added == nil {
			added = append(added, AddedToken{ID: id, Content: piece, Special: true})
		}
		if piece == "[CLS]" || piece == "[SEP]" {
			if !ok {
				return nil, fmt.Errorf("the vocabulary has no %s", piece)
			}
			ends[piece] = map[string]any{"id": piece, "ids": []int{id}, "tokens": []string{piece}}
		}
	}
	if _, ok := b.Vocab["[UNK]"]; !ok {
		return nil, errors.New("the vocabulary has no [UNK]")
	}
	type object map[string]any
	part := func(kind, id string, segment int) object { return object{kind: object{"id": id, "type_id": segment}} }
	single := []object{part("SpecialToken", "[CLS]", 0), part("Sequence", "A", 0), part("SpecialToken", "[SEP]", 0)}
	pair := append(slices.Clip(single), part("Sequence", "B", 1), part("SpecialToken", "[SEP]", 1))
	return json.Marshal(object{
		"version": "1.0", "added_tokens": added,
		"normalizer": object{
			"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": b.Chinese, "strip_accents": b.StripAccents, "lowercase": b.Lowercase,
		},
		"pre_tokenizer":  object{"type": "BertPreTokenizer"},
		"post_processor": object{"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": ends},
		"decoder":        object{"type": "WordPiece", "prefix": "##", "cleanup": true},
		"model": object{
			"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": b.Vocab,
		},
	})
}
