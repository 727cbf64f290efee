package gguf

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/hf"
	"glossa/pkg/tokenizer/internal/pretoken"
	"glossa/pkg/tokenizer/internal/subword"
)

// preTokenizer describes a pre-tokenizer of GGUF for byte-level BPE.
type preTokenizer struct {
	digits       bool     // digits are first cut out, each by itself
	patterns     []string // cut out before split
	split        pretoken.Splitter
	then         []string // cut out after split
	ignoreMerges bool
	addBOS       bool // unless the file says otherwise
}

// preTokenizers are the known values of tokenizer.ggml.pre, as llama.cpp reads them. Where
// its patterns treat contractions with U+017F differently than the models' own files, the
// latter are followed.
var preTokenizers = func() map[string]preTokenizer {
	m := map[string]preTokenizer{}
	for names, pre := range map[string]preTokenizer{
		"gpt-2 phi-2 mpt olmo roberta-bpe modern-bert trillion granite-docling gigachat a.x-4.0 mellum exaone4": {split: pretoken.GPT2},
		"llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral lfm2 midm-2.0":                                     {split: pretoken.Llama3, ignoreMerges: true, addBOS: true},
		"dbrx smaug-bpe chatglm-bpe": {split: pretoken.Llama3},
		"glm4 glm5":                  {split: pretoken.Llama3, ignoreMerges: true},
		"qwen2 stablelm2 deepseek-r1-qwen megrez kormo hunyuan grok-2 solar-open": {split: pretoken.Qwen2},
		"gpt-4o llama4 kanana2 minimax-m2":                                        {split: pretoken.O200k},
		"starcoder refact command-r smollm codeshell exaone minerva-7b mellum2":   {split: pretoken.GPT2, digits: true},
		"tekken":                       {patterns: []string{tekken}, ignoreMerges: true, addBOS: true},
		"deepseek-v3 hunyuan-dense":    {patterns: []string{`\p{N}{1,3}`, "[一-龥\u3040-ゟ゠-ヿ]+", deepseekWords}},
		"deepseek-coder":               {patterns: []string{"[\r\n]", `\s?\p{L}+`, `\s?\p{P}+`, "[一-龥ࠀ-一가-\ud7ff]+", `\p{N}`}},
		"qwen35":                       {patterns: []string{qwen35}},
		"falcon":                       {patterns: []string{"[\\p{P}$+<=>^~|`]+"}, split: pretoken.GPT2, then: []string{"[0-9]+", "[0-9][0-9][0-9]"}},
		"bloom poro-chat gpt3-finnish": {patterns: []string{" ?[^(\\s|[.,!?…。，、।۔،])]+"}},
	} {
		for name := range strings.FieldsSeq(names) {
			m[name] = pre
		}
	}
	return m
}()

// Patterns of pre-tokenizers, as the models' own files have them.
const (
	tekken = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+` +
		`|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*` +
		`|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	qwen35 = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}` +
		`| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	deepseekWords = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+" +
		"| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"
)

// newBytes builds a byte-level BPE. Control and unknown tokens are its special tokens.
// User-defined tokens are read in every text.
func newBytes(g *Vocabulary) (tokenizer.Tokenizer, error) {
	if g.Pre == "" {
		return nil, errors.New("pre is missing")
	}
	pre, ok := preTokenizers[g.Pre]
	if !ok {
		return nil, fmt.Errorf("pre: %.40q is not supported, only %s", g.Pre, strings.Join(slices.Sorted(maps.Keys(preTokenizers)), ", "))
	}
	vocab, added, err := g.vocab()
	if err != nil {
		return nil, err
	}
	merges, err := g.pairs()
	if err != nil {
		return nil, err
	}
	t, err := hf.NewByteLevel(hf.ByteLevel{
		Vocab: vocab, Merges: merges, Added: added, IgnoreMerges: pre.ignoreMerges, Digits: pre.digits,
		Patterns: pre.patterns, Split: pre.split, Then: pre.then, LongestFirst: true,
	})
	if err != nil {
		return nil, err
	}
	return t, g.setAffixes(t, flag(g.AddBOS, pre.addBOS))
}

// setAffixes sets the tokens before a text, if there are any, and after it, if the file says so.
func (g *Vocabulary) setAffixes(t *hf.Tokenizer, begins bool) (err error) {
	var before, after []int
	if begins {
		if before, err = g.affix("bos_token_id", g.BOS, -1); err != nil {
			return err
		}
	}
	if flag(g.AddEOS, false) {
		if after, err = g.affix("eos_token_id", g.EOS, -1); err != nil {
			return err
		}
	}
	t.SetAffixes(before, after)
	return nil
}

// pairs returns the merges by rank.
func (g *Vocabulary) pairs() ([][2]string, error) {
	merges := make([][2]string, len(g.Merges))
	for i, m := range g.Merges {
		left, right, ok := strings.Cut(m, " ")
		if !ok || strings.Contains(right, " ") {
			return nil, fmt.Errorf("merges: %d, %.40q, does not have two parts", i, m)
		}
		merges[i] = [2]string{left, right}
	}
	return merges, nil
}

// vocab returns the vocabulary by spelling and the added tokens. Ids with an empty
// token are unused. Keys name special tokens only if there are no types, because some files
// use an ordinary token for padding.
func (g *Vocabulary) vocab() (map[string]int, []hf.AddedToken, error) {
	if len(g.Types) != 0 && len(g.Types) != len(g.Tokens) {
		return nil, nil, fmt.Errorf("token_type: %d of them for %d tokens", len(g.Types), len(g.Tokens))
	}
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
