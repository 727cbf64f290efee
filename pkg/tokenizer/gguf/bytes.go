package gguf

import (
	"errors"
	"fmt"
	"strings"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/hf"
	"glossa/pkg/tokenizer/internal/pretoken"
	"glossa/pkg/tokenizer/internal/subword"
)

// preTokenizer describes a pre-tokenizer of GGUF for byte-level BPE.
type preTokenizer struct {
	digits       bool // digits are first cut out, each by itself
	split        pretoken.Splitter
	ignoreMerges bool
	addBOS       bool // unless the file says otherwise
}

// preTokenizers are the known values of tokenizer.ggml.pre, as llama.cpp reads them. Where
// its patterns treat contractions with U+017F differently than the models' own files, the
// latter are followed.
var preTokenizers = func() map[string]preTokenizer {
	m := map[string]preTokenizer{}
	for names, pre := range map[string]preTokenizer{
		"gpt-2 phi-2 mpt olmo roberta-bpe":            {split: pretoken.GPT2},
		"llama3 llama-v3 llama-bpe falcon3 pixtral":   {split: pretoken.Llama3, ignoreMerges: true, addBOS: true},
		"dbrx smaug-bpe chatglm-bpe":                  {split: pretoken.Llama3},
		"qwen2 stablelm2 deepseek-r1-qwen":            {split: pretoken.Qwen2},
		"gpt-4o":                                      {split: pretoken.O200k},
		"starcoder refact command-r smollm codeshell": {split: pretoken.GPT2, digits: true},
	} {
		for name := range strings.FieldsSeq(names) {
			m[name] = pre
		}
	}
	return m
}()

// newBytes builds a byte-level BPE. Control and unknown tokens are its special tokens.
// User-defined tokens are read in every text.
func newBytes(g *Vocabulary) (tokenizer.Tokenizer, error) {
	if g.Pre == "" {
		return nil, errors.New("pre is missing")
	}
	pre, ok := preTokenizers[g.Pre]
	if !ok {
		return nil, fmt.Errorf("pre: %.40q is not supported", g.Pre)
	}
	if len(g.Types) != 0 && len(g.Types) != len(g.Tokens) {
		return nil, fmt.Errorf("token_type: %d of them for %d tokens", len(g.Types), len(g.Tokens))
	}
	vocab, added, err := g.byteVocab()
	if err != nil {
		return nil, err
	}
	merges := make([][2]string, len(g.Merges))
	for i, m := range g.Merges {
		left, right, ok := strings.Cut(m, " ")
		if !ok || strings.Contains(right, " ") {
			return nil, fmt.Errorf("merges: %d, %.40q, does not have two parts", i, m)
		}
		merges[i] = [2]string{left, right}
	}
	t, err := hf.NewByteLevel(hf.ByteLevel{
		Vocab: vocab, Merges: merges, Added: added, IgnoreMerges: pre.ignoreMerges, Digits: pre.digits, Split: pre.split,
	})
	if err != nil {
		return nil, err
	}
	var before, after []int
	if flag(g.AddBOS, pre.addBOS) {
		if before, err = g.affix("bos_token_id", g.BOS, -1); err != nil {
			return nil, err
		}
	}
	if flag(g.AddEOS, false) {
		if after, err = g.affix("eos_token_id", g.EOS, -1); err != nil {
			return nil, err
		}
	}
	t.SetAffixes(before, after)
	return t, nil
}

// byteVocab returns the vocabulary by spelling and the added tokens. Ids with an empty
// token are unused. Keys name special tokens only if there are no types, because some files
// use an ordinary token for padding.
func (g *Vocabulary) byteVocab() (map[string]int, []hf.AddedToken, error) {
	special := map[int64]bool{}
	for _, id := range []*int64{g.BOS, g.EOS, g.EOT, g.Unknown, g.Padding} {
		if id != nil && len(g.Types) == 0 {
			special[*id] = true
		}
	}
	vocab := make(map[string]int, len(g.Tokens))
	var added []hf.AddedToken
	for id, piece := range g.Tokens {
		if first, ok := vocab[piece]; ok {
			return nil, nil, fmt.Errorf("tokens: %d and %d are both %.40q", first, id, piece)
		}
		if piece == "" {
			continue
		}
		vocab[piece] = id
		kind := subword.KindNormal
		if len(g.Types) > 0 {
			kind = subword.Kind(g.Types[id])
		}
		switch {
		case kind < subword.KindNormal || kind > subword.KindByte:
			return nil, nil, fmt.Errorf("token_type of token %d is %d, not 1 to 6", id, g.Types[id])
		case kind == subword.KindControl, kind == subword.KindUnknown, special[int64(id)]:
			added = append(added, hf.AddedToken{ID: id, Content: piece, Special: true})
		case kind == subword.KindUser:
			added = append(added, hf.AddedToken{ID: id, Content: piece})
		}
	}
	return vocab, added, nil
}
