package sentencepiece

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/tokenizer/internal/charsmap"
	"glossa/pkg/tokenizer/internal/encode"
	"glossa/pkg/tokenizer/internal/spmodel"
	"glossa/pkg/tokenizer/internal/tokenizertest"
	"glossa/pkg/tokenizer/internal/unigram"
)

// The pipeline that transformers' XGLMTokenizer builds from tokenizers' parts
// (Precompiled, Replace, Metaspace, Unigram), composed here of the equivalent parts.
func TestUnigramOfTokenizers(t *testing.T) {
	g := tokenizertest.ReadPieceGoldens(t, "testdata")
	m, err := spmodel.Read(tokenizertest.ReadFile(t, "testdata", "sp.unigram.model"))
	if err != nil {
		t.Fatal(err)
	}
	rules, err := charsmap.New(m.Normalizer.Charsmap)
	if err != nil {
		t.Fatal(err)
	}
	xglm := readXGLM(t)
	scores := slices.Concat(make([]float64, 4), m.Scores[3:], make([]float64, xglmMadeUp))
	u, err := unigram.New(xglm.pieces, scores, 3, unigram.Options{As: unigram.Tokenizers})
	if err != nil {
		t.Fatal(err)
	}
	spaces := regexp.MustCompile(" {2,}")
	compared := 0
	for i, text := range g.Texts {
		specials := encode.Output{Limit: math.MaxInt}
		if encodeBetween(xglm.trie, &specials, text, encode.Everywhere(), func(string, encode.Reads) {}); len(specials.IDs) > 0 {
			continue // those are cut off before
		}
		normal := spaces.ReplaceAllString(rules.ReplaceClusters(text), " ")
		normal = strings.ReplaceAll(normal, " ", spaceMark)
		if normal != "" && !strings.HasPrefix(normal, spaceMark) {
			normal = spaceMark + normal
		}
		got := encode.Output{IDs: []int{2}, Limit: math.MaxInt}
		for _, word := range strings.SplitAfter(strings.ReplaceAll(normal, spaceMark, "\x00"+spaceMark), "\x00") {
			if word = strings.TrimSuffix(word, "\x00"); word != "" {
				u.Encode(&got, word)
			}
		}
		if strings.Contains(text, "\x00") {
			continue // NUL is the mark of cuts above
		}
		compared++
		if !slices.Equal(got.IDs, g.XGLM.IDs[i]) {
			t.Errorf("%.60q\n %v, want\n %v", text, got.IDs, g.XGLM.IDs[i])
		}
	}
	if compared < 100 {
		t.Errorf("%d texts compared", compared)
	}
}
