package kernel

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
)

// versus runs work and limit (if not nil) alternately, and reports the median of work's
// rate and of its share of the limit's rate, in percent. A run of work is amount units;
// limit returns its own amount. Both are timed by this thread's clock.
func versus(b *testing.B, unit string, amount float64, work func(), limit func() float64) {
	b.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var rates, shares []float64
	for b.Loop() {
		start := clock()
		work()
		middle := clock()
		rate := amount / (middle - start).Seconds()
		rates = append(rates, rate)
		if limit != nil {
			if most := limit(); most > 0 {
				shares = append(shares, 100*rate*(clock()-middle).Seconds()/most)
			}
		}
	}
	slices.Sort(rates)
	slices.Sort(shares)
	b.ReportMetric(rates[len(rates)/2]/1e9, unit)
	if len(shares) > 0 {
		b.ReportMetric(shares[len(shares)/2], "%limit")
	}
}

// blank returns weights of arbitrary bytes with scales of about 1/64, on huge pages.
func blank(kind Kind, rows, cols int) *Packed {
	data := memory(int(kind.Bytes(rows, cols)))
	one := some(source(), kind, 16, formats[kind].cols).Data()
	for at := 0; at < len(data); at += len(one) {
		copy(data[at:], one)
	}
	w, err := OpenPacked(kind, rows, cols, data)
	if err != nil {
		panic(err)
	}
	return w
}

// BenchmarkGEMV compares products of one row with plain reading of the same bytes.
func BenchmarkGEMV(b *testing.B) {
	for _, k := range Implementations()[1:] {
		for _, kind := range kinds {
			for _, s := range [][2]int{{128, 512}, {768, 768}, {3072, 768}, {50256, 768}, {11264 * 8, 2048}, {16384 * 2, 5632}} {
				rows, cols := s[0], s[1]
				b.Run(fmt.Sprintf("%s/%v/%dx%d", k.Name(), kind, rows, cols), func(b *testing.B) {
					w := blank(kind, rows, cols)
					a, dst := k.NewActivations(kind, 1, cols), make([]float32, rows)
					k.QuantizeActivations(a, random(source(), cols), 1, 0, 1)
					passes := max(1, 8<<20/len(w.data))
					versus(b, "GB/s", float64(passes*len(w.data)), func() {
						for range passes {
							k.MatMulPacked(dst, a, 1, w, 0, w.Panels())
						}
					}, func() float64 {
						read := 0
						for range passes {
							read += k.ReadMemory(w.data)
						}
						return float64(read)
					})
				})
			}
		}
	}
}

// manyRows are (rows, outputs, inputs) of products of many rows: those of MiniLM, of BERT
// and GPT-2, of models of 1.1 billion parameters, and some that read from DRAM.
func manyRows() (list [][3]int) {
	for _, s := range [][2]int{{384, 384}, {1536, 384}, {768, 768}, {3072, 768}, {768, 3072}, {5632, 2048}, {2048, 5632}} {
		for _, n := range []int{4, 8, 16, 128, 512} {
			list = append(list, [3]int{n, s[0], s[1]})
		}
	}
	return append(list, [][3]int{{128, 384, 128}, {2, 11264 * 4, 2048}, {3, 11264 * 4, 2048}, {4, 11264 * 4, 2048}, {8, 50256, 768}, {8, 11264 * 4, 2048}, {8, 4096 * 4, 5632}}...)
}

// again returns how often to repeat a product so that it takes about as long as its limit.
func again(s [3]int) int { return max(1, 100_000_000/(s[0]*s[1]*s[2])) }

// BenchmarkTiles compares products of many rows with the machine's peak.
func BenchmarkTiles(b *testing.B) {
	for _, k := range Implementations()[1:] {
		for _, kind := range kinds {
			for _, s := range manyRows() {
				n, rows, cols := s[0], s[1], s[2]
				b.Run(fmt.Sprintf("%s/%v/n=%d/%dx%d", k.Name(), kind, n, rows, cols), func(b *testing.B) {
					w := blank(kind, rows, cols)
					a, dst := k.NewActivations(kind, n, cols), make([]float32, n*rows)
					x := random(source(), n*cols)
					k.QuantizeActivations(a, x, n, 0, a.Tiles(n))
					versus(b, "GOP/s", 2*float64(again(s)*n*rows*cols), func() {
						for range again(s) {
							k.MatMulPacked(dst, a, n, w, 0, w.Panels())
						}
					}, func() float64 {
						switch kind {
						case BF16, F16:
							return float64(k.FloatRounds(300_000))
						case Q4_0, Q4_1, Q4K:
							return float64(k.NibbleRounds(300_000))
						}
						return float64(k.ByteRounds(300_000))
					})
				})
			}
		}
	}
}

// BenchmarkFloatTiles compares products of many rows with float32 weights with the
// machine's peak.
func BenchmarkFloatTiles(b *testing.B) {
	for _, k := range Implementations()[1:] {
		for _, s := range manyRows() {
			n, rows, cols := s[0], s[1], s[2]
			b.Run(fmt.Sprintf("%s/n=%d/%dx%d", k.Name(), n, rows, cols), func(b *testing.B) {
				w, x, dst := NewMatrix(rows, cols), random(source(), n*cols), make([]float32, n*rows)
				k.Load(w, random(source(), rows*cols))
				versus(b, "GFLOP/s", 2*float64(again(s)*n*rows*cols), func() {
					for range again(s) {
						k.MatMul(dst, x, n, w)
					}
				}, func() float64 { return float64(k.FloatRounds(300_000)) })
			})
		}
	}
}

// timed reports the bytes that a run of work reads, by this thread's clock.
func timed(b *testing.B, bytes int, work func()) {
	b.Helper()
	versus(b, "GB/s", float64(bytes), work, nil)
}

func BenchmarkQuantizeActivations(b *testing.B) {
	for _, k := range Implementations() {
		for _, n := range []int{1, 8} {
			b.Run(fmt.Sprintf("%s/n=%d", k.Name(), n), func(b *testing.B) {
				const cols = 768
				a, x := k.NewActivations(Q8_0, n, cols), random(source(), n*cols)
				timed(b, 100*4*n*cols, func() {
					for range 100 {
						k.QuantizeActivations(a, x, n, 0, a.Tiles(n))
					}
				})
			})
		}
	}
}

func BenchmarkLoadPacked(b *testing.B) {
	const rows, cols = 512, 2048
	w, row := random(source(), rows*cols), make([]float32, cols)
	for _, kind := range kinds {
		p, raw := NewPacked(kind, rows, cols), rawBlocks(source(), kind, rows, cols)
		if kind.Rounds() {
			b.Run(kind.String()+"/LoadRows", func(b *testing.B) {
				timed(b, 4*len(w), func() { p.LoadRows(0, w) })
			})
		}
		b.Run(kind.String()+"/LoadBlocks", func(b *testing.B) {
			timed(b, len(raw), func() { p.LoadBlocks(0, raw) })
		})
		b.Run(kind.String()+"/Row", func(b *testing.B) {
			timed(b, 4*len(w), func() {
				for r := range rows {
					p.Row(row, r)
				}
			})
		})
	}
}
