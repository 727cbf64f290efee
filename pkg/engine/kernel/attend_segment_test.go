package kernel

import (
	"slices"
	"testing"
)

// The parts of all segments make the result of Attend, to the bit.
func TestAttendSegments(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		most := 0
		for _, format := range []KVFormat{KVF32, KVBF16, KVQ8} {
			for _, c := range windowCases(source(), 21) {
				if c.q.Tokens*c.q.Heads > MostTogether || c.n == 0 {
					continue
				}
				c.format = format
				c.run(k)
				want := slices.Clone(c.q.Out)
				clear(c.q.Out)
				for i := range c.q.Out { // between the rows nothing is written
					if i%c.q.OutStride >= c.q.Heads*c.dim || i/c.q.OutStride >= c.q.Tokens {
						c.q.Out[i] = want[i]
					}
				}
				kv := newKV(k, c.format, c.keys, c.values, c.n, c.dim)
				from, to := c.q.Segments()
				var parts [][]float32
				for s := from; s < to; s++ {
					part := make([]float32, c.q.PartLen(c.dim))
					k.AttendSegment(NewAttention(c.dim), &c.q, kv, s, part)
					parts = append(parts, part)
				}
				if most = max(most, to-from); to > MostSegments(c.n) {
					t.Fatalf("%v: segments to %d of %d", c, to, MostSegments(c.n))
				}
				k.AttendParts(NewAttention(c.dim), &c.q, c.dim, parts)
				if !slices.Equal(c.q.Out, want) {
					t.Fatalf("%v: by segments %g, want %g", c, c.q.Out, want)
				}
			}
		}
		if most < 3 {
			t.Errorf("at most %d segments", most)
		}
	})
}

func TestMostSegments(t *testing.T) {
	for keys, want := range map[int]int{0: 0, 1: 1, 1024: 1, 1025: 2, 8000: 8} {
		if got := MostSegments(keys); got != want {
			t.Errorf("%d keys: %d segments, want %d", keys, got, want)
		}
	}
}

// Later tokens of a text that is not causal, alone, get what they get with the others.
func TestAttendFirst(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		tried := 0
		for _, c := range windowCases(source(), 21) {
			if c.q.Causal || c.q.Tokens < 3 {
				continue
			}
			c.run(k)
			want := slices.Clone(c.q.Out)
			for _, first := range []int{1, c.q.Tokens / 2, c.q.Tokens - 1} {
				tried++
				q := c.q
				q.First, q.Tokens = first, c.q.Tokens-first
				q.In, q.Out = c.q.In[first*q.InStride:], slices.Clone(want[first*q.OutStride:])
				for i := range q.Out {
					if i%q.OutStride < q.Heads*c.dim && i/q.OutStride < q.Tokens {
						q.Out[i] = 42
					}
				}
				k.Attend(NewAttention(c.dim), &q, newKV(k, c.format, c.keys, c.values, c.n, c.dim))
				if !slices.Equal(q.Out, want[first*q.OutStride:]) {
					t.Fatalf("%v: from token %d on %g, want %g", c, first, q.Out, want[first*q.OutStride:])
				}
			}
		}
		if tried < 20 {
			t.Errorf("%d cases", tried)
		}
	})
}
