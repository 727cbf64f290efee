package corpus_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode"

	"glossa/pkg/engine"
	"glossa/pkg/engine/arch"
	"glossa/pkg/llm"
	starters "glossa/pkg/starter"
	"glossa/pkg/starter/corpus"
)

const (
	pairsHeldOut  = 1000
	sentencesFile = "../testdata/sentences.md"
)

// leastFound is the share of texts whose partner must be the nearest of all, of statements
// and of questions.
var leastFound = [2]float64{0.99, 0.89}

// TestSentencesFindTheirPartner measures the starter on pairs whose meanings it has not seen:
// how often the nearest of 1,000 texts is the partner, beside a comparison of words.
func TestSentencesFindTheirPartner(t *testing.T) {
	if testing.Short() {
		t.Skip("embeds 4,000 texts")
	}
	e := openSentences(t)
	table := "| find, among 1,000 | 128 numbers | 64 | 32 | same words |\n|---|---|---|---|---|\n"
	for i, kind := range []string{"another statement of the same", "the answer to a question"} {
		var first, second []string
		for _, p := range corpus.HeldOutPairs(heldOutSeed, pairsHeldOut, i == 1) {
			first, second = append(first, p.A), append(second, p.B)
		}
		table += "| " + kind
		for _, n := range []int{128, 64, 32} {
			share := found(vectorsOf(t, e, first, n), vectorsOf(t, e, second, n))
			table += fmt.Sprintf(" | %.1f %%", 100*share)
			if n == 128 && share < leastFound[i] {
				t.Errorf("%s: %.1f %% found, at least %.0f %% must be", kind, 100*share, 100*leastFound[i])
			}
		}
		table += fmt.Sprintf(" | %.1f %% |\n", 100*found(wordVectors(first, second)))
	}
	t.Logf("\n%s", table)
	if !t.Failed() {
		checkTable(t, sentencesFile, table, 0.5)
	}
}

// openSentences opens the starter that embeds.
func openSentences(t *testing.T) *engine.Encoder {
	t.Helper()
	m, err := arch.OpenAny(starters.Runs(), "sentences")
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.NewEncoder(m, engine.Config{Name: "sentences"})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// vectorsOf embeds texts in n dimensions.
func vectorsOf(t *testing.T, e *engine.Encoder, texts []string, n int) (out [][]float32) {
	t.Helper()
	for part := range slices.Chunk(texts, 250) {
		req := &llm.EmbedRequest{Dimensions: n}
		for _, text := range part {
			req.Prompts = append(req.Prompts, llm.Text(text))
		}
		made, _, err := e.Embed(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range made {
			out = append(out, m.Layers[0].Vectors[0])
		}
	}
	return out
}

// found returns the share of rows of a whose nearest row of b, by the dot product, has the same
// index.
func found(a, b [][]float32) float64 {
	right := 0
	for i, x := range a {
		best, at := float32(math.Inf(-1)), -1
		for j, y := range b {
			var dot float32
			for k := range x {
				dot += x[k] * y[k]
			}
			if dot > best {
				best, at = dot, j
			}
		}
		if at == i {
			right++
		}
	}
	return float64(right) / float64(len(a))
}

// wordVectors returns vectors of length 1 with the inverse document frequency of each text's words
// (Spärck Jones 1972), the frequencies being those of b.
func wordVectors(a, b []string) (x, y [][]float32) {
	index, documents := map[string]int{}, map[string]int{}
	words := func(text string) []string {
		list := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		slices.Sort(list)
		return slices.Compact(list)
	}
	for _, text := range b {
		for _, w := range words(text) {
			documents[w]++
			if _, ok := index[w]; !ok {
				index[w] = len(index)
			}
		}
	}
	vector := func(text string) []float32 {
		v := make([]float32, len(index))
		norm := 0.0
		for _, w := range words(text) {
			if at, ok := index[w]; ok {
				idf := math.Log(float64(len(b)+1) / float64(documents[w]))
				v[at] = float32(idf)
				norm += idf * idf
			}
		}
		for i := range v {
			v[i] /= float32(math.Sqrt(max(norm, 1e-9)))
		}
		return v
	}
	for i := range a {
		x, y = append(x, vector(a[i])), append(y, vector(b[i]))
	}
	return x, y
}
