package train

import (
	"fmt"
	"testing"
	"time"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/kernel"
)

// flops returns the operations of one token: six for each weight of a matrix, and causal
// attention (two products forward, four back).
func flops(m *model) float64 {
	sum := 0
	for _, l := range m.linears {
		sum += 6 * l.n
	}
	c := m.config
	return float64(sum + 6*c.NLayer*c.BlockSize*c.NEmbd)
}

// matMulRate returns the rate of one thread in a large matrix product, operations per
// second: the best of several.
func matMulRate(k *kernel.Kernels) float64 {
	const n, size = 192, 768
	w, x, dst := kernel.NewMatrix(size, size), make([]float32, n*size), make([]float32, n*size)
	best := 0.0
	for range 20 {
		start := time.Now()
		k.MatMul(dst, x, n, w)
		best = max(best, 2*n*size*size/time.Since(start).Seconds())
	}
	return best
}

// BenchmarkStep also prints the share of the rate of that many threads in matrix products
// alone.
func BenchmarkStep(b *testing.B) {
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			c := Config{Threads: threads}.withDefaults()
			m := newModel(checkpoint.ModelConfig{VocabSize: 2048, BlockSize: 256, NLayer: 4, NEmbd: 128, NHead: 4})
			m.initialise(1)
			t := newTrainer(m, c, randomTokens(100_000, 2048), nil)
			n := 0
			for b.Loop() {
				n++
				if _, _, err := t.step(n); err != nil {
					b.Fatal(err)
				}
			}
			rate := float64(c.BatchSize*c.BlockSize) * float64(b.N) / b.Elapsed().Seconds()
			b.ReportMetric(rate, "tokens/s")
			b.ReportMetric(rate*flops(m)/1e9, "GFLOP/s")
			b.ReportMetric(100*rate*flops(m)/(matMulRate(t.k)*float64(threads)), "%matmul")
		})
	}
}
