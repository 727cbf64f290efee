package sampler

import (
	"math"
	"math/bits"

	"glossa/pkg/engine/kernel"
)

// block is the number of tokens that kernels process at a time.
const block = 256

// candidates are the tokens that can still be chosen, ordered by id.
type candidates struct {
	kernels *kernel.Kernels
	ids     []int
	logits  []float32
	weights []float64 // set by weigh
	order   []ranked  // scratch
}

// reset removes all candidates.
func (c *candidates) reset() { c.ids, c.logits, c.weights = c.ids[:0], c.logits[:0], c.weights[:0] }

// add appends the tokens with low <= logit <= high. first is the id of x[0].
func (c *candidates) add(x []float32, first int, low, high float32) {
	var mask [block / 64]uint64
	for at := 0; at < len(x); at += block {
		part := x[at:min(at+block, len(x))]
		c.kernels.AtLeast(mask[:], part, low)
		for i, m := range mask[:(len(part)+63)/64] {
			for ; m != 0; m &= m - 1 {
				j := i*64 + bits.TrailingZeros64(m)
				if l := kernel.Finite(part[j]); l <= high {
					c.ids, c.logits, c.weights = append(c.ids, first+at+j), append(c.logits, l), append(c.weights, 0)
				}
			}
		}
	}
}

// best adds the n > 0 likeliest tokens of x, preferring lower ids among equals. It does not
// add a token if n earlier ones are at least as likely.
func (c *candidates) best(x []float32, n int) {
	c.reset()
	bound := float32(-math.MaxFloat32)
	if first := x[:min(block, len(x))]; n < len(first) {
		bound = c.nth(first, n)
	}
	for at := 0; at < len(x); at += block {
		c.add(x[at:min(at+block, len(x))], at, bound, math.MaxFloat32)
		if len(c.ids) > 2*n {
			bound = c.keep(n)
		}
	}
	if len(c.ids) > n {
		c.keep(n)
	}
}

// keep removes all but the n likeliest, preferring lower ids among equals. It returns a
// bound: all removed logits are smaller, and smaller logits that come later are never kept.
func (c *candidates) keep(n int) float32 {
	padded := c.logits
	for len(padded)%64 > 0 { // kernels count whole words fastest
		padded = append(padded, -math.MaxFloat32)
	}
	c.logits = padded[:len(c.logits)]
	nth := c.nth(padded, n)
	next := math.Nextafter32(nth, float32(math.Inf(1)))
	equals := n - c.count(padded, next)
	c.filter(func(i int) bool {
		if c.logits[i] == nth {
			equals--
			return equals >= 0
		}
		return c.logits[i] > nth
	})
	return next
}

// nth returns a bound that at least n values of x reach and at most n exceed, 0 < n <=
// len(x). It bisects the ordered float32 values.
func (c *candidates) nth(x []float32, n int) float32 {
	low, high := ordinal(-math.MaxFloat32), ordinal(math.MaxFloat32)
	for low < high {
		middle := low + (high-low+1)/2
		switch m := c.count(x, float(middle)); {
		case m == n:
			return float(middle)
		case m > n:
			low = middle
		default:
			high = middle - 1
		}
	}
	return float(low)
}

// ordinal numbers the float32 in their order; float is its inverse.
func ordinal(x float32) uint32 {
	b := math.Float32bits(x)
	return b ^ uint32(int32(b)>>31)>>1 ^ 1<<31
}

func float(n uint32) float32 {
	b := n ^ 1<<31
	return math.Float32frombits(b ^ uint32(int32(b)>>31)>>1)
}

// count returns how many values of x are at least the bound.
func (c *candidates) count(x []float32, bound float32) int {
	var mask [block / 64]uint64
	n := 0
	for at := 0; at < len(x); at += block {
		part := x[at:min(at+block, len(x))]
		c.kernels.AtLeast(mask[:], part, bound)
		for _, m := range mask[:(len(part)+63)/64] {
			n += bits.OnesCount64(m)
		}
	}
	return n
}

// filter removes the candidates for which keep returns false.
func (c *candidates) filter(keep func(i int) bool) {
	n := 0
	for i, id := range c.ids {
		if keep(i) {
			c.ids[n], c.logits[n], c.weights[n] = id, c.logits[i], c.weights[i]
			n++
		}
	}
	c.ids, c.logits, c.weights = c.ids[:n], c.logits[:n], c.weights[:n]
}

// weigh sets the weights to exp((logit-top)*scale) and returns their sum.
func (c *candidates) weigh(top float32, scale float64) float64 {
	return c.kernels.Weights(c.weights, c.logits, top, scale)
}

// ranked is a candidate in the order of a key.
type ranked struct {
	id          int
	key, weight float64
}

// before reports whether r comes before q: by the larger key, or the lower id among equals.
func (r *ranked) before(q *ranked) bool { return r.key > q.key || r.key == q.key && r.id < q.id }

func byLogit(l float32) float64 { return float64(l) }

// cut keeps the smallest head, by the key of a logit, whose weights reach the limit, or all
// if none does.
func (c *candidates) cut(limit float64, key func(l float32) float64) {
	if len(c.ids) == 0 {
		return
	}
	c.order = c.order[:0]
	for i, id := range c.ids {
		c.order = append(c.order, ranked{id, key(c.logits[i]), c.weights[i]})
	}
	last := reach(c.order, limit)
	c.filter(func(i int) bool {
		r := ranked{id: c.ids[i], key: key(c.logits[i])}
		return !last.before(&r)
	})
}

// reach returns the last one of the smallest head of c whose mass reaches the limit, by
// partitions as in a selection (Hoare 1961, algorithm 65), here by mass. It reorders c.
func reach(c []ranked, limit float64) ranked {
	for {
		n, mass := partition(c)
		switch {
		case n > 0 && mass >= limit:
			c = c[:n]
		case n == len(c)-1 || mass+c[n].weight >= limit:
			return c[n]
		default:
			limit -= mass + c[n].weight
			c = c[n+1:]
		}
	}
}

// partition chooses a pivot in c and moves the n elements that come before it to c[:n], and
// the pivot to c[n]. It returns n and the mass of c[:n].
func partition(c []ranked) (n int, mass float64) {
	first, middle, last := &c[0], &c[len(c)/2], &c[len(c)-1]
	if middle.before(last) {
		middle, last = last, middle
	}
	switch { // the median of the three; last comes before middle
	case first.before(last):
		*first, *last = *last, *first
	case middle.before(first):
		*first, *middle = *middle, *first
	}
	pivot := c[0]
	for i := 1; i < len(c); i++ {
		if r := c[i]; r.before(&pivot) {
			n++
			mass += r.weight
			c[i], c[n] = c[n], r
		}
	}
	c[0], c[n] = c[n], pivot
	return n, mass
}

// draw walks the candidates until their mass exceeds u of the whole.
func (c *candidates) draw(u float64) int {
	total := 0.0
	for _, w := range c.weights {
		total += w
	}
	at, _ := walk(c.weights, u*total)
	return c.ids[at]
}

// walk returns the index at which the sum of the weights exceeds mass, and the mass left
// there. If rounding leaves a remainder, it is the index of the last weight that is not
// zero.
func walk(weights []float64, mass float64) (at int, left float64) {
	for i, w := range weights {
		if w == 0 {
			continue
		}
		at = i
		if mass < w {
			break
		}
		mass -= w
	}
	return at, mass
}
