package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// newRing returns the last of n keys and values, stored in runs of random lengths, in a ring,
// or in slots for all if size is 0.
func newRing(k *Kernels, r *rand.Rand, f KVFormat, keys, values []float32, n, dim, size int) KV {
	slots, longest := n, 40
	if size > 0 {
		slots, longest = size, size
	}
	a, b := KVLen(f, slots, dim)
	kv := KV{Keys: aligned(a), Values: aligned(b), Dim: dim, Format: f, Ring: size}
	for at := 0; at < n; {
		run := min(1+r.IntN(longest), n-at)
		k.Store(kv, at, keys[at*dim:], values[at*dim:], run, dim)
		at += run
	}
	return kv
}

// token returns the key and the value of a token.
func (kv KV) token(t int) (out []float32) {
	if kv.Ring > 0 {
		t %= kv.Ring
	}
	for j := range kv.Dim {
		out = append(out, kv.number(kv.Keys, t, t/keyPanel*keyPanel*kv.Dim+j*keyPanel+t%keyPanel))
	}
	for j := range kv.Dim {
		out = append(out, kv.number(kv.Values, t, t*valueStride(kv.Dim)+j))
	}
	return out
}

// TestAttendRing: attention to a ring equals to the bit attention to all keys, at every place
// of the window in the ring, whatever the ring keeps before the window.
func TestAttendRing(t *testing.T) {
	nan := float32(math.NaN())
	each(t, func(t *testing.T, k *Kernels) {
		r := source()
		for _, seen := range []int{1, 127, 128, 129, 200, 255, 256, 257, 300, 383, 385, 511, 513, 640, 900} {
			for _, bound := range []int{1, 2, 16, 65, 100, 128, 129, 200} {
				for _, chunk := range []bool{false, true} {
					for _, ring := range []int{RingStep, 2 * RingStep, 3 * RingStep} {
						tokens := min(ring-bound+1, 1+r.IntN(70), 1+r.IntN(70))
						if tokens < 1 {
							continue
						}
						c := newAttendCase(r, tokens, 1+r.IntN(3), seen, 21, true, Cap{CapTanh, 0.5})
						if c.q.Window = bound; chunk {
							c.q.Window, c.q.Chunk = 0, bound
						}
						for key := range c.n {
							if !c.sees(0, key) && key < seen {
								c.keys[key*c.dim], c.values[(key+1)*c.dim-1] = nan, nan
							}
						}
						c.format = formatsKV[r.IntN(len(formatsKV))]
						c.run(k)
						want := slices.Clone(c.q.Out)
						clear(c.q.Out)
						k.Attend(NewAttention(c.dim), &c.q, newRing(k, r, c.format, c.keys, c.values, c.n, c.dim, ring))
						for i := range c.q.Tokens * c.q.Heads {
							if got, want := c.out(i), c.row(want, c.q.OutStride, i); !slices.Equal(got, want) {
								t.Fatalf("%v, ring %d: row %d is %g, want %g", c, ring, i, got, want)
							}
						}
					}
				}
			}
		}
	})
}

// TestAttendRefusesRings: a ring that cannot have what the queries see is a mistake of the
// caller, not another result.
func TestAttendRefusesRings(t *testing.T) {
	k := Best()
	for _, test := range []struct {
		tokens, seen, window, ring int
		refused                    bool
	}{
		{1, 1000, 128, 128, false}, {2, 1000, 128, 128, true}, {2, 1000, 127, 128, false}, {1, 1000, 129, 128, true},
		{1, 100, 0, 128, false}, {29, 100, 0, 128, false}, {30, 100, 0, 128, true}, {1, 1000, 64, 100, true}, {129, 0, 5, 128, false},
	} {
		c := newAttendCase(source(), test.tokens, 1, test.seen, 16, true, Cap{})
		c.q.Window = test.window
		kv := newRing(k, source(), KVF32, c.keys, c.values, c.n, c.dim, (test.ring+RingStep-1)/RingStep*RingStep)
		kv.Ring = test.ring
		refused := func() (refused bool) {
			defer func() { refused = recover() != nil }()
			k.Attend(NewAttention(16), &c.q, kv)
			return false
		}()
		if refused != test.refused {
			t.Errorf("%+v: refused %v", test, refused)
		}
	}
}

// TestRings: a ring keeps the last tokens that were stored, and so does a copy of its first
// tokens, in slots for all or in a ring of another size.
func TestRings(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		r := source()
		for range 300 {
			dim, n := 1+r.IntN(20), 1+r.IntN(1000)
			f := formatsKV[r.IntN(len(formatsKV))]
			keys, values := f.rounded(random(r, n*dim), dim, dim), f.rounded(random(r, n*dim), dim, dim)
			check := func(what string, kv KV, first, n int) {
				t.Helper()
				for at := first; at < n; at++ {
					want := slices.Concat(keys[at*dim:(at+1)*dim], values[at*dim:(at+1)*dim])
					if !slices.Equal(kv.token(at), want) {
						t.Fatalf("%s, ring %d, %d tokens of %d: token %d is another", what, kv.Ring, n, dim, at)
					}
				}
			}
			from := newRing(k, r, f, keys, values, n, dim, r.IntN(4)*RingStep)
			kept := 0
			if from.Ring > 0 {
				kept = max(0, n-from.Ring)
			}
			check("stored", from, kept, n)
			m := kept + r.IntN(n-kept+1)
			to, slots := KV{Dim: dim, Format: f, Ring: r.IntN(4) * RingStep}, m
			if to.Ring > 0 {
				slots, kept = to.Ring, max(kept, m-to.Ring)
			}
			a, b := KVLen(f, slots, dim)
			to.Keys, to.Values = make([]float32, a), make([]float32, b)
			to.Copy(from, kept, m)
			check(fmt.Sprintf("copied from ring %d", from.Ring), to, kept, m)
		}
	})
}
