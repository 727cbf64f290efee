package gguf_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/tokenizer/gguf"
	"glossa/pkg/tokenizer/hf"
	"glossa/pkg/tokenizer/internal/subword"
	"glossa/pkg/tokenizer/internal/tokenizertest"
)

// A value of tokenizer.ggml.pre cuts texts as the pre-tokenizers of the family's own
// tokenizer.json.
func TestFamilies(t *testing.T) {
	var golden struct {
		Words    []string
		Families map[string]struct{ Tokenizer json.RawMessage }
	}
	if err := json.Unmarshal(tokenizertest.ReadFile(t, "../hf/testdata", "families.golden.json"), &golden); err != nil {
		t.Fatal(err)
	}
	var texts []string
	for i, word := range golden.Words {
		for _, next := range golden.Words {
			texts = append(texts, word+next+golden.Words[(i*7+len(next))%len(golden.Words)])
		}
	}
	for pre, family := range map[string]string{
		"tekken": "tekken", "deepseek-v3": "deepseek-v3", "deepseek-coder": "deepseek-coder", "bloom": "bloom", "falcon": "falcon", "starcoder": "starcoder", "qwen35": "qwen35",
	} {
		raw := golden.Families[family].Tokenizer
		want, err := hf.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		got, err := gguf.New(familyGGUF(t, raw, pre))
		if err != nil {
			t.Errorf("%s: %v", pre, err)
			continue
		}
		for _, text := range texts {
			if family == "falcon" && strings.ContainsFunc(text, func(r rune) bool { return r >= 0x80 }) {
				continue // its own file looks for digits in the spelling of bytes, which a GGUF file cannot say
			}
			if a, b := got.Encode(text), want.Encode(text); !slices.Equal(a, b) {
				t.Fatalf("%s: %q is %v, want %v", pre, text, a, b)
			}
		}
	}
}

// familyGGUF returns the keys of a GGUF file with the vocabulary of a tokenizer.json.
func familyGGUF(t *testing.T, raw []byte, pre string) *gguf.Vocabulary {
	t.Helper()
	var f struct {
		Model struct {
			Vocab  map[string]int
			Merges [][2]string
		}
		AddedTokens []hf.AddedToken `json:"added_tokens"`
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		t.Fatal(err)
	}
	n := len(f.Model.Vocab) + len(f.AddedTokens)
	g := &gguf.Vocabulary{Model: "gpt2", Pre: pre, AddBOS: new(false), Tokens: make([]string, n), Types: make([]int64, n)}
	for piece, id := range f.Model.Vocab {
		g.Tokens[id], g.Types[id] = piece, int64(subword.KindNormal)
	}
	for _, token := range f.AddedTokens {
		g.Tokens[token.ID], g.Types[token.ID] = token.Content, int64(subword.KindUser)
	}
	for _, m := range f.Model.Merges {
		g.Merges = append(g.Merges, strings.Join(m[:], " "))
	}
	return g
}
