package tokenizer

import "testing"

// ggufKeys are the keys that a converter writes for a .model file.
func ggufKeys(t testing.TB, name string) *GGUF {
	t.Helper()
	m, err := readPieceModel(readFile(t, "testdata", "sp."+name+".model"))
	if err != nil {
		t.Fatal(err)
	}
	g := &GGUF{
		Model: "llama", Tokens: m.pieces, Charsmap: m.normalizer.charsmap,
		AddSpacePrefix: &m.normalizer.dummyPrefix, RemoveExtraWhitespaces: &m.normalizer.removeExtra,
	}
	if m.modelType == modelUnigram {
		g.Model = "t5"
	}
	for id, kind := range m.kinds {
		g.Types = append(g.Types, int64(kind))
		g.Scores = append(g.Scores, float32(m.scores[id]))
	}
	return g
}

func ggufOf(t testing.TB, name string) Tokenizer {
	t.Helper()
	tok, err := FromGGUF(ggufKeys(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}
