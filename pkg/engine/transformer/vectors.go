package transformer

// Patches are a picture for an encoder of patches.
type Patches struct {
	Values    []float32 // (n, Patch), row-major
	Positions []int     // (n), rows of the table of positions; nil: one after the other

	// Shares (n, k), if set, make the position of a patch a sum of k rows of the table, which Positions
	// (n, k) has, each times its share.
	Shares []float32

	Places []Place // (n), for a [Rotary] with axes; nil: those of words

	// Windows are the numbers of patches of each window, one behind the other, for layers whose attention
	// is local; nil: all are in one.
	Windows []int
}

// EncodePatches runs an encoder of patches over pictures. It fails as [Pass.Forward] does, or with
// [ErrStopped]. The result is [Pass.Last], which begins with the row of the class if there is one.
func (p *Pass) EncodePatches(pictures []Patches) error {
	spans := make([]span, len(pictures))
	for i := range pictures {
		spans[i].n = len(pictures[i].Values)/p.m.Patch + p.m.classes()
		spans[i].seen, spans[i].places = spans[i].n, pictures[i].Places
		if spans[i].windows = pictures[i].Windows; spans[i].windows == nil {
			spans[i].windows = []int{spans[i].n}
		}
	}
	_, err := p.encode(spans, func(sp span) { p.embedPatches(sp, &pictures[sp.index]) })
	return err
}

// classes returns the number of vectors before patches.
func (s *Spec) classes() int {
	if s.Class {
		return 1
	}
	return 0
}

// embedPatches writes x = matrix·patch + position, or its norm.
func (p *Pass) embedPatches(sp span, picture *Patches) {
	width, w, first := p.m.Width, p.workers[0], p.m.classes()
	w.count = 1 // the others do not work yet
	x := p.x[sp.row*width : (sp.row+sp.n)*width]
	copy(x, p.m.class)
	w.apply(&p.m.patches, x[first*width:], picture.Values, sp.n-first, nil)
	for i := range sp.n {
		row := x[i*width : (i+1)*width]
		p.m.locate(row, picture, i)
		if p.m.EmbedNorm {
			p.m.normalise(row, row, p.m.input.norm)
		}
	}
}

// mutual is a stretch of a sequence: tokens that see each other.
type mutual struct{ from, to int } // positions

// mutualsOf returns the stretches among tokens, the first of which has a position: those below 0, next
// to each other. It returns nil if there are none.
func mutualsOf(tokens []int, start int) (list []mutual) {
	for i, t := range tokens {
		n := len(list)
		switch {
		case t >= 0:
		case i > 0 && tokens[i-1] < 0:
			list[n-1].to = start + i + 1
		default:
			list = append(list, mutual{start + i, start + i + 1})
		}
	}
	return list
}

// fits returns how many rows of a span, beginning with row at, can be stored in a slot at once,
// so that the first still sees all that its window reaches. It does not divide a stretch that fits.
func (sp *span) fits(slot, at int) int {
	n := sp.cache.layers[slot].room(sp.n - at)
	end := sp.start + at + n
	for _, b := range sp.mutual {
		if b.from < end && end < b.to && b.from > sp.start+at {
			return b.from - sp.start - at
		}
	}
	return n
}

// attendMutual is attendSpan for a span with stretches.
func (w *worker) attendMutual(layer int, sp span, head int) {
	stretches := sp.mutual
	sp.mutual = nil
	for sp.n > 0 {
		for len(stretches) > 0 && stretches[0].to <= sp.start {
			stretches = stretches[1:]
		}
		n, attend := sp.n, w.attendSpan
		if len(stretches) > 0 && stretches[0].from > sp.start {
			n = min(n, stretches[0].from-sp.start)
		} else if len(stretches) > 0 {
			n, attend = min(n, stretches[0].to-sp.start), w.attendStretch
		}
		attend(layer, sp.part(0, n), head)
		sp = sp.part(n, sp.n-n)
	}
}

// attendStretch computes the attention of a stretch's queries: the last sees all keys before its end,
// and each of the others as many keys behind it as its window lets it.
func (w *worker) attendStretch(layer int, sp span, head int) {
	l, end := &w.m.decoder[layer], sp.start+sp.n
	window := l.Attention.Window
	if window == 0 || end <= window {
		q := w.queries(l, l.Attention.rows(), sp, head)
		q.Seen, q.Sinks = end, l.headSinks(head)
		w.m.kernels.Attend(w.attention, q, w.kept(sp, layer, head))
		return
	}
	for i := range sp.n {
		q := w.queries(l, l.Attention.rows(), sp.part(i, 1), head)
		q.Seen, q.Causal, q.Sinks = end, true, l.headSinks(head)
		q.Window = window + end - 1 - (sp.start + i)
		w.m.kernels.Attend(w.attention, q, w.kept(sp, layer, head))
	}
}
