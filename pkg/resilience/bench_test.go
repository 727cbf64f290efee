package resilience

import (
	"strings"
	"testing"

	"glossa/pkg/llm"
)

// BenchmarkKey measures the hash of requests by the length of the prompt.
func BenchmarkKey(b *testing.B) {
	for name, req := range map[string]*llm.Request{
		"10KB": {Prompts: []llm.Prompt{llm.Text(strings.Repeat("0123456789", 1000))}, Params: llm.Params{Temperature: new(0.0)}},
		"10B":  {Prompts: []llm.Prompt{llm.Text("0123456789")}, Params: llm.Params{Temperature: new(0.0)}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := keyOf("generate", [3]string{"f", "n", "v"}, *req); !ok {
					b.Fatal("no key")
				}
			}
		})
	}
}

// BenchmarkCache measures an answer of a hundred chunks to a prompt of 10 KB, from a model that
// takes no time.
func BenchmarkCache(b *testing.B) {
	req := request()
	req.Prompts[0] = llm.Text(strings.Repeat("0123456789", 1000))
	script := slicesRepeat("word ", 100)
	model := &llm.Model{ModelInfo: llm.ModelInfo{Name: "a"}, Backend: script}
	run := func(b *testing.B, m llm.Backend, n int) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			req.Seed = new(int64(i % n))
			for range m.Generate(b.Context(), req) {
			}
		}
	}
	p := Policy{Keep: hour, Seeded: true}
	b.Run("without", func(b *testing.B) { run(b, model, 1<<40) })
	b.Run("miss", func(b *testing.B) { run(b, Keep(&Store{})(model, p), 1<<40) })
	b.Run("hit", func(b *testing.B) { run(b, Keep(&Store{})(model, p), 1) })
}
