package starter

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"glossa/pkg/engine"
	"glossa/pkg/engine/arch"
	"glossa/pkg/llm"
)

// Texts have the vectors that sentence-transformers computes with these weights.
func TestSentencesGolden(t *testing.T) {
	m, err := arch.Open(Runs(), "sentences")
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.NewEncoder(m, engine.Config{Name: "sentences"})
	if err != nil {
		t.Fatal(err)
	}
	var golden []struct {
		Text   string
		Vector []float64
	}
	raw, err := os.ReadFile("testdata/sentences.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &golden); err != nil || len(golden) < 10 {
		t.Fatal(len(golden), err)
	}
	for _, g := range golden {
		got, _, err := e.Embed(t.Context(), &llm.EmbedRequest{Prompts: []llm.Prompt{llm.Text(g.Text)}})
		if err != nil {
			t.Errorf("%q: %v", g.Text, err)
			continue
		}
		furthest := 0.0
		for i, x := range got[0].Layers[0].Vectors[0] {
			furthest = max(furthest, math.Abs(float64(x)-g.Vector[i]))
		}
		if furthest > 1e-5 {
			t.Errorf("%q: an element differs by %g", g.Text, furthest)
		}
	}
}
