package transformer_test

import (
	"slices"
	"testing"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/engine/transformer/transformertest"
)

// Logits computed in the memory of a cache that nobody uses are the same to the bit, whatever is in
// it, and so are those of its copies. Caches with rings or states are not recycled.
func TestRecycle(t *testing.T) {
	recycled := 0
	for _, seed := range architectures {
		r := transformertest.Random(uint64(seed))
		source, ids := texts(seed)
		m := load(t, r, kernel.Best(), transformer.F32)
		m.StoreKV(kvFormats[seed%len(kvFormats)])
		pass := m.NewPass(nil)
		const capacity = 300 // large enough to be worth keeping
		forward := func(c *transformer.Cache) []float32 {
			seq := transformer.Sequence{Cache: c, Tokens: ids[:len(ids)/2], Logits: 1}
			if len(r.Spec.Encoder) > 0 {
				seq.Memory = must(pass.Encode([][]int{source}))[0]
			}
			all := slices.Clone(must(pass.Forward([]transformer.Sequence{seq})))
			seq.Cache, seq.Tokens = m.Fork(c, capacity), ids[len(ids)/2:]
			return append(all, must(pass.Forward([]transformer.Sequence{seq}))...)
		}
		want := forward(m.NewCache(capacity))
		var c *transformer.Cache
		for range 100 { // a pool may forget what it is given
			spoiled := m.NewCache(capacity + 9)
			spoiled.Spoil()
			m.Recycle(spoiled)
			if spoiled.Capacity() != 0 {
				t.Fatal("a recycled cache can still be used")
			}
			if c = m.NewCache(capacity); c.Spoiled() {
				recycled++
				break
			}
		}
		if got := forward(c); !slices.Equal(got, want) {
			t.Errorf("seed %d: in recycled memory logits are %v, want %v", seed, got[:3], want[:3])
		}
	}
	if recycled == 0 {
		t.Error("no memory was recycled")
	}
}

// A pass that uses the memory of another computes the same logits to the bit, whatever is in it, and
// knows nothing of that one's sequences. It has the same team.
func TestRecyclePass(t *testing.T) {
	recycled := 0
	for _, seed := range architectures {
		r := transformertest.Random(uint64(seed))
		source, ids := texts(seed)
		m, team := load(t, r, kernel.Best(), transformer.F32), transformer.NewTeam(1)
		compute := func(pass *transformer.Pass) []float32 {
			seq := transformer.Sequence{Cache: m.NewCache(len(ids)), Tokens: ids, Logits: 1}
			if len(r.Spec.Encoder) > 0 {
				seq.Memory = must(pass.Encode([][]int{source}))[0]
			}
			return slices.Clone(must(pass.Forward([]transformer.Sequence{seq})))
		}
		pass := m.NewPass(team)
		want := compute(pass)
		for range 100 { // a pool may forget what it is given
			pass.Hidden, pass.Stop, pass.ShareAll, pass.ShareTexts = func(bool, int, []float32) {}, func() bool { return true }, true, true
			pass.Spoil()
			m.RecyclePass(pass)
			if m.NewPass(nil) == pass {
				t.Fatal("a pass changes its team")
			}
			m.RecyclePass(pass)
			next := m.NewPass(team)
			if next == pass {
				recycled++
				break
			}
			compute(next)
			pass = next
		}
		if pass.Holds() {
			t.Error("a recycled pass has sequences")
		}
		if got := compute(pass); !slices.Equal(got, want) {
			t.Errorf("seed %d: in recycled memory logits are %v, want %v", seed, got[:3], want[:3])
		}
	}
	if recycled == 0 {
		t.Error("no pass was recycled")
	}
}

// Memory of another size is not taken for a cache, unless it is large enough and little more.
func TestRecycleSizes(t *testing.T) {
	var m *transformer.Model
	for seed := uint64(0); m == nil || m.NewCache(90).Spoil() < 4<<10 || m.NewCache(300).Spoil() == 0; seed++ {
		if seed == 80 {
			t.Fatal("no cache is recycled")
		}
		m = load(t, transformertest.Random(seed), kernel.Best(), transformer.F32)
	}
	for _, test := range []struct {
		had, wants int
		may        bool
	}{{200, 200, true}, {200, 195, true}, {195, 200, false}, {199, 200, false}, {300, 90, false}} {
		found := false
		for range 100 {
			c := m.NewCache(test.had)
			c.Spoil()
			m.Recycle(c)
			c = m.NewCache(test.wants)
			found = found || c.Spoiled()
			m.NewCache(test.had) // takes it, if it is still there
		}
		if found != test.may {
			t.Errorf("a cache of %d tokens uses the memory of one of %d: %v, want %v", test.wants, test.had, found, test.may)
		}
	}
}
