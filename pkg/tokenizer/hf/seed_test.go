package hf

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/internal/tokenizertest"
)

// vocabularyDir is the directory of a complete vocabulary, which is not in the
// repository.
var vocabularyDir = flag.String("vocabulary", "", "directory with the vocab.json and merges.txt of GPT-2 (r50k)")

// wholeVocabulary returns the tokenizer in the directory, nil if there is none.
func wholeVocabulary(t testing.TB) tokenizer.Tokenizer {
	t.Helper()
	if *vocabularyDir == "" {
		return nil
	}
	var files [2][]byte
	for i, name := range []string{"vocab.json", "merges.txt"} {
		raw, err := os.ReadFile(filepath.Join(*vocabularyDir, name))
		if err != nil {
			t.Fatal(err)
		}
		files[i] = raw
	}
	tok, err := ParseGPT2(files[0], files[1])
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// The examples of TextSynth (tokenize, logit_bias), with the part of r50k that determines
// them; see testdata/seed001.py for why that suffices.
func TestSeed001(t *testing.T) {
	small, err := ParseGPT2(tokenizertest.ReadFile(t, "testdata", "seed001.vocab.json"), tokenizertest.ReadFile(t, "testdata", "seed001.merges.txt"))
	if err != nil {
		t.Fatal(err)
	}
	toks := map[string]tokenizer.Tokenizer{"part": small}
	if whole := wholeVocabulary(t); whole != nil {
		toks["whole"] = whole
	}
	for name, tok := range toks {
		for text, want := range map[string][]int{
			"The quick brown fox jumps over the lazy dog": {464, 2068, 7586, 21831, 18045, 625, 262, 16931, 3290},
			" unicorn": {44986},
		} {
			if got := tok.Encode(text); !slices.Equal(got, want) {
				t.Errorf("%s: %q: %v, want %v", name, text, got, want)
			}
			if got := tokenizer.Decode(tok, want); got != text {
				t.Errorf("%s: %v decode to %q, want %q", name, want, got, text)
			}
		}
	}
}
