package arch_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// window returns the size of the windows of a model, 0 if it has none.
func window(m *transformer.Model) (size int) {
	for _, kind := range m.Decoder {
		size = max(size, m.Kinds[kind].Attention.Window)
	}
	return size
}

// A text that is several times as long as what layers with a window keep gives the logits of
// the original, see TestGoldens, in pieces of any lengths, and continued from copies.
func TestGoldensOfWindows(t *testing.T) {
	wrapped := 0
	for _, dir := range models(t) {
		g := openGolden(t, dir, "golden.safetensors")
		m := build(t, open(t, dir), kernel.Best())
		w := window(m)
		if w == 0 || !g.has("long.ids") {
			continue
		}
		ids, wanted := g.ints("long.ids"), g.shape("long.logits")[0]
		pass := m.NewPass(nil)
		want := slices.Clone(must(pass.Forward([]transformer.Sequence{{Cache: m.NewCache(len(ids)), Tokens: ids, Logits: wanted}})))
		rng := rand.New(rand.NewPCG(1, 2))
		for _, size := range []int{1, w - 1, w, w + 1, transformer.SpareTokens, 0} {
			cache := m.NewCache(len(ids))
			var got []float32
			for cache.Len < len(ids) {
				n := size
				if size == 0 {
					n = 1 + rng.IntN(150)
				}
				n = min(n, max(1, len(ids)-wanted-cache.Len)) // the last ones alone
				logits := must(pass.Forward([]transformer.Sequence{{Cache: cache, Tokens: ids[cache.Len:][:n], Logits: 1}}))
				if cache.Len > len(ids)-wanted {
					got = append(got, logits...)
				} else if size == 0 { // drop some again
					cache = m.Prefix(cache, cache.Len-rng.IntN(min(cache.Len, transformer.SpareTokens)), len(ids))
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, pieces of %d: the logits differ from those of one pass", dir, size)
			}
			if cache.Reach(nil, 1) == 0 {
				wrapped++
			}
		}
	}
	if wrapped < 6*10 {
		t.Errorf("%d texts were longer than what layers keep", wrapped)
	}
}
