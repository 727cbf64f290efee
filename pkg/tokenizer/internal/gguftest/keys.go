// Package gguftest makes the keys of GGUF files for tests of SentencePiece models.
package gguftest

import (
	"testing"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/gguf"
	"glossa/pkg/tokenizer/internal/spmodel"
	"glossa/pkg/tokenizer/internal/tokenizertest"
)

// Keys returns the keys that a converter writes for the model sp.NAME.model in dir.
func Keys(t testing.TB, dir, name string) *gguf.Vocabulary {
	t.Helper()
	m, err := spmodel.Read(tokenizertest.ReadFile(t, dir, "sp."+name+".model"))
	if err != nil {
		t.Fatal(err)
	}
	g := &gguf.Vocabulary{
		Model: "llama", Tokens: m.Pieces, Charsmap: m.Normalizer.Charsmap,
		AddSpacePrefix: &m.Normalizer.DummyPrefix, RemoveExtraWhitespaces: &m.Normalizer.RemoveExtra,
	}
	if m.ModelType == spmodel.Unigram {
		g.Model = "t5"
	}
	for id, kind := range m.Kinds {
		g.Types = append(g.Types, int64(kind))
		g.Scores = append(g.Scores, float32(m.Scores[id]))
	}
	return g
}

// Open builds the tokenizer of those keys.
func Open(t testing.TB, dir, name string) tokenizer.Tokenizer {
	t.Helper()
	tok, err := gguf.New(Keys(t, dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}
