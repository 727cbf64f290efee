package quoting

import (
	"strings"
	"testing"

	"glossa/pkg/bench"
	"glossa/pkg/engine"
	"glossa/pkg/engine/transformer"
)

// A scripted model answers each task as written, with drafts and without, and quotes where the
// answer does.
func TestShape(t *testing.T) {
	for _, task := range Tasks() {
		var drafted, accepted [2]int64
		for i, plain := range []bool{true, false} {
			m, err := scripted(bench.Random, "alpha-1.8m", task, 100)
			if err != nil {
				t.Fatal(err)
			}
			e, err := engine.New(m, engine.Config{NoDrafts: plain, Format: transformer.Q8_0})
			if err != nil {
				t.Fatal(err)
			}
			text, tokens, _, err := generate(t.Context(), e, task.Prompt, 512)
			if err != nil || text != task.Answer || tokens != len(newPieces(1e6).Encode(task.Answer))+1 {
				t.Errorf("%s: %v: %d tokens: %q, want %q", task.Name, err, tokens, text, task.Answer)
			}
			drafted[i], accepted[i] = e.Drafts()
		}
		if drafted[0] != 0 || accepted[1] > drafted[1] {
			t.Errorf("%s: %d tokens were drafted without drafts, %d of %d accepted with them", task.Name, drafted[0], accepted[1], drafted[1])
		}
	}
}

// A measurement reports both ways of generating the same text.
func TestMeasure(t *testing.T) {
	tasks := 0
	for r, err := range Shape(t.Context(), Shapes()[0], Config{Threads: 1, Repeat: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Task != Tasks()[min(tasks, 3)].Name || (r.Draft != "") != (tasks > 3) || r.Plain <= 0 || r.Drafting <= 0 || r.Ratio != r.Drafting/r.Plain || r.Tokens < 50 {
			t.Errorf("%+v", r)
		}
		tasks++
	}
	if tasks != 4+len(rights) {
		t.Errorf("%d tasks", tasks)
	}
}

func TestRefused(t *testing.T) {
	cfg := Config{Threads: 1, Repeat: 1}
	for shape, want := range map[string]string{"qwen3-0.6b": "no table of positions", "gpt5": "unknown shape"} {
		for _, err := range Shape(t.Context(), shape, cfg) {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", shape, err, want)
			}
		}
	}
}
