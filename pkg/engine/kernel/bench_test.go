package kernel

import (
	"fmt"
	"testing"
	"time"
)

// peak measures the multiply-add limit of this machine, in operations per second: the
// best of several short runs. Zero means unknown.
func peak(k *Kernels) float64 {
	best := 0.0
	for range 8 {
		const rounds = 1_000_000
		start := time.Now()
		flops := float64(k.FloatRounds(rounds))
		best = max(best, flops/time.Since(start).Seconds())
	}
	return best
}

// report prints GFLOP/s and the share of the machine's own peak.
func report(b *testing.B, k *Kernels, flops float64) {
	b.Helper()
	rate := flops * float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(rate/1e9, "GFLOP/s")
	if top := peak(k); top > 0 {
		b.ReportMetric(100*rate/top, "%peak")
	}
}

func BenchmarkMatMul(b *testing.B) {
	for _, k := range Implementations() {
		for _, s := range [][3]int{{1, 512, 128}, {1, 2048, 128}, {8, 512, 128}, {64, 512, 128}, {64, 2048, 128}, {256, 512, 128}, {256, 128, 512}, {512, 768, 768}} {
			n, rows, cols := s[0], s[1], s[2]
			if k.isa == isaGeneric && n > 64 {
				continue
			}
			b.Run(fmt.Sprintf("%s/n=%d/%dx%d", k.Name(), n, rows, cols), func(b *testing.B) {
				r := source()
				x, w, dst := random(r, n*cols), Pack(random(r, rows*cols), rows, cols), make([]float32, n*rows)
				for b.Loop() {
					k.MatMul(dst, x, n, w)
				}
				report(b, k, 2*float64(n*rows*cols))
			})
		}
	}
}

func BenchmarkGEMM(b *testing.B) {
	for _, k := range Implementations()[1:] {
		for _, s := range []struct {
			m, n, depth int
			ta, tb      bool
		}{{512, 128, 256, true, false}, {2048, 128, 256, true, false}, {128, 512, 256, true, false}, {256, 256, 32, false, true}, {256, 32, 256, false, false}} {
			b.Run(fmt.Sprintf("%s/%dx%dx%d/ta=%v/tb=%v", k.Name(), s.m, s.n, s.depth, s.ta, s.tb), func(b *testing.B) {
				r, scratch := source(), NewScratch()
				view := func(rows, cols int, t bool) View {
					v := View{Data: random(r, rows*cols), Stride: cols, Transposed: t}
					if t {
						v.Stride = rows
					}
					return v
				}
				a, x, c := view(s.m, s.depth, s.ta), view(s.depth, s.n, s.tb), make([]float32, s.m*s.n)
				for b.Loop() {
					k.GEMM(scratch, c, s.n, a, x, s.m, s.n, s.depth, true)
				}
				report(b, k, 2*float64(s.m*s.n*s.depth))
			})
		}
	}
}

func BenchmarkVector(b *testing.B) {
	const n = 512
	for _, k := range Implementations() {
		x, y, w := random(source(), n), random(source(), n), random(source(), n)
		out := make([]float32, n)
		for _, op := range []struct {
			name string
			f    func()
		}{
			{"Add", func() { k.Add(out, x) }},
			{"Dot", func() { out[0] = k.Dot(x, y) }},
			{"GELU", func() { copy(out, x); k.GELU(out) }},
			{"GELUErf", func() { copy(out, x); k.GELUErf(out) }},
			{"SiLU", func() { copy(out, x); k.SiLU(out) }},
			{"Softmax", func() { copy(out, x); k.softmax(out) }},
			{"LayerNorm", func() { k.LayerNorm(out, x, w, y, 1e-5) }},
			{"RMSNorm", func() { k.RMSNorm(out, x, w, 1e-5) }},
			{"RotateHalves", func() { copy(out, x); k.Rotate(out, y[:n/2], w[:n/2], false) }},
			{"RotatePairs", func() { copy(out, x); k.Rotate(out, y[:n/2], w[:n/2], true) }},
			{"GELUBackward", func() { k.GELUBackward(out, x) }},
		} {
			b.Run(k.Name()+"/"+op.name, func(b *testing.B) {
				for b.Loop() {
					op.f()
				}
				b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gvalues/s")
			})
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	const rows, cols, n = 1024, 2048, 256
	m, w := NewMatrix(rows, cols), random(source(), n*cols)
	for _, k := range Implementations() {
		for _, op := range []struct {
			name   string
			values int
			f      func()
		}{
			{"Rows", n * cols, func() { k.LoadRows(m, 128, w) }},
			{"Rows/odd", n * cols, func() { k.LoadRows(m, 131, w) }},
			{"Columns", n * rows, func() { k.LoadColumns(m, 131, w[:n*rows]) }},
		} {
			b.Run(k.Name()+"/"+op.name, func(b *testing.B) {
				b.SetBytes(int64(4 * op.values))
				for b.Loop() {
					op.f()
				}
			})
		}
	}
}

// BenchmarkStore stores keys and values of a head, of one token and of many.
func BenchmarkStore(b *testing.B) {
	for _, k := range Implementations() {
		for _, f := range formatsKV {
			for _, n := range []int{1, 64} {
				b.Run(fmt.Sprintf("%s/format=%d/tokens=%d", k.Name(), f, n), func(b *testing.B) {
					const dim = 64
					keys, values := random(source(), n*dim), random(source(), n*dim)
					kv := newKV(k, f, keys, values, n, dim)
					for b.Loop() {
						k.Store(kv, 0, keys, values, n, dim)
					}
				})
			}
		}
	}
}

// BenchmarkAttend counts the multiply-adds that the causal rows need, 4*Dim for each key
// that a query sees.
func BenchmarkAttend(b *testing.B) {
	for _, k := range Implementations() {
		for _, s := range []struct {
			tokens, seen, heads, dim int
			format                   KVFormat
		}{
			{512, 1, 1, 64, KVF32}, {512, 1, 8, 64, KVF32}, {512, 1, 1, 64, KVBF16}, {512, 1, 8, 64, KVBF16}, {512, 1, 8, 64, KVQ8}, {1, 8, 1, 64, KVF32}, {1, 32, 1, 64, KVF32},
			{1, 128, 1, 64, KVF32}, {1, 128, 1, 64, KVBF16}, {1, 128, 1, 64, KVQ8}, {1, 128, 1, 32, KVF32}, {1, 128, 8, 64, KVF32}, {1, 2000, 1, 64, KVF32}, {1, 2000, 1, 64, KVBF16}, {1, 2000, 1, 64, KVQ8},
			{1, 2000, 8, 64, KVF32}, {1, 2000, 8, 64, KVBF16}, {1, 2000, 8, 64, KVQ8}, {1, 2000, 8, 128, KVF32}, {1, 2000, 8, 128, KVBF16}, {1, 2000, 8, 128, KVQ8},
			{12, 8000, 4, 64, KVBF16}, {1, 400_000, 1, 64, KVBF16}, {1, 400_000, 1, 64, KVQ8}, {1, 400_000, 4, 64, KVBF16}, {1, 400_000, 4, 64, KVQ8}, // from DRAM
		} {
			if k.isa == isaGeneric && (s.tokens > 1 || s.seen > 2000) {
				continue
			}
			b.Run(fmt.Sprintf("%s/tokens=%d/seen=%d/heads=%d/dim=%d/format=%d", k.Name(), s.tokens, s.seen, s.heads, s.dim, s.format), func(b *testing.B) {
				r, n, width := source(), s.seen+s.tokens-1, s.heads*s.dim
				kv := newKV(k, s.format, random(r, n*s.dim), random(r, n*s.dim), n, s.dim)
				q := Queries{In: random(r, s.tokens*width), Out: make([]float32, s.tokens*width), InStride: width, OutStride: width,
					Tokens: s.tokens, Heads: s.heads, Seen: s.seen, Causal: true, Scale: 0.2}
				a, flops := NewAttention(s.dim), 0.0
				for t := range s.tokens {
					flops += 4 * float64(s.heads*s.dim*(s.seen+t))
				}
				for b.Loop() {
					k.Attend(a, &q, kv)
				}
				report(b, k, flops)
			})
		}
	}
}
