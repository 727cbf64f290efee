package transformer_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// BenchmarkPortions compares passes in portions with whole ones of the same team, in turn: a prompt, rows
// that decode after 272 tokens, and texts of an encoder. It reports the medians' ratio, in percent: below
// 100 portions take less time.
func BenchmarkPortions(b *testing.B) {
	for _, format := range []transformer.Format{transformer.Q8_0, transformer.F32} {
		for _, width := range []int{256, 768, 2048} {
			spec, w := plain(width, 6, 1000)
			spec.Context, w.Positions = 512, matrix("positions", 512, width)
			heads := width / 64
			spec.Kinds[0].Attention = transformer.Attention{Heads: heads, KVHeads: heads, HeadDim: 64}
			m := must(transformer.New(spec, w, kernel.Best(), format))
			m.StoreKV(transformer.KVAuto)
			for _, tokens := range []int{32, 128} {
				b.Run(fmt.Sprintf("%v/width=%d/prompt=%d", format, width, tokens), func(b *testing.B) { portionsOf(b, m, 1, tokens, 0) })
			}
			b.Run(fmt.Sprintf("%v/width=%d/rows=64", format, width), func(b *testing.B) { portionsOf(b, m, 64, 1, 272) })
		}
		spec, w := plain(384, 6, 1000)
		spec.Context, w.Positions = 512, matrix("positions", 512, 384)
		spec.Encoder, spec.Decoder, w.Encoder, w.Decoder, w.EncoderNorm = spec.Decoder, nil, w.Decoder, nil, w.DecoderNorm
		spec.Kinds[0].Attention = transformer.Attention{Heads: 12, KVHeads: 12, HeadDim: 32}
		m := must(transformer.New(spec, w, kernel.Best(), format))
		for _, size := range []struct{ texts, tokens int }{{16, 16}, {1, 16}, {1, 128}, {3, 128}, {1, 512}} {
			b.Run(fmt.Sprintf("%v/texts=%d/tokens=%d", format, size.texts, size.tokens), func(b *testing.B) {
				texts := slices.Repeat([][]int{tokens(size.tokens, 1000)}, size.texts)
				wholeAndPortions(b, m, func(pass *transformer.Pass) { must(pass.Encode(texts)) })
			})
		}
	}
}

// portionsOf measures rows of so many tokens after earlier ones, which are computed first: memory that was
// never written is a page of zeros, and in the cache.
func portionsOf(b *testing.B, m *transformer.Model, rows, n, after int) {
	var seqs []transformer.Sequence
	fill := m.NewPass(nil)
	for range rows {
		s := transformer.Sequence{Cache: m.NewCache(after + n), Tokens: tokens(n, 1000), Logits: 1}
		if after > 0 {
			must(fill.Forward([]transformer.Sequence{{Cache: s.Cache, Tokens: tokens(after, 1000)}}))
		}
		seqs = append(seqs, s)
	}
	wholeAndPortions(b, m, func(pass *transformer.Pass) {
		for i := range seqs {
			seqs[i].Cache.Len = after
		}
		must(pass.Forward(seqs))
	})
}

// wholeAndPortions computes in both ways, and reports the ratio of their times.
func wholeAndPortions(b *testing.B, m *transformer.Model, compute func(*transformer.Pass)) {
	team := transformer.NewTeam(runtime.GOMAXPROCS(0))
	defer team.Close()
	pass := m.NewPass(team)
	var took [2][]time.Duration
	for b.Loop() {
		for way := range took {
			pass.ShareAll, pass.ShareTexts = way == 0, way == 1
			compute(pass)
			begin := time.Now()
			compute(pass)
			took[way] = append(took[way], time.Since(begin))
		}
	}
	for way := range took {
		slices.Sort(took[way])
	}
	median := func(way int) float64 { return float64(took[way][len(took[way])/2]) }
	b.ReportMetric(median(1)/1e6, "ms")
	b.ReportMetric(100*median(1)/median(0), "%whole")
}
