package tokenizer

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What transformers' XGLMTokenizer makes of tokenizers' parts (Precompiled, Replace,
// Metaspace, Unigram), put together here of the parts this package has for them.
func TestUnigramOfTokenizers(t *testing.T) {
	g := readPieceGoldens(t)
	m, err := readPieceModel(readFile(t, "testdata", "sp.unigram.model"))
	if err != nil {
		t.Fatal(err)
	}
	rules, err := newCharsmap(m.normalizer.charsmap)
	if err != nil {
		t.Fatal(err)
	}
	xglm := readXGLM(t)
	scores := slices.Concat(make([]float64, 4), m.scores[3:], make([]float64, xglmMadeUp))
	u, err := newUnigram(xglm.pieces, scores, 3, unigramOptions{double: true})
	if err != nil {
		t.Fatal(err)
	}
	spaces := regexp.MustCompile(" {2,}")
	compared := 0
	for i, text := range g.Texts {
		specials := output{limit: math.MaxInt}
		if encodeBetween(xglm.trie, &specials, text, true, func(string) {}); len(specials.ids) > 0 {
			continue // those are cut off before
		}
		normal := spaces.ReplaceAllString(rules.replaceClusters(text), " ")
		normal = strings.ReplaceAll(normal, " ", spaceMark)
		if normal != "" && !strings.HasPrefix(normal, spaceMark) {
			normal = spaceMark + normal
		}
		got := output{ids: []int{2}, limit: math.MaxInt}
		for _, word := range strings.SplitAfter(strings.ReplaceAll(normal, spaceMark, "\x00"+spaceMark), "\x00") {
			if word = strings.TrimSuffix(word, "\x00"); word != "" {
				u.encode(&got, word)
			}
		}
		if strings.Contains(text, "\x00") {
			continue // NUL is the mark of cuts above
		}
		compared++
		if !slices.Equal(got.ids, g.XGLM.IDs[i]) {
			t.Errorf("%.60q\n %v, want\n %v", text, got.ids, g.XGLM.IDs[i])
		}
	}
	if compared < 100 {
		t.Errorf("%d texts compared", compared)
	}
}
