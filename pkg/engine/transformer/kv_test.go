package transformer_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/engine/transformer/transformertest"
)

// kvFormats are the formats of keys and values.
var kvFormats = []transformer.KVFormat{transformer.KVF32, transformer.KVBF16, transformer.KVQ8}

// The format of keys and values is that which was asked for, or else follows from the format of the
// weights. In bfloat16 they take half the memory, in bytes a quarter and their scales.
func TestStoreKV(t *testing.T) {
	made := ringed(7)
	plain := load(t, made, kernel.Best(), transformer.F32)
	for _, test := range []struct {
		weights transformer.Format
		kv      transformer.KVFormat
		part    int64
	}{
		{transformer.F32, transformer.KVAuto, 1}, {transformer.F32, transformer.KVBF16, 2}, {transformer.Stored, transformer.KVAuto, 1},
		{transformer.Q8_0, transformer.KVAuto, 2}, {transformer.BF16, transformer.KVAuto, 2}, {transformer.Q8_0, transformer.KVF32, 1},
	} {
		m := load(t, made, kernel.Best(), test.weights)
		m.StoreKV(test.kv)
		for what, bytes := range map[string][2]int64{
			"a cache": {m.CacheBytes(300), plain.CacheBytes(300)}, "a block": {m.BlockBytes(false, 64), plain.BlockBytes(false, 64)},
			"a block of rings": {m.BlockBytes(true, 10), plain.BlockBytes(true, 10)}, "a text": {m.MemoryBytes(20), plain.MemoryBytes(20)},
			"allocated": {m.NewCache(300).Bytes(), plain.NewCache(300).Bytes()},
		} {
			if bytes[0]*test.part != bytes[1] || bytes[1] == 0 {
				t.Errorf("%+v: %s of %d bytes, in float32 %d", test, what, bytes[0], bytes[1])
			}
		}
		if auto := made.Weights.CacheBytes(made.Spec, test.weights, 300); test.kv == transformer.KVAuto && auto != m.CacheBytes(300) {
			t.Errorf("%+v: estimated as %d bytes", test, auto)
		}
	}
}

// Keys and values in bytes take a quarter of the memory of float32, and a float32 for each of a head.
func TestStoreQ8(t *testing.T) {
	r := transformertest.Random(1)
	m, plain := load(t, r, kernel.Best(), transformer.F32), load(t, r, kernel.Best(), transformer.F32)
	m.StoreKV(transformer.KVQ8)
	scales := int64(0)
	for i := range r.Spec.Decoder {
		if a := &r.Spec.Kinds[r.Spec.Decoder[i]].Attention; a.KVLayer == 0 {
			scales += 2 * 4 * int64(a.KVHeads)
		}
	}
	const tokens = 16 // a panel of keys
	if got, want := m.CacheBytes(tokens), plain.CacheBytes(tokens)/4+tokens*scales; got != want || scales == 0 {
		t.Errorf("a cache of %d bytes, want %d", got, want)
	}
}

// Logits with keys and values in fewer bits are near to those in float32, and the same to the bit however
// a text is divided into passes, alone or in a batch, and continued from a copy.
func TestKVDivided(t *testing.T) {
	for _, f := range kvFormats[1:] {
		testKVDivided(t, f)
	}
}

func testKVDivided(t *testing.T, f transformer.KVFormat) {
	t.Helper()
	for _, seed := range architectures {
		r := transformertest.Random(uint64(seed))
		source, ids := texts(seed)
		m, exact := load(t, r, kernel.Best(), transformer.F32), load(t, r, kernel.Best(), transformer.F32)
		m.StoreKV(f)
		team := transformer.NewTeam(3)
		pass := m.NewPass(team)
		forward := func(m *transformer.Model, pass *transformer.Pass, steps ...int) (all []float32) {
			seq := transformer.Sequence{Cache: m.NewCache(len(ids))}
			if len(r.Spec.Encoder) > 0 {
				seq.Memory = must(pass.Encode([][]int{source}))[0]
			}
			for at, i := 0, 0; at < len(ids); i++ {
				n := min(steps[i%len(steps)], len(ids)-at)
				seq.Tokens, seq.Logits, at = ids[at:at+n], n, at+n
				logits := must(pass.Forward([]transformer.Sequence{seq, {Cache: m.NewCache(5), Tokens: ids[:5], Memory: seq.Memory}}))
				all = append(all, logits...)
				if i == 1 {
					seq.Cache = m.Fork(seq.Cache, len(ids))
				}
			}
			return all
		}
		name := fmt.Sprintf("seed %d, format %d", seed, f)
		want := forward(m, pass, len(ids))
		for _, steps := range [][]int{{1}, {7}, {33, 1, 2}} {
			if got := forward(m, pass, steps...); !slices.Equal(got, want) {
				t.Errorf("%s: passes of %v tokens give other logits", name, steps)
			}
		}
		near(t, name, want, forward(exact, exact.NewPass(team), len(ids)), m.CacheBytes(9) < exact.CacheBytes(9))
		team.Close()
	}
}

// near checks that two lists differ by some percent of their size, or not at all.
func near(t *testing.T, name string, got, want []float32, differ bool) {
	t.Helper()
	var difference, size float64
	for i := range want {
		d, v := float64(got[i]-want[i]), float64(want[i])
		difference, size = difference+d*d, size+v*v
	}
	if e := math.Sqrt(difference / size); !(e < 0.1) || (e > 0) != differ {
		t.Errorf("%s: logits are %g of their size from those in float32", name, e)
	}
}
