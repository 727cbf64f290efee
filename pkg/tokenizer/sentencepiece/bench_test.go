package sentencepiece

import (
	"strings"
	"testing"

	"glossa/pkg/tokenizer/internal/tokenizertest"
)

func BenchmarkSentencePiece(b *testing.B) {
	g := tokenizertest.ReadPieceGoldens(b, "testdata")
	var words strings.Builder
	for words.Len() < 1<<20 {
		words.WriteString(g.Texts[len(g.Texts)-1])
		words.WriteString(" El niño cruzó el río; 東京の朝、手紙を書く。 for i := 0; i < 10; i++ {\n")
	}
	texts := map[string]string{"prose": words.String(), "no spaces": strings.Repeat("walkingriver", 1<<20/12)}
	for _, name := range []string{"unigram", "unigrambytes", "bpe", "bpebytes"} {
		tok := readPieceTokenizer(b, name)
		for kind, text := range texts {
			b.Run(name+"/"+kind, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					tok.Encode(text)
				}
			})
		}
	}
}
