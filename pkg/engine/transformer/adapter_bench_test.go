package transformer_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// BenchmarkAdapters decodes with adapters of rank 16 of all matrices, on weights of some 100 MB. It
// reports how many times as fast four rows with four adapters are in one pass as in four passes,
// and how much longer one row takes with an adapter, and four rows with an adapter each, than
// without. Ways alternate, and the best of all rounds counts.
func BenchmarkAdapters(b *testing.B) {
	const rows = 4
	spec, w := plain(1024, 8, 8000)
	for _, format := range []transformer.Format{transformer.BF16, transformer.Q8_0} {
		m := must(transformer.New(spec, w, kernel.Best(), format))
		var base, adapted []transformer.Sequence
		for i := range rows {
			s := transformer.Sequence{Cache: m.NewCache(m.Context), Tokens: []int{1}, Logits: 1}
			base = append(base, s)
			s.Adapter = must(m.NewAdapter(ranked(w, 16, uint64(i))))
			adapted = append(adapted, s)
		}
		for _, threads := range []int{1, runtime.GOMAXPROCS(0)} {
			b.Run(fmt.Sprintf("%v/threads=%d", format, threads), func(b *testing.B) {
				team := transformer.NewTeam(threads)
				defer team.Close()
				pass := m.NewPass(team)
				var best [5]time.Duration
				for b.Loop() {
					for i, way := range [...]func(){
						func() { decode(pass, base[:1]) },
						func() { decode(pass, adapted[:1]) },
						func() { decode(pass, base) },
						func() { decode(pass, adapted) },
						func() {
							for j := range adapted {
								decode(pass, adapted[j:j+1])
							}
						},
					} {
						begin := time.Now()
						way()
						if took := time.Since(begin); best[i] == 0 || took < best[i] {
							best[i] = took
						}
					}
				}
				ratio := func(x, y int) float64 { return float64(best[x]) / float64(best[y]) }
				b.ReportMetric(rows/best[3].Seconds(), "tokens/s")
				b.ReportMetric(ratio(4, 3), "x-four-passes")
				b.ReportMetric(100*(ratio(1, 0)-1), "%-longer-one-row")
				b.ReportMetric(100*(ratio(3, 2)-1), "%-longer-four-rows")
			})
		}
	}
}

// decode computes one token of each row.
func decode(p *transformer.Pass, seqs []transformer.Sequence) {
	for i := range seqs {
		seqs[i].Cache.Len = 32
	}
	must(p.Forward(seqs))
}

// ranked returns weights with updates of a rank of all matrices.
func ranked(w *transformer.Weights, rank int, seed uint64) *transformer.Weights {
	r, adapted := rand.New(rand.NewPCG(seed, 2)), *w
	adapted.Decoder = nil
	for _, l := range w.Decoder {
		for _, m := range []*transformer.Linear{&l.QKV, &l.Out, &l.Up, &l.Down} {
			t := m.Weight[0]
			t.Update = updateOf(r, t.Name, rank, t.Rows, t.Cols)
			m.Weight = []transformer.Tensor{t}
		}
		adapted.Decoder = append(adapted.Decoder, l)
	}
	return &adapted
}
