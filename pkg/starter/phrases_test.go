package starter

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/engine"
	"glossa/pkg/engine/arch"
	"glossa/pkg/llm"
	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/sentencepiece"
)

// leastExact is the share of held-out sentences that must be translated word for word.
const leastExact = 0.95

// translator opens the starter that translates, and its tokenizer.
func translator(t *testing.T) (*engine.Translator, *sentencepiece.M2M100) {
	t.Helper()
	m, err := arch.Open(Runs(), "phrases")
	if err != nil {
		t.Fatal(err)
	}
	words, ok := m.Tokenizer.(*sentencepiece.M2M100)
	if !ok {
		t.Fatalf("its tokenizer is a %T", m.Tokenizer)
	}
	tr, err := engine.NewTranslator(m, engine.Config{Name: "phrases", Languages: []string{"en", "fr"}})
	if err != nil {
		t.Fatal(err)
	}
	return tr, words
}

// translate translates many texts, as many at once as a request may have.
func translate(t *testing.T, tr *engine.Translator, texts []string, source, target string, beams int) (out []string) {
	t.Helper()
	for part := range slices.Chunk(texts, engine.MaxTexts) {
		got, _, err := tr.Translate(t.Context(), &llm.TranslateRequest{Texts: part, Source: source, Target: target, Beams: beams})
		if err != nil {
			t.Fatal(err)
		}
		for _, translation := range got {
			out = append(out, translation.Text)
		}
	}
	return out
}

func readJSON(t *testing.T, name string, v any) {
	t.Helper()
	raw, err := os.ReadFile("testdata/phrases/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, v); err != nil {
		t.Fatal(err)
	}
}

// Texts are encoded and translated as by the original classes.
func TestPhrasesGolden(t *testing.T) {
	tr, words := translator(t)
	var golden []struct {
		Source      string           `json:"source_lang"`
		Target      string           `json:"target_lang"`
		Text        string           `json:"text"`
		IDs         []int            `json:"ids"`
		Beams       map[string][]int `json:"beams"` // start, language, text, end
		Translation string           `json:"translation"`
	}
	readJSON(t, "golden.json", &golden)
	if len(golden) < 40 {
		t.Fatalf("%d sentences", len(golden))
	}
	for _, g := range golden {
		if ids := words.Encode(g.Text); !slices.Equal(ids, g.IDs[1:len(g.IDs)-1]) {
			t.Errorf("%q: %v, want %v", g.Text, ids, g.IDs)
		}
		for beams, n := range map[string]int{"1": 1, "4": 4, "5": 5} {
			want := g.Beams[beams]
			got := strings.TrimSpace(translate(t, tr, []string{g.Text}, g.Source, g.Target, n)[0]) // white space around a text stays
			if got != tokenizer.Decode(words, want[2:len(want)-1]) || n == 4 && got != g.Translation {
				t.Errorf("%q with %s beams: %q, want %q", g.Text, beams, got, g.Translation)
			}
		}
	}
}

// Held-out sentences are translated as well as by the original classes with these
// weights.
func TestPhrasesQuality(t *testing.T) {
	if testing.Short() {
		t.Skip("translates 1600 sentences")
	}
	tr, _ := translator(t)
	var pairs [][2]string
	readJSON(t, "heldout.json", &pairs)
	var quality struct {
		Sample map[string]map[string]float64 // per cent, by direction and beams
	}
	readJSON(t, "quality.json", &quality)
	codes := [2]string{"en", "fr"}
	for from, to := range []int{1, 0} {
		var texts []string
		for _, p := range pairs {
			texts = append(texts, p[from])
		}
		for beams, n := range map[string]int{"1": 1, "4": 4} {
			exact := 0
			for i, got := range translate(t, tr, texts, codes[from], codes[to], n) {
				if got == pairs[i][to] {
					exact++
				}
			}
			direction := codes[from] + "-" + codes[to]
			share := 100 * float64(exact) / float64(len(pairs))
			if want := quality.Sample[direction][beams]; share < 100*leastExact || share < want-0.5 {
				t.Errorf("%s with %s beams: %.2f %% exact, the original has %.2f %%", direction, beams, share, want)
			}
		}
	}
}
