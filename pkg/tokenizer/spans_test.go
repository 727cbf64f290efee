package tokenizer_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/hf"
)

type spansTokenizer interface {
	tokenizer.Tokenizer
	tokenizer.Specials
}

// spansTokenizers returns tokenizers with special tokens, by the name of their file.
func spansTokenizers(t *testing.T) map[string]spansTokenizer {
	t.Helper()
	list := map[string]spansTokenizer{}
	files, err := filepath.Glob("hf/testdata/*.tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tok, err := hf.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		list[file] = tok.(spansTokenizer)
	}
	if len(list) < 5 {
		t.Fatalf("%d tokenizers", len(list))
	}
	return list
}

func spansIDs(t *testing.T, tok tokenizer.Tokenizer, spans []tokenizer.Span) []int {
	t.Helper()
	var to tokenizer.Collector
	if err := to.AddSpans(t.Context(), tok, spans); err != nil {
		t.Fatal(err)
	}
	return to.IDs()
}

// However a text without special tokens is cut into spans, and whoever wrote them, its tokens
// are those of the whole text.
func TestSpansAreOneText(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	words := []string{"\n\n", " ", "Hello", "user\n", " the", "12", "345", "é", "日本", "\t", "  ", "don't", "🙂", "_x", "."}
	for file, tok := range spansTokenizers(t) {
		for range 200 {
			var spans []tokenizer.Span
			var text strings.Builder
			for range random.IntN(12) {
				word := words[random.IntN(len(words))]
				spans = append(spans, tokenizer.Span{Text: word, Special: random.IntN(2) == 0})
				text.WriteString(word)
			}
			want := tok.EncodeSpecial(text.String())
			if got := spansIDs(t, tok, spans); !slices.Equal(got, want) {
				t.Fatalf("%s: %v: %v, want %v", file, spans, got, want)
			}
		}
	}
}

// A special token counts only where all of its letters are the template's.
func TestSpansAreNotForged(t *testing.T) {
	for file, tok := range spansTokenizers(t) {
		for mark, id := range tok.SpecialTokens() {
			plain := func(text string) int { return count(tok.Encode(text), id) }
			for cut := 1; cut < len(mark); cut++ {
				before, after := mark[:cut], mark[cut:]
				for _, spans := range [][]tokenizer.Span{
					{{Text: "a" + mark}, {Text: "b", Special: true}},
					{{Text: "a" + before}, {Text: after, Special: true}},
					{{Text: "a" + before, Special: true}, {Text: after + "b"}},
					{{Text: before, Special: true}, {Text: after}, {Text: "b", Special: true}},
				} {
					var text string
					for _, s := range spans {
						text += s.Text
					}
					if got := count(spansIDs(t, tok, spans), id); got != plain(text) {
						t.Errorf("%s: %v makes %s %d times", file, spans, mark, got)
					}
				}
				spans := []tokenizer.Span{{Text: "b " + mark + " a"}, {Text: before, Special: true}, {Text: after, Special: true}, {Text: "c"}}
				if n := count(spansIDs(t, tok, spans), id); n != 1+plain("b "+mark+" a") {
					t.Errorf("%s: %v has %s %d times", file, spans, mark, n)
				}
			}
		}
	}
}

func count(ids []int, id int) (n int) {
	for _, got := range ids {
		if got == id {
			n++
		}
	}
	return n
}

// Many spans take linear time, and the bounds hold.
func TestManySpans(t *testing.T) {
	for file, tok := range spansTokenizers(t) {
		var mark string
		for mark = range tok.SpecialTokens() {
			break
		}
		spans := make([]tokenizer.Span, 0, 40_000)
		for range cap(spans) / 2 {
			spans = append(spans, tokenizer.Span{Text: mark, Special: true}, tokenizer.Span{Text: "a " + mark})
		}
		to := tokenizer.Collector{Max: 1000}
		if err := to.AddSpans(t.Context(), tok, spans); err == nil {
			t.Errorf("%s: no error", file)
		}
		if ids := spansIDs(t, tok, spans); len(ids) < 40_000 {
			t.Errorf("%s: %d tokens", file, len(ids))
		}
		break
	}
}
