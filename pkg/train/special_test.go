package train

import (
	"slices"
	"strings"
	"testing"

	"glossa/pkg/tokenizer/alpha"
)

// A special token is one token of every kind of tokenizer, and the text around it has the
// tokens that it would have alone.
func TestSpecialTokens(t *testing.T) {
	text := strings.Repeat("<|ask|>what is that<|end|>that is it<|end|>\n", 20)
	for _, kind := range []string{alpha.BPE, alpha.Char, alpha.Word} {
		c := Config{Tokenizer: kind, VocabSize: 40, Special: []string{"<|ask|>", "<|end|>"}}
		raw, err := vocabulary(&c, text)
		if err != nil {
			t.Fatal(err)
		}
		tok, err := alpha.Parse(raw)
		if err != nil {
			t.Fatal(kind, err)
		}
		whole, alone := tok.EncodeSpecial("<|ask|>what is<|end|>"), tok.Encode("what is")
		if n := len(whole); n != len(alone)+2 || !slices.Equal(whole[1:n-1], alone) || whole[0] == whole[n-1] {
			t.Errorf("%s: %v, alone %v", kind, whole, alone)
		}
		if kind == alpha.BPE && len(alone) >= len("what is") {
			t.Errorf("no merges: %v", alone)
		}
	}
}
