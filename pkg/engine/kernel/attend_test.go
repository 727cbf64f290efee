package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// newKV returns n keys and values, row-major, in the layout of a KV.
func newKV(k *Kernels, f KVFormat, keys, values []float32, n, dim int) KV {
	a, b := KVLen(f, n, dim)
	kv := KV{Keys: aligned(a), Values: aligned(b), Dim: dim, Format: f}
	k.Store(kv, 0, keys, values, n, dim)
	return kv
}

// An attendCase holds queries with the keys and values that they see, row-major.
type attendCase struct {
	q            Queries
	keys, values []float32
	n, dim       int
	format       KVFormat // of the stored keys and values
}

func (c *attendCase) String() string {
	return fmt.Sprintf("%d tokens of %d heads, %d keys of %d, the first sees %d, causal %v, window %d, chunk %d, sinks %v, %v",
		c.q.Tokens, c.q.Heads, c.n, c.dim, c.q.Seen, c.q.Causal, c.q.Window, c.q.Chunk, c.q.Sinks, c.q.Cap)
}

// newAttendCase has gaps between the tokens of the queries.
func newAttendCase(r *rand.Rand, tokens, heads, seen, dim int, causal bool, limit Cap) *attendCase {
	c := &attendCase{n: seen, dim: dim}
	if causal {
		c.n += tokens - 1
	}
	c.keys, c.values = random(r, c.n*dim), random(r, c.n*dim)
	in, out := heads*dim+3, heads*dim+1
	c.q = Queries{In: random(r, tokens*in), Out: random(r, tokens*out), InStride: in, OutStride: out, Tokens: tokens, Heads: heads,
		Seen: seen, Causal: causal, Scale: float32(1 / math.Sqrt(float64(dim))), Cap: limit}
	return c
}

// row returns where row i, (token, head), begins among rows with the given stride.
func (c *attendCase) row(x []float32, stride, i int) []float32 {
	return x[i/c.q.Heads*stride+i%c.q.Heads*c.dim:][:c.dim]
}

func (c *attendCase) in(i int) []float32  { return c.row(c.q.In, c.q.InStride, i) }
func (c *attendCase) out(i int) []float32 { return c.row(c.q.Out, c.q.OutStride, i) }

// seen returns the end of the keys that row i sees.
func (c *attendCase) seen(i int) int {
	if c.q.Causal {
		return c.q.Seen + i/c.q.Heads
	}
	return c.q.Seen
}

// sees reports whether row i sees a key, by the definitions of windows and chunks.
func (c *attendCase) sees(i, key int) bool {
	token := i / c.q.Heads
	if !c.q.Causal {
		return key < c.q.Seen && (c.q.Window == 0 || max(token-key, key-token) < c.q.Window)
	}
	last := c.q.Seen + token - 1
	if c.q.Chunk > 0 && key/c.q.Chunk != last/c.q.Chunk {
		return false
	}
	return key <= last && (c.q.Window == 0 || key > last-c.q.Window)
}

func (c *attendCase) run(k *Kernels) {
	k.Attend(NewAttention(c.dim+5), &c.q, newKV(k, c.format, c.keys, c.values, c.n, c.dim))
}

// want returns the result of row i, in float64.
func (c *attendCase) want(i int) []float64 {
	out, sum, q := make([]float64, c.dim), 0.0, c.in(i)
	scores, top := make([]float64, c.n), math.Inf(-1)
	for t := range scores {
		if scores[t] = math.Inf(-1); !c.sees(i, t) {
			continue
		}
		s := 0.0
		for j, v := range q {
			s += float64(v) * float64(c.keys[t*c.dim+j]) * float64(c.q.Scale)
		}
		switch value := float64(c.q.Cap.Value); c.q.Cap.Kind {
		case CapClamp:
			s = min(max(s, -value), value)
		case CapTanh:
			s = value * math.Tanh(s/value)
		}
		scores[t], top = s, max(top, s)
	}
	if c.q.Sinks != nil && c.seen(i) > 0 {
		sink := float64(c.q.Sinks[i%c.q.Heads])
		top = max(top, sink)
		sum = math.Exp(sink - top)
	}
	for t, s := range scores {
		if math.IsInf(s, -1) {
			continue
		}
		p := math.Exp(s - top)
		sum += p
		for j := range out {
			out[j] += p * float64(c.values[t*c.dim+j])
		}
	}
	for j := range out {
		if sum > 0 {
			out[j] /= sum
		}
	}
	return out
}

// check compares the results with want, and checks that nothing else was written.
func (c *attendCase) check(t *testing.T, before []float32, tolerance float64) {
	t.Helper()
	for i := range c.q.Tokens * c.q.Heads {
		got := c.out(i)
		for j, want := range c.want(i) {
			if !closeTo(got[j], want, tolerance) {
				t.Fatalf("%v: row %d, element %d is %g, want %g", c, i, j, got[j], want)
			}
		}
	}
	for i := c.q.Heads * c.dim; i < len(before); i += c.q.OutStride {
		if c.q.Out[i] != before[i] {
			t.Fatalf("%v: wrote between the rows", c)
		}
	}
}

func TestAttend(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for _, limit := range []Cap{{}, {CapClamp, 0.5}, {CapTanh, 0.5}} {
			for _, dim := range []int{1, 4, 16, 21, 32, 64, 80, 128, 200, 256} {
				for _, s := range [][3]int{ // tokens, heads, seen
					{1, 1, 0}, {1, 1, 1}, {1, 1, 31}, {1, 1, 33}, {1, 1, 128}, {1, 1, 129}, {1, 3, 300}, {1, 8, 127}, {2, 7, 130},
					{13, 1, 0}, {5, 1, 125}, {49, 1, 1}, {17, 3, 120}, {140, 1, 1},
				} {
					for _, causal := range []bool{true, false} {
						c := newAttendCase(source(), s[0], s[1], s[2], dim, causal, limit)
						before := slices.Clone(c.q.Out)
						c.run(k)
						c.check(t, before, 2e-6)
					}
				}
			}
		}
	})
}

// windowCases returns queries that see parts of the keys, of heads with and without
// sinks.
func windowCases(r *rand.Rand, dim int) (list []*attendCase) {
	add := func(tokens, heads, seen int, causal bool, window, chunk int, limit Cap) {
		for _, sinks := range []bool{false, true} {
			c := newAttendCase(r, tokens, heads, seen, dim, causal, limit)
			if c.q.Window, c.q.Chunk = window, chunk; sinks {
				c.q.Sinks = random(r, heads)
			}
			list = append(list, c)
		}
	}
	for _, s := range [][3]int{ // tokens, heads, seen
		{1, 1, 0}, {1, 1, 1}, {1, 1, 100}, {1, 3, 129}, {1, 2, 513}, {2, 7, 130}, {49, 1, 1}, {13, 5, 250}, {140, 1, 1}, {17, 2, 333},
	} {
		add(s[0], s[1], s[2], true, 0, 0, Cap{CapTanh, 0.5})
		for _, size := range []int{1, 15, 16, 128, 129, 200, 1000} {
			add(s[0], s[1], s[2], true, size, 0, Cap{CapTanh, 0.5})
			add(s[0], s[1], s[2], true, 0, size, Cap{})
			add(min(s[0], s[2]), s[1], s[2], false, size, 0, Cap{CapClamp, 0.5})
		}
	}
	for _, s := range [][3]int{{90, 1, 1000}, {1, 3, 2049}, {2, 1, 3072}} { // several segments
		add(s[0], s[1], s[2], true, 0, 0, Cap{})
		add(s[0], s[1], s[2], true, 1500, 0, Cap{CapTanh, 0.5})
		add(s[0], s[1], s[2], true, 0, 1500, Cap{})
		add(s[0], s[1], s[2], false, 0, 0, Cap{})
	}
	return list
}

// TestAttendWindows compares windows, chunks and sinks with a float64 softmax.
func TestAttendWindows(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for _, dim := range []int{4, 21, 64} {
			for _, c := range windowCases(source(), dim) {
				before := slices.Clone(c.q.Out)
				c.run(k)
				c.check(t, before, 2e-6)
			}
		}
	})
}

// alone returns row i computed without the later rows, for a causal token also without
// the earlier ones, and with NaN in everything that it does not see.
func (c *attendCase) alone(k *Kernels, i int) []float32 {
	nan := float32(math.NaN())
	one := attendCase{q: c.q, keys: slices.Clone(c.keys), values: slices.Clone(c.values), n: c.n, dim: c.dim, format: c.format}
	for key := range c.n {
		if !c.sees(i, key) {
			one.keys[key*c.dim], one.values[(key+1)*c.dim-1] = nan, nan
		}
	}
	if !c.q.Causal { // a token's index is its position among the others
		one.q.Out, one.q.Tokens = slices.Clone(c.q.Out), i/c.q.Heads+1
		one.run(k)
		return one.out(i)
	}
	one.q.In, one.q.Out, one.q.Tokens, one.q.Heads, one.q.Seen = c.in(i), make([]float32, c.dim), 1, 1, c.seen(i)
	if c.q.Sinks != nil {
		one.q.Sinks = c.q.Sinks[i%c.q.Heads:][:1]
	}
	one.run(k)
	return one.q.Out
}

// TestAttendWindowsInvariant: the result of a row in a window or a chunk is the same to
// the bit, whatever is computed with it and whatever it does not see. With a window over
// everything it equals that of a row without one.
func TestAttendWindowsInvariant(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for _, c := range windowCases(source(), 21) {
			c.run(k)
			for i := range c.q.Tokens * c.q.Heads {
				if got := c.alone(k, i); !slices.Equal(got, c.out(i)) {
					t.Fatalf("%v: row %d is %g, beside others %g", c, i, got, c.out(i))
				}
			}
			if c.q.Window >= c.n {
				before := slices.Clone(c.q.Out)
				c.q.Window = 0
				c.run(k)
				if !slices.Equal(c.q.Out, before) {
					t.Fatalf("%v: differs from a window over everything", c)
				}
			}
		}
	})
}

// TestAttendLargeScores: the running maximum rises from block to block, and exponentials
// vanish.
func TestAttendLargeScores(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for _, rise := range []float32{0.5, -0.5, 3} {
			c := newAttendCase(source(), 20, 2, 500, 24, true, Cap{})
			for i := range c.q.In {
				c.q.In[i] = 1
			}
			for i := range c.keys {
				c.keys[i] = 0.1*c.keys[i] + rise*float32(i/c.dim)/24
			}
			before := slices.Clone(c.q.Out)
			c.run(k)
			c.check(t, before, 1e-4) // scores of hundreds have errors of 1e-5
		}
	})
}

// TestAttendInvariant: a row's result is the same to the bit for any other rows, any
// capacity and any content after the keys that it sees.
func TestAttendInvariant(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		for _, s := range [][4]int{{150, 1, 1, 16}, {70, 3, 90, 21}, {9, 8, 250, 64}, {1, 13, 131, 80}, {200, 1, 1, 200}} {
			c := newAttendCase(source(), s[0], s[1], s[2], s[3], true, Cap{})
			c.run(k)
			for i := range c.q.Tokens * c.q.Heads {
				seen := c.seen(i)
				one := attendCase{keys: c.keys[:seen*c.dim], values: c.values[:seen*c.dim], n: seen, dim: c.dim}
				one.q = Queries{In: c.in(i), Out: make([]float32, c.dim), Tokens: 1, Heads: 1, Seen: seen, Scale: c.q.Scale}
				one.run(k)
				if !slices.Equal(one.q.Out, c.out(i)) {
					t.Fatalf("%v: row %d differs from itself alone", c, i)
				}
			}
		}
	})
}

// TestAttendRow: a single row over few keys, which may have separate routines, equals to
// the bit the same row computed together with another, for any numbers, including those
// that it does not see.
func TestAttendRow(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	same := func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b }
	each(t, func(t *testing.T, k *Kernels) {
		r := source()
		for _, limit := range []Cap{{}, {CapClamp, 0.5}, {CapTanh, 0.5}} {
			for _, dim := range []int{1, 7, 16, 21, 32, 64, 80, 136, 256} {
				for _, seen := range []int{1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 80, 97, 113, 127, 128, 129} {
					for _, special := range []float32{0, inf, -inf, nan, 1e30, -300} {
						c := newAttendCase(r, 1, 2, seen+3, dim, false, limit)
						c.q.Seen = seen
						for i := seen * dim; i < len(c.keys); i++ {
							c.keys[i], c.values[i] = nan, nan
						}
						for _, x := range [][]float32{c.q.In, c.keys[:seen*dim], c.values[:seen*dim]} {
							if r.IntN(2) == 0 {
								x[r.IntN(len(x))] = special
							}
						}
						c.run(k)
						for i := range 2 {
							one := *c
							one.q.In, one.q.Out, one.q.Heads = c.in(i), make([]float32, dim), 1
							one.run(k)
							if !slices.EqualFunc(one.q.Out, c.out(i), same) {
								t.Fatalf("%v, with a %g: row %d is %g, alone %g", c, special, i, c.out(i), one.q.Out)
							}
						}
					}
				}
			}
		}
	})
}

// TestAttendSpecial: a NaN or an infinity reaches only the rows that see it.
func TestAttendSpecial(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	const tokens, dim, start = 60, 20, 100
	each(t, func(t *testing.T, k *Kernels) {
		clean := newAttendCase(source(), tokens, 1, start, dim, true, Cap{})
		clean.run(k)
		for _, at := range []int{start - 5, start, start + 1, start + 27, start + 28, start + 50} { // a token of keys
			for _, bad := range []float32{nan, inf, -inf} {
				for _, where := range []string{"query", "key", "value"} {
					c := newAttendCase(source(), tokens, 1, start, dim, true, Cap{})
					first, end := at-start+1, tokens // rows that see it
					switch where {
					case "query":
						first = max(first, 0)
						end = first + 1
						c.in(first)[3] = bad
					case "key":
						c.keys[at*dim+3] = bad
					case "value":
						c.values[at*dim+3] = bad
					}
					c.run(k)
					c.checkSpecial(t, clean, where, bad, first, end)
				}
			}
		}
	})
}

func (c *attendCase) checkSpecial(t *testing.T, clean *attendCase, where string, bad float32, first, end int) {
	t.Helper()
	for i := range c.q.Tokens {
		got, want := c.out(i), clean.out(i)
		if i < first || i >= end {
			if !slices.Equal(got, want) {
				t.Fatalf("%g in a %s of rows %d to %d changes row %d", bad, where, first, end, i)
			}
			continue
		}
		for j, v := range got {
			switch {
			case where == "value" && j != 3:
				if v != want[j] {
					t.Fatalf("%g in a value changes another dimension of row %d", bad, i)
				}
			case where == "value":
				if !closeTo(v, float64(bad), 0) {
					t.Fatalf("%g in a value gives %g in row %d", bad, v, i)
				}
			case where == "key" && !(c.in(i)[3]*bad > 0) && bad == bad: // a score of -Inf has the effect of a missing token
				if v != v {
					t.Fatalf("%g in a key gives %g in row %d", bad, v, i)
				}
			case v == v:
				t.Fatalf("%g in a %s gives %g in row %d", bad, where, v, i)
			}
		}
	}
}

// TestAttendNothingFinite: keys with scores of -Inf have no weight, unless there are no
// others.
func TestAttendNothingFinite(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		c := newAttendCase(source(), 1, 1, 2*attendBlock, 3, false, Cap{})
		for i := range c.q.In {
			c.q.In[i] = 1
		}
		for i := range c.keys {
			c.keys[i] = float32(math.Inf(-1))
		}
		c.run(k)
		if v := c.q.Out[0]; v == v {
			t.Errorf("no finite score gives %g", v)
		}
		last := len(c.keys) - 3
		clear(c.keys[last:])
		c.run(k)
		if !slices.Equal(c.q.Out[:3], c.values[last:]) {
			t.Errorf("one finite score gives %g, want %g", c.q.Out[:3], c.values[last:])
		}
	})
}

// FuzzAttend compares shapes with float64, and the last row with itself alone.
func FuzzAttend(f *testing.F) {
	f.Add(uint8(1), uint8(1), uint16(1), uint8(1), true, uint16(0), uint16(0), false)
	f.Add(uint8(50), uint8(3), uint16(120), uint8(40), true, uint16(30), uint16(0), true)
	f.Add(uint8(3), uint8(8), uint16(129), uint8(64), false, uint16(0), uint16(0), false)
	f.Add(uint8(60), uint8(2), uint16(300), uint8(20), true, uint16(0), uint16(128), true)
	f.Fuzz(func(t *testing.T, tokens, heads uint8, seen uint16, dim uint8, causal bool, window, chunk uint16, sinks bool) {
		tokens, heads, seen, dim = tokens%70+1, heads%14+1, seen%400, dim%130+1
		for _, k := range Implementations() {
			c := newAttendCase(source(), int(tokens), int(heads), int(seen), int(dim), causal, Cap{})
			if causal { // a window takes precedence
				c.q.Window, c.q.Chunk = int(window%400), 0
				if window == 0 {
					c.q.Chunk = int(chunk % 400)
				}
			}
			if sinks {
				c.q.Sinks = random(source(), int(heads))
			}
			before := slices.Clone(c.q.Out)
			c.run(k)
			c.check(t, before, 2e-6)
			last := c.q.Tokens*c.q.Heads - 1
			got := slices.Clone(c.out(last))
			one := *c
			one.q.In, one.q.Out = c.in(last), make([]float32, c.dim)
			one.q.Seen, one.q.Tokens, one.q.Heads = c.seen(last), 1, 1
			if sinks {
				one.q.Sinks = c.q.Sinks[heads-1:]
			}
			one.run(k)
			if !slices.Equal(got, one.q.Out) {
				t.Fatalf("%s, %v: the last row differs from itself alone", k.Name(), c)
			}
		}
	})
}
