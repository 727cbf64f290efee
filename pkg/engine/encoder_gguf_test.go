package engine_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/engine"
	"glossa/pkg/engine/arch"
	"glossa/pkg/llm"
)

// plainTexts are read alike by all tokenizers: GGUF keeps neither Unicode's normal forms nor
// whether a WordPiece tokenizer has capital letters.
var plainTexts = []string{"the red hen sees a cat", "cats, dogs & hens: seven of them!", "a", strings.Repeat("the cat and the dog ", 4), "two spaces"}

// A file of GGUF with the weights of a directory has its vectors, with length 1.
func TestEncoderGGUF(t *testing.T) {
	files, err := filepath.Glob("testdata/ggufs/encoder-*.gguf")
	if err != nil || len(files) != 6 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "encoder-"), ".gguf")
		t.Run(name, func(t *testing.T) {
			directory := openEncoder(t, filepath.Join("testdata/encoders", name), engine.Config{})
			want, tokens := vectorsOf(t, directory, embedTexts(plainTexts, nil))
			got, used := vectorsOf(t, openEncoder(t, file, engine.Config{}), embedTexts(plainTexts, nil))
			if used != tokens {
				t.Errorf("%+v, want %+v", used, tokens)
			}
			for i := range want {
				if d := difference(got[i], ofLength1(want[i])); !(d <= 1e-6) {
					t.Errorf("text %d differs by %.2g", i, d)
				}
			}
			info, err := arch.Describe(os.DirFS(filepath.Dir(file)), filepath.Base(file))
			if err != nil || !info.Embeds || info.Ranks || info.Tokens != nil {
				t.Errorf("%+v, %v", info, err)
			}
		})
	}
}

// ofLength1 returns v divided by its length.
func ofLength1(v []float32) []float32 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	out := slices.Clone(v)
	for i := range out {
		out[i] = float32(float64(out[i]) / math.Sqrt(sum))
	}
	return out
}

// A reranker in GGUF has the scores of its directory.
func TestRankerGGUF(t *testing.T) {
	files, err := filepath.Glob("testdata/ggufs/reranker-*.gguf")
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	var pairs []llm.Pair
	for _, text := range plainTexts {
		pairs = append(pairs, llm.Pair{Query: "a red hen", Document: text})
	}
	req := &llm.RerankRequest{Pairs: pairs, Truncate: true}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "reranker-"), ".gguf")
		want, tokens := rerank(t, openRanker(t, name, engine.Config{}), req)
		got, used := rerank(t, openRanker(t, "../ggufs/"+filepath.Base(file), engine.Config{}), req)
		if used != tokens {
			t.Errorf("%s: %+v, want %+v", name, used, tokens)
		}
		for i := range want {
			if d := math.Abs(got[i].Logit - want[i].Logit); !(d <= 1e-5) {
				t.Errorf("%s: pair %d: %+v, want %+v", name, i, got[i], want[i])
			}
		}
		if info, err := arch.Describe(os.DirFS(filepath.Dir(file)), filepath.Base(file)); err != nil || !info.Ranks || info.Embeds || info.Tokens != nil {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
}
