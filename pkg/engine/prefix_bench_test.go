package engine

import (
	"encoding/json"
	"strings"
	"testing"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
)

// gpt124m has random weights in the shape of GPT-2's smallest model, with a longer context, in
// q8_0.
func gpt124m(b *testing.B, cfg Config) *Engine {
	b.Helper()
	ck := weighted(checkpoint.ModelConfig{VocabSize: 27, BlockSize: 2048, NLayer: 12, NEmbd: 768, NHead: 12})
	ck.Tokenizer, _ = json.Marshal(map[string]any{"type": "char", "vocabSize": 27, "vocab": strings.Split("\nabcdefghijklmnopqrstuvwxyz", "")})
	m, err := arch.FromAlpha(ck, "")
	if err != nil {
		b.Fatal(err)
	}
	team := transformer.NewTeam(2)
	b.Cleanup(team.Close)
	cfg.Format, cfg.Team = transformer.Q8_0, team
	e, err := New(m, cfg)
	if err != nil {
		b.Fatal(err)
	}
	return e
}

// BenchmarkKnownPrefix measures the first token of prompts that are asked in turn.
func BenchmarkKnownPrefix(b *testing.B) {
	long := strings.Repeat("onceuponatimetherewas", 72)[:1500]
	for _, test := range []struct {
		name    string
		memory  int64
		prompts []string
	}{
		{"3x240/unknown", -1, []string{long[:240], long[1:241], long[2:242]}},
		{"3x240/128MiB", 128 << 20, []string{long[:240], long[1:241], long[2:242]}},
		{"1500/unknown", -1, []string{long}},
		{"1500/known", 1 << 30, []string{long}},
	} {
		b.Run(test.name, func(b *testing.B) {
			e := gpt124m(b, Config{PrefixMemory: test.memory})
			ask := func(prompt string) {
				if _, _, err := llm.Collect(e.Generate(b.Context(), sampled(1, prompt)), 1); err != nil {
					b.Fatal(err)
				}
			}
			for _, prompt := range test.prompts {
				ask(prompt)
			}
			before := e.lanes.computed()
			for i := 0; b.Loop(); i++ {
				ask(test.prompts[i%len(test.prompts)])
			}
			b.ReportMetric(float64(e.lanes.computed()-before)/float64(b.N), "tokens/op")
		})
	}
}
