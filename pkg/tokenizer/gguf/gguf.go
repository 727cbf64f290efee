// Package gguf builds the tokenizers that GGUF files describe. It does not read the files:
// OpenPath in package arch opens the whole model, and GGUFVocabulary there returns the keys of
// a file whose model is not supported.
//
// Source: llama.cpp, for the defaults and for what the keys tokenizer.ggml.* mean.
package gguf

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/internal/charsmap"
	"glossa/pkg/tokenizer/internal/encode"
	"glossa/pkg/tokenizer/internal/subword"
	"glossa/pkg/tokenizer/sentencepiece"
)

// Vocabulary holds the keys tokenizer.ggml.* of a GGUF file; those that are missing are
// nil.
type Vocabulary struct {
	Model  string    // "llama" (SentencePiece BPE), "t5" (Unigram), "gpt2" (byte-level BPE), "bert" (WordPiece), "gemma4" (BPE of characters)
	Pre    string    // the pre-tokenizer of byte-level BPE
	Tokens []string  // by id
	Types  []int64   // by id: token_type
	Scores []float32 // by id
	Merges []string  // "a b"

	BOS, EOS, EOT, Unknown, Padding *int64 // ids

	AddBOS, AddEOS, AddSpacePrefix *bool
	RemoveExtraWhitespaces         *bool
	Lowercase, StripAccents        *bool  // of WordPiece: normalizer.lowercase, normalizer.strip_accents
	Charsmap                       []byte // precompiled_charsmap

	Name string // general.name: llama.cpp knows by it which special tokens take white space
}

// Source returns g as a source. Its texts must be UTF-8.
func (g *Vocabulary) Source() (*tokenizer.Source, error) {
	for _, list := range [][]string{g.Tokens, g.Merges} {
		for i, text := range list {
			if !utf8.ValidString(text) {
				return nil, fmt.Errorf("tokenizer.ggml: token or merge %d, %.40q, is not UTF-8", i, text)
			}
		}
	}
	raw, err := json.Marshal(g)
	return &tokenizer.Source{Kind: tokenizer.KindGGUF, Parts: map[string][]byte{tokenizer.PartJSON: raw}}, err
}

// New builds the tokenizer of a GGUF file.
func New(g *Vocabulary) (tokenizer.Tokenizer, error) {
	t, err := build(g)
	if err != nil {
		return nil, fmt.Errorf("tokenizer.ggml: %w", err)
	}
	return t, nil
}

func build(g *Vocabulary) (tokenizer.Tokenizer, error) {
	if len(g.Tokens) == 0 || len(g.Tokens) > encode.MaxVocab {
		return nil, fmt.Errorf("tokens: %d of them, not 1 to %d", len(g.Tokens), encode.MaxVocab)
	}
	switch g.Model {
	case "llama", "t5":
		return newPieces(g)
	case "gpt2":
		return newBytes(g)
	case "bert":
		return newWords(g)
	case spaced:
		return newSpaced(g)
	}
	return nil, fmt.Errorf("model: %.40q is not supported, only %s", g.Model, strings.Join(models, ", "))
}

// models are the supported values of tokenizer.ggml.model.
var models = []string{"llama", "t5", "gpt2", "bert", spaced}

// Check returns the error of [New] for a file with the keys tokenizer.ggml.model and
// tokenizer.ggml.pre, if these are not supported.
func Check(model, pre string) error {
	if !slices.Contains(models, model) {
		return fmt.Errorf("tokenizer.ggml.model: %.40q is not supported, only %s", model, strings.Join(models, ", "))
	}
	if _, ok := preTokenizers[pre]; model == "gpt2" && !ok {
		return fmt.Errorf("tokenizer.ggml.pre: %.40q is not supported", pre)
	}
	return nil
}

// newPieces builds a tokenizer with scores. Defaults are llama.cpp's. Like llama.cpp, it
// keeps bytes that are not valid UTF-8.
func newPieces(g *Vocabulary) (tokenizer.Tokenizer, error) {
	scores, kinds, err := g.scoresAndKinds()
	if err != nil {
		return nil, err
	}
	found := 0
	for id, piece := range g.Tokens {
		if piece == "" && (kinds[id] == subword.KindNormal || kinds[id] == subword.KindUser) {
			kinds[id] = subword.KindUnused
		}
		if kinds[id] != subword.KindByte {
			continue
		}
		b, ok := subword.ParseByte(piece)
		if !ok {
			return nil, fmt.Errorf("token %d, %.40q, has token_type BYTE but is not a byte", id, piece)
		}
		if piece == subword.BytePiece(b) {
			found++
		}
	}
	o := sentencepiece.Options{
		Unigram: g.Model == "t5", ByteFallback: found == 256, UnkSurface: " \u2047 ",
		DummyPrefix: flag(g.AddSpacePrefix, true), RemoveExtra: flag(g.RemoveExtraWhitespaces, false),
		EscapeSpaces: true, Raw: true, LlamaCpp: true, TakesSpace: g.takesSpace(kinds),
	}
	if len(g.Charsmap) > 0 {
		if o.Charsmap, err = charsmap.New(g.Charsmap); err != nil {
			return nil, err
		}
	}
	t, err := sentencepiece.New(g.Tokens, scores, kinds, o)
	if err != nil {
		return nil, err
	}
	before, after, err := g.affixes(o.Unigram)
	if err != nil {
		return nil, err
	}
	t.SetAffixes(before, after)
	return t, nil
}

// takesSpace reports by id whether a token takes the white space after it. It returns nil if none
// does, as in all models but Phi-3.
func (g *Vocabulary) takesSpace(kinds []subword.Kind) []bool {
	if name := strings.ToLower(g.Name); !strings.Contains(name, "phi-3") && !strings.Contains(name, "phi3") {
		return nil
	}
	takes := make([]bool, len(g.Tokens))
	for id, piece := range g.Tokens {
		takes[id] = kinds[id] != subword.KindNormal && !slices.Contains([]string{"<unk>", "<s>", "<|endoftext|>"}, piece)
	}
	return takes
}

// affixes returns the ids before and after a text, with llama.cpp's defaults for missing
// keys.
func (g *Vocabulary) affixes(unigram bool) (before, after []int, err error) {
	bos, eos := int64(1), int64(2)
	if unigram {
		bos, eos = -1, 1
	}
	if flag(g.AddBOS, !unigram) {
		if before, err = g.affix("bos_token_id", g.BOS, bos); err != nil {
			return nil, nil, err
		}
	}
	if flag(g.AddEOS, unigram) {
		after, err = g.affix("eos_token_id", g.EOS, eos)
	}
	return before, after, err
}

// scoresAndKinds returns the scores and the kinds by id.
func (g *Vocabulary) scoresAndKinds() ([]float64, []subword.Kind, error) {
	n := len(g.Tokens)
	if len(g.Scores) != n {
		return nil, nil, fmt.Errorf("scores: %d of them for %d tokens", len(g.Scores), n)
	}
	if len(g.Types) != n {
		return nil, nil, fmt.Errorf("token_type: %d of them for %d tokens", len(g.Types), n)
	}
	scores, kinds := make([]float64, n), make([]subword.Kind, n)
	unknowns := 0
	for id, kind := range g.Types {
		if kind < int64(subword.KindNormal) || kind > int64(subword.KindByte) {
			return nil, nil, fmt.Errorf("token_type of token %d is %d, not 1 to 6", id, kind)
		}
		scores[id], kinds[id] = float64(g.Scores[id]), subword.Kind(kind)
		if kinds[id] == subword.KindUnknown {
			unknowns++
		}
	}
	if unknowns == 0 && g.Unknown != nil {
		if *g.Unknown < 0 || *g.Unknown >= int64(n) {
			return nil, nil, fmt.Errorf("unknown_token_id is %d of %d tokens", *g.Unknown, n)
		}
		kinds[*g.Unknown] = subword.KindUnknown
	}
	return scores, kinds, nil
}

// affix returns the token of a key, or otherwise if the key is missing.
func (g *Vocabulary) affix(key string, id *int64, otherwise int64) ([]int, error) {
	if id == nil {
		id = &otherwise
	}
	if *id < 0 || *id >= int64(len(g.Tokens)) {
		return nil, fmt.Errorf("%s is %d of %d tokens", key, *id, len(g.Tokens))
	}
	return []int{int(*id)}, nil
}

func flag(flag *bool, otherwise bool) bool {
	if flag == nil {
		return otherwise
	}
	return *flag
}
