package transformer_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/engine/transformer/transformertest"
)

// blocksAt returns the blocks of a cache at a mark, of both kinds, as far as it has them.
func blocksAt(m *transformer.Model, c *transformer.Cache, mark *transformer.Mark, n int) (all, rings []*transformer.Block) {
	for from := 0; from < n; from += transformer.BlockTokens {
		to := min(from+transformer.BlockTokens, n)
		all = append(all, m.Block(c, mark, false, from, to))
		if b := m.Block(c, mark, true, from, to); b != nil {
			rings = append(rings, b)
		}
	}
	return all, rings
}

// A cache that is joined from blocks continues as the sequence that they are from: from its end
// or a mark, cut wherever the rings have what the next token sees, with any capacity.
func TestBlocks(t *testing.T) {
	for i, made := range []*transformertest.Model{ringed(), ringed(7), ringed(1, 66, -40), ringed(ringBounds...), convolved(), convolved(66), stateful()} {
		m := load(t, made, kernel.Best(), transformer.F32)
		m.StoreKV(kvFormats[i%len(kvFormats)])
		if m.HasRings() != (i > 0) {
			t.Fatalf("model %d: rings %t", i, m.HasRings())
		}
		pass, rng := m.NewPass(nil), rand.New(rand.NewPCG(3, 4))
		for _, length := range []int{1, 63, 64, 65, 100, 128, 300, 449, 700} {
			ids := tokens(length+100, m.Vocab)
			c, full := m.NewCache(1200), m.NewFullCache(1200)
			must(pass.Forward([]transformer.Sequence{{Cache: c, Tokens: ids[:length], Logits: 1}}))
			must(pass.Forward([]transformer.Sequence{{Cache: full, Tokens: ids[:length], Logits: 1}}))
			mark, reach := (*transformer.Mark)(nil), make([]int, length+1)
			if length%2 == 0 { // the rings go on
				mark = m.Mark(c)
				must(pass.Forward([]transformer.Sequence{{Cache: c, Tokens: ids[length:], Logits: 1}}))
			}
			for n := range reach {
				reach[n] = c.Reach(mark, n)
			}
			all, rings := blocksAt(m, c, mark, length)
			for n := 1; n <= length; n++ {
				if got := m.Continues(rings, n); got != (reach[n] == n) {
					t.Fatalf("model %d, %d of %d tokens: the blocks continue: %t, the cache reaches %d", i, n, length, got, reach[n])
				}
				if reach[n] < n || n < length-2 && rng.IntN(20) > 0 {
					continue
				}
				capacity := n + []int{1, 20, 500}[rng.IntN(3)]
				joined := m.Join(all, rings, n, capacity)
				for k := 1; k < n; k++ {
					if joined.Reach(nil, k) == k && !m.Continues(rings, k) {
						t.Fatalf("model %d, %d of %d tokens: the cache reaches %d, which the blocks do not", i, n, length, k)
					}
				}
				more := tokens(min(capacity-n, 150), m.Vocab)
				got := slices.Clone(must(pass.Forward([]transformer.Sequence{{Cache: joined, Tokens: more, Logits: len(more)}})))
				want := must(pass.Forward([]transformer.Sequence{{Cache: m.ForkFull(full, n, capacity), Tokens: more, Logits: len(more)}}))
				if joined.Capacity() != capacity || !slices.Equal(got, want) {
					t.Fatalf("model %d, %d of %d tokens, capacity %d: other logits", i, n, length, capacity)
				}
			}
		}
	}
}

// The size of a block is that of its layers, and a block lacks what a ring has dropped.
func TestBlockOfRing(t *testing.T) {
	m := load(t, convolved(7), kernel.Best(), transformer.F32)
	c, pass := m.NewCache(1000), m.NewPass(nil)
	must(pass.Forward([]transformer.Sequence{{Cache: c, Tokens: tokens(400, m.Vocab), Logits: 1}}))
	for _, test := range []struct {
		rings           bool
		from, to, first int
	}{{false, 0, 64, 0}, {false, 384, 400, 384}, {true, 256, 320, 272}, {true, 256, 280, 272}, {true, 320, 384, 320}, {true, 384, 400, 384}} {
		b := m.Block(c, nil, test.rings, test.from, test.to)
		if b.First() != test.first || b.Bytes() != m.BlockBytes(test.rings, test.to-test.from) {
			t.Errorf("%+v: the first token is %d, %d bytes", test, b.First(), b.Bytes())
		}
	}
	for _, at := range [][2]int{{192, 256}, {256, 272}, {384, 401}} {
		if b := m.Block(c, nil, true, at[0], at[1]); b != nil {
			t.Errorf("tokens %v: %d from %d on", at, b.To-b.First(), b.First())
		}
	}
	if got := m.RingTokens(); got != 128 {
		t.Errorf("a ring has %d tokens", got)
	}
}
