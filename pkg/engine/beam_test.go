package engine

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// searches are the results of transformers' generate with a golden model.
type searches struct {
	Searches []struct {
		Beams    int             `json:"num_beams"`
		Early    json.RawMessage `json:"early_stopping"`
		Limit    int             `json:"max_length"` // with the start
		Penalty  float64         `json:"length_penalty"`
		Sources  [][]int         `json:"sources"`
		Language int             `json:"language"`
		Results  [][]struct {
			Tokens []int   `json:"tokens"` // start, language, text, end
			Score  float64 `json:"score"`
		} `json:"results"` // by source, best first
	} `json:"searches"`
}

func early(t *testing.T, raw json.RawMessage) arch.EarlyStopping {
	switch string(raw) {
	case "", "false", "null":
		return arch.StopFalse
	case "true":
		return arch.StopTrue
	case `"never"`:
		return arch.StopNever
	}
	t.Fatalf("early_stopping is %s", raw)
	return 0
}

// translator returns an engine of a golden model without a text tokenizer: it can only
// search.
func translator(t *testing.T, name string) *Translator {
	t.Helper()
	m, err := arch.Open(os.DirFS("arch/testdata"), name)
	if err != nil {
		t.Fatal(err)
	}
	model, err := transformer.New(m.Spec, m.Weights, kernel.Best(), transformer.F32)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return &Translator{core: &core{model: model, kernels: kernel.Best(), lanes: &lanes{kernels: kernel.Best(), batches: newBatches(model, nil)}, memory: DefaultMaxMemory, tokens: m.Tokens}, rules: *m.Translation}
}

// Searches with one to five beams find the same tokens as the original implementation,
// alone and together with others, with the same scores.
func TestBeamSearch(t *testing.T) {
	files, err := filepath.Glob("arch/testdata/m*/golden.json")
	files = slices.DeleteFunc(files, func(name string) bool {
		return !strings.Contains(name, "m2m_100") && !strings.Contains(name, "marian") && !strings.Contains(name, "mbart")
	})
	if err != nil || len(files) < 6 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var golden searches
		if err := json.Unmarshal(raw, &golden); err != nil {
			t.Fatal(err)
		}
		tr := translator(t, filepath.Base(filepath.Dir(file)))
		beams := map[int]bool{}
		for i, s := range golden.Searches {
			beams[s.Beams] = true
			w := &translation{Translator: tr, beams: s.Beams, target: &arch.Language{Target: s.Language}, member: tr.lanes.join("", nil)}
			w.rules.LengthPenalty, w.rules.EarlyStopping = s.Penalty, early(t, s.Early)
			if s.Beams == 1 { // greedy decoding has neither
				w.rules.LengthPenalty, w.rules.EarlyStopping = 1, arch.StopNever
			}
			var sentences []*sentence
			for _, ids := range s.Sources {
				sentences = append(sentences, &sentence{ids: ids, limit: s.Limit - 1})
			}
			w.waiting = slices.Clone(sentences)
			if err := w.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.member.leave()
			for j, found := range sentences {
				for k, want := range s.Results[j] {
					got := found.search.finished[k]
					if !slices.Equal(got.tokens, want.Tokens[1:]) || s.Beams > 1 && math.Abs(got.score-want.Score) > 1e-4 {
						t.Errorf("%s: search %d, source %d, rank %d: %v %.5f, want %v %.5f",
							file, i, j, k, got.tokens, got.score, want.Tokens[1:], want.Score)
					}
				}
			}
		}
		if len(beams) != MaxBeams {
			t.Errorf("%s: searches with %d numbers of beams", file, len(beams))
		}
	}
}

// However likely tokens are that must not come, others do, with their probabilities among all; and
// where the end is forced, it is certain.
func TestSuppressed(t *testing.T) {
	rules := &arch.Search{LengthPenalty: 1, Suppressed: []int{0, 1, 2}, ForcedEnd: true}
	logits, sum := []float32{5, 4, 3, 2, 1}, 0.0
	for _, v := range logits {
		sum += math.Exp(float64(v))
	}
	b := newBeamSearch(rules, target{kernels: kernel.Best(), ends: []int{4}, tokens: 5}, 1, 3)
	for !b.done {
		b.step([][]float32{logits})
	}
	want := (2*2 - 2*math.Log(sum)) / 3
	if got := b.finished[0]; !slices.Equal(got.tokens, []int{3, 3, 4}) || math.Abs(got.score-want) > 1e-6 {
		t.Errorf("%+v, want a score of %v", got, want)
	}
}
