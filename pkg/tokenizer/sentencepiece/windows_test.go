package sentencepiece

import (
	"math/rand/v2"
	"slices"
	"testing"

	"glossa/pkg/tokenizer/internal/tokenizertest"
	"glossa/pkg/tokenizer/internal/unigram"
)

// Long words are cut window by window with the same result as the whole.
func TestWindows(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	alphabet := []rune("the cat\u2581\u2581sa世éaaa")
	words := func(n int) string {
		runes := make([]rune, n)
		for i := range runes {
			runes[i] = alphabet[rng.IntN(len(alphabet))]
		}
		return string(runes)
	}
	for _, name := range tokenizertest.ModelNames {
		tok := readPieceTokenizer(t, name)
		window := func(n int) {
			switch m := tok.model.(type) {
			case *scoredBPE:
				m.window = n
			case *unigram.Model:
				m.Span = n
			}
		}
		for range 100 {
			text := words(40 + rng.IntN(500))
			window(0)
			want := tok.Encode(text)
			for _, n := range []int{1, 4, 20, 100} {
				window(n)
				if got := tok.Encode(text); !slices.Equal(got, want) {
					t.Fatalf("%s, %d at once: %q is %v, want %v", name, n, text, got, want)
				}
			}
		}
	}
}
