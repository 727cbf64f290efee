package transformer

// A filter is a short convolution of some values of a product, followed by SiLU.
type filter struct {
	length, channels int
	first, products  int       // the first of the values in a row, and the length of a row
	taps             []float32 // (length, channels), row-major
	bias             []float32 // (channels), or nil
}

// filterSpans filters the worker's channels of all sequences. What their next tokens see of the inputs is
// kept at the beginning of the states in a slot.
func (w *worker) filterSpans(f *filter, slot int) {
	c := w.own(f.channels)
	for _, sp := range w.spans {
		if sp.n > 0 && c.from < c.to {
			w.filter(f, sp, sp.cache.state(slot), c.from, c.to)
		}
	}
}

// filter convolves the channels from, ..., to-1 of a sequence, in place, and keeps the inputs that
// its next tokens see. Later tokens come first, since they read the inputs of earlier ones.
func (w *worker) filter(f *filter, sp span, kept []float32, from, to int) {
	k, channels, before := w.m.kernels, f.channels, f.length-1
	if sp.start == 0 {
		for tap := range before {
			clear(kept[tap*channels+from : tap*channels+to])
		}
	}
	at := func(row int) []float32 { // inputs of the sequence's rows in the pass; kept ones of rows before 0
		if row < 0 {
			return kept[(before+row)*channels+from : (before+row)*channels+to]
		}
		row = (sp.row+row)*f.products + f.first
		return w.qkv[row+from : row+to]
	}
	n := to - from
	fit(&w.filtered, f.length*n)
	last, y := w.filtered[:before*n], w.filtered[before*n:]
	for tap := range before {
		copy(last[tap*n:], at(sp.n-before+tap))
	}
	for row := sp.n - 1; row >= 0; row-- {
		if clear(y); f.bias != nil {
			copy(y, f.bias[from:to])
		}
		for tap := range f.length {
			k.MulAdd(y, at(row-before+tap), f.taps[tap*channels+from:tap*channels+to])
		}
		k.SiLU(y)
		copy(at(row), y)
	}
	for tap := range before {
		copy(kept[tap*channels+from:], last[tap*n:(tap+1)*n])
	}
}
