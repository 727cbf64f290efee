package bench

import (
	"fmt"
	"testing"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// BenchmarkForward computes passes over prompts and over single tokens with one thread.
func BenchmarkForward(b *testing.B) {
	for _, c := range []struct {
		shape  string
		format transformer.Format
	}{
		{"alpha-1.8m", transformer.F32}, {"alpha-1.8m", transformer.Q8_0}, {"gpt2-124m", transformer.Q8_0}, {"gpt2-124m", transformer.Q4_0},
	} {
		b.Run(fmt.Sprintf("%s/%s", c.shape, c.format), func(b *testing.B) {
			random, err := Random(c.shape)
			if err != nil {
				b.Fatal(err)
			}
			m, err := transformer.New(random.Spec, random.Weights, kernel.Best(), c.format)
			if err != nil {
				b.Fatal(err)
			}
			forward(b, "prefill", m, 1, 64, (*work).prefill)
			forward(b, "decode", m, 1, 8, (*work).decode)
			forward(b, "decode/rows=8", m, 8, 8, (*work).decode)
		})
	}
}

// forward measures one phase, n tokens of each row at a time.
func forward(b *testing.B, name string, m *transformer.Model, rows, n int, run func(w *work, n int)) {
	b.Run(name, func(b *testing.B) {
		w := newWork(m, nil, rows, opening+n)
		run(w, n) // allocates its scratch memory
		for b.Loop() {
			run(w, n)
		}
		b.ReportMetric(float64(b.N*rows*n)/b.Elapsed().Seconds(), "tokens/s")
	})
}
