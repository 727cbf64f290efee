package checkpoint_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"

	"glossa/pkg/engine/checkpoint"
)

// trained returns a checkpoint whose weights resemble those of a trained model, with
// Adam's two buffers for each parameter.
func trained(b *testing.B, c checkpoint.ModelConfig) *checkpoint.Alpha {
	b.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(shape []int, scale float64) checkpoint.Tensor {
		n := 1
		for _, d := range shape {
			n *= d
		}
		data := make([]float32, n)
		for i := range data {
			data[i] = float32(rng.NormFloat64() * scale)
		}
		return checkpoint.Tensor{Shape: shape, Data: data}
	}
	a := &checkpoint.Alpha{ModelConfig: c, Params: map[string]checkpoint.Tensor{}, Optimizer: map[string]checkpoint.Tensor{}}
	for _, p := range checkpoint.Params(&c, true) {
		a.Params[p.Name] = random(p.Shape, 0.02)
		a.Optimizer[p.Name+".m"] = random(p.Shape, 1e-4)
		a.Optimizer[p.Name+".v"] = random(p.Shape, 1e-8)
	}
	return a
}

func BenchmarkReadAlpha(b *testing.B) {
	c := checkpoint.ModelConfig{VocabSize: 1000, BlockSize: 256, NLayer: 4, NEmbd: 128, NHead: 4}
	full := trained(b, c)
	paramsOnly := *full
	paramsOnly.Optimizer = nil
	for _, bench := range []struct {
		name  string
		write func(io.Writer, *checkpoint.Alpha) error
		a     *checkpoint.Alpha
		opt   checkpoint.Options
	}{
		{"json", checkpoint.WriteJSON, full, checkpoint.Options{}},
		{"json/params", checkpoint.WriteJSON, &paramsOnly, checkpoint.Options{}},
		{"json/optimizer", checkpoint.WriteJSON, full, checkpoint.Options{Optimizer: true}},
		{"alph", checkpoint.WriteALPH, full, checkpoint.Options{}},
		{"alph/optimizer", checkpoint.WriteALPH, full, checkpoint.Options{Optimizer: true}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			var buf bytes.Buffer
			if err := bench.write(&buf, bench.a); err != nil {
				b.Fatal(err)
			}
			data := buf.Bytes()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := checkpoint.ReadAlpha(bytes.NewReader(data), int64(len(data)), "bench", bench.opt); err != nil {
					b.Fatal(err)
				}
			}
			seconds := b.Elapsed().Seconds() / float64(b.N)
			b.ReportMetric(float64(len(data))/1e6/seconds, "MB/s")
			b.ReportMetric(float64(len(data))/1e6, "MB")
		})
	}
}
