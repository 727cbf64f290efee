package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// BenchmarkPaged decodes with one thread while a share of the experts has room in memory and the
// others stay in the file. Experts that were dropped come back from the system's cache of files,
// unless memory is short there too. With random weights no expert is used more often than others.
func BenchmarkPaged(b *testing.B) {
	const tokens = 8
	random, err := Random("moe-16x-370m")
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	file, err := os.Create(filepath.Join(dir, "m.safetensors"))
	if err != nil {
		b.Fatal(err)
	}
	model := &arch.Model{Type: "qwen3_moe", Spec: random.Spec, Weights: random.Weights, Tokens: random.Spec.Vocab}
	if err := arch.Pack(file, model, kernel.Best(), transformer.Q4_0, func(_, _ int64) error { return nil }); err != nil {
		b.Fatal(err)
	}
	if err := file.Close(); err != nil {
		b.Fatal(err)
	}
	info, err := arch.Describe(os.DirFS(dir), ".")
	if err != nil {
		b.Fatal(err)
	}
	for _, percent := range []int64{0, 100, 75, 50, 25} { // 0: opened as a whole
		b.Run(fmt.Sprintf("memory=%d%%", percent), func(b *testing.B) {
			m, err := arch.Open(os.DirFS(dir), ".")
			if percent > 0 {
				m, err = arch.OpenPaged(os.DirFS(dir), ".", info.Paged[transformer.Stored].All*percent/100)
			}
			if err != nil {
				b.Fatal(err)
			}
			defer m.Close()
			t, err := transformer.New(m.Spec, m.Weights, kernel.Best(), transformer.Stored)
			if err != nil {
				b.Fatal(err)
			}
			w := newWork(t, nil, 1, opening+tokens)
			w.decode(tokens) // reads what is used
			before, _ := t.ExpertUse()
			for b.Loop() {
				w.decode(tokens)
			}
			b.ReportMetric(float64(b.N*tokens)/b.Elapsed().Seconds(), "tokens/s")
			if use, ok := t.ExpertUse(); ok {
				hits, misses := use.Hits-before.Hits, use.Misses-before.Misses
				b.ReportMetric(100*float64(hits)/float64(hits+misses), "%hits")
			}
		})
	}
}
