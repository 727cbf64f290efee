package transformer

import (
	"cmp"
	"math"
	"slices"
)

// experts are the blocks of a layer of which each token uses some.
type experts struct {
	*Experts
	router     linear    // (Count, Width)
	correction []float32 // (Count), of Corrected
	sharedGate linear    // (1, Width), of SharedGate
	apart      apart
	list       []feedForward // without norms
	pages      []page        // where these are
}

// apart has the parameters of [Experts.Apart].
type apart struct {
	router, first, shared, last norm      // before the router and the experts, behind the shared block and the experts
	scales                      []float32 // (Count)
}

// routes say which experts compute which rows of a pass. Each worker finds them for itself, which
// costs less than waiting for another.
type routes struct {
	logits []float32 // (tokens, Count)
	ranks  []float32 // (Count), what experts are chosen by
	groups []float32 // (Groups), what groups are chosen by
	best   []int     // (GroupsUsed), the groups that are chosen
	gates  []float32 // (tokens, 1), of the shared block
	chosen []int     // (tokens, Used), ascending
	shares []float32 // (tokens, Used), their probabilities

	// The same by expert: those of expert e are the entries starts[e], ..., starts[e+1]-1.
	starts []int     // (Count+1)
	rows   []int     // (tokens*Used), ascending for each expert
	parts  []float32 // (tokens*Used), the probabilities
}

// mix computes the feed-forward branch of a layer with experts. The rows of a token are added in
// the order of the experts, so results do not depend on the other rows of a pass.
func (w *worker) mix(l *layer) {
	e := l.experts
	if e.Apart {
		w.normalise(e.apart.router)
		w.route(e, w.norm)
	}
	in := w.inputs(&l.ffn.norms)
	if !e.Apart {
		w.route(e, in)
	}
	if w.index == 0 {
		w.m.await.fail(w.m.pager.use(e, w.routes.starts))
	}
	if e.Shared > 0 {
		l.ffn.up(w, w.h, w.g, in, w.tokens)
	}
	out := w.out
	if e.Apart {
		w.normalise(e.apart.first)
		in, out = w.norm, w.apart
	}
	w.raise(l, in)
	w.barrier.wait()
	c := w.own(w.m.Width)
	w.shared(l, c)
	for i := range e.list {
		w.lower(l, i, out, c)
	}
	if e.Apart {
		w.join(&e.apart)
	}
	w.took(&l.ffn.norms, c.from, c.to)
	w.finish(&l.ffn.norms)
}

// join adds what the experts and the shared block give, each behind its norm.
func (w *worker) join(a *apart) {
	w.barrier.wait() // a norm needs all columns of a row
	w.normaliseRows(w.out, a.shared)
	w.normaliseRows(w.apart, a.last)
	width := w.m.Width
	from, to := w.share(w.tokens)
	w.m.kernels.Add(w.out[from*width:to*width], w.apart[from*width:to*width])
	w.barrier.wait()
}

// route chooses the experts of all rows.
func (w *worker) route(e *experts, in []float32) {
	r, n := &w.routes, w.tokens
	fit(&r.logits, n*e.Count)
	w.multiplyColumns(&e.router, r.logits, in, n, columns{0, e.Count, e.Count}, true)
	if e.Apart {
		w.m.kernels.Scale(r.logits, float32(1/math.Sqrt(float64(w.m.Width))))
	}
	if e.SharedGate {
		fit(&r.gates, n)
		w.multiplyColumns(&e.sharedGate, r.gates, in, n, columns{0, 1, 1}, true)
	}
	fit(&r.chosen, n*e.Used)
	fit(&r.shares, n*e.Used)
	for i := range n {
		logits, chosen, shares := r.logits[i*e.Count:(i+1)*e.Count], r.chosen[i*e.Used:(i+1)*e.Used], r.shares[i*e.Used:(i+1)*e.Used]
		if e.Sigmoid || e.Corrected {
			e.chooseProbable(r, logits, chosen, shares)
		} else {
			e.chooseSoftmax(r, logits, chosen, shares)
		}
		if e.Scale != 0 {
			w.m.kernels.Scale(shares, e.Scale)
		}
		if e.Apart {
			for k, expert := range chosen {
				shares[k] *= e.apart.scales[expert]
			}
		}
	}
	r.sort(e, n)
}

// chooseSoftmax writes the experts with the highest logits, ascending, and their probabilities.
func (e *experts) chooseSoftmax(r *routes, logits []float32, chosen []int, shares []float32) {
	ranks := logits
	if e.Groups > 0 {
		fit(&r.ranks, e.Count)
		copy(r.ranks, logits)
		ranks = r.ranks
		e.limit(r)
	}
	choose(ranks, chosen)
	highest := logits[chosen[0]]
	for _, i := range chosen {
		highest = max(highest, logits[i])
	}
	sum := 0.0
	for i, v := range logits {
		if !e.Renormalised || slices.Contains(chosen, i) {
			sum += math.Exp(float64(v - highest))
		}
	}
	for k, i := range chosen {
		shares[k] = float32(math.Exp(float64(logits[i]-highest)) / sum)
	}
}

// chooseProbable is chooseSoftmax for probabilities that are sigmoids, or that corrections choose by.
func (e *experts) chooseProbable(r *routes, logits []float32, chosen []int, shares []float32) {
	fit(&r.ranks, e.Count)
	e.probabilities(logits)
	copy(r.ranks, logits)
	if e.Corrected {
		for i, v := range e.correction {
			r.ranks[i] += v
		}
	}
	if e.Groups > 0 {
		e.limit(r)
	}
	choose(r.ranks, chosen)
	sum := 1.0
	if e.Renormalised {
		sum = float64(cmp.Or(e.Floor, 1e-6))
		for _, i := range chosen {
			sum += float64(logits[i])
		}
	}
	for k, i := range chosen {
		shares[k] = float32(float64(logits[i]) / sum)
	}
}

// limit makes the ranks of experts that cannot be chosen, since their groups are not, the lowest.
func (e *experts) limit(r *routes) {
	size := e.Count / e.Groups
	fit(&r.groups, e.Groups)
	fit(&r.best, e.GroupsUsed)
	for g := range r.groups {
		first, second := float32(math.Inf(-1)), float32(math.Inf(-1))
		for _, v := range r.ranks[g*size : (g+1)*size] {
			first, second = max(first, v), max(second, min(first, v))
		}
		if r.groups[g] = first; e.Corrected && size > 1 {
			r.groups[g] += second
		}
	}
	choose(r.groups, r.best)
	for i := range r.ranks {
		if !slices.Contains(r.best, i/size) {
			r.ranks[i] = float32(math.Inf(-1))
		}
	}
}

// probabilities writes those of all experts over their logits.
func (e *experts) probabilities(logits []float32) {
	if e.Sigmoid {
		for i, v := range logits {
			logits[i] = float32(1 / (1 + math.Exp(-float64(v))))
		}
		return
	}
	highest, sum := slices.Max(logits), 0.0
	for _, v := range logits {
		sum += math.Exp(float64(v - highest))
	}
	for i, v := range logits {
		logits[i] = float32(math.Exp(float64(v-highest)) / sum)
	}
}

// choose writes the indices of the highest ranks, ascending.
func choose(ranks []float32, chosen []int) {
	for k := range chosen {
		best := -1
		for i, v := range ranks {
			if (best < 0 || v > ranks[best]) && !slices.Contains(chosen[:k], i) {
				best = i
			}
		}
		at := k // in ascending order
		for ; at > 0 && chosen[at-1] > best; at-- {
			chosen[at] = chosen[at-1]
		}
		chosen[at] = best
	}
}

// sort lists the rows of n tokens by expert.
func (r *routes) sort(e *experts, n int) {
	fit(&r.starts, e.Count+1)
	fit(&r.rows, n*e.Used)
	fit(&r.parts, n*e.Used)
	clear(r.starts)
	for _, i := range r.chosen {
		r.starts[i+1]++
	}
	for i := range e.Count {
		r.starts[i+1] += r.starts[i]
	}
	for k, i := range r.chosen { // starts[i] moves to the end of expert i, which is the start of the next
		at := r.starts[i]
		r.rows[at], r.parts[at] = k/e.Used, r.shares[k]
		r.starts[i]++
	}
	copy(r.starts[1:], r.starts)
	r.starts[0] = 0
}

// raise computes the worker's columns of what experts' first products give.
func (w *worker) raise(l *layer, in []float32) {
	ffn, r := l.FeedForward.Width, &w.routes
	var before *linear
	for i := range l.experts.list {
		f, first, last := &l.experts.list[i], r.starts[i], r.starts[i+1]
		if first == last {
			continue
		}
		x, n, fresh := in, last-first, true
		if n == w.tokens { // all rows, in order
			fresh = before == nil || !f.upper.sharesInputs(before)
			before = &f.upper
		} else {
			x, before = w.gather(in, r.rows[first:last]), nil
		}
		g := w.eg
		if f.gated {
			g = g[first*ffn : last*ffn]
		}
		f.upColumns(w, w.eh[first*ffn:last*ffn], g, x, n, w.own(ffn), fresh)
	}
}

// gather returns copies of rows of x (tokens, Width), one after another.
func (w *worker) gather(x []float32, rows []int) []float32 {
	width := w.m.Width
	fit(&w.gathered, len(rows)*width)
	for k, row := range rows {
		copy(w.gathered[k*width:], x[row*width:(row+1)*width])
	}
	return w.gathered
}

// shared computes the columns of the shared block's results, and zeros those that experts are added to
// without it.
func (w *worker) shared(l *layer, c columns) {
	width := w.m.Width
	if l.experts.Shared > 0 {
		w.multiplyColumns(&l.ffn.lower, w.out, w.h, w.tokens, c, true)
	}
	for i := range w.tokens {
		out := w.out[i*width+c.from : i*width+c.to]
		switch {
		case l.experts.Shared == 0:
			clear(out)
		case l.experts.SharedGate:
			w.m.kernels.Scale(out, float32(1/(1+math.Exp(-float64(w.routes.gates[i])))))
		case l.experts.Apart:
			clear(w.apart[i*width+c.from : i*width+c.to])
		}
	}
}

// lower adds the columns of an expert's results to out.
func (w *worker) lower(l *layer, expert int, out []float32, c columns) {
	r, width, ffn := &w.routes, w.m.Width, l.FeedForward.Width
	first, last := r.starts[expert], r.starts[expert+1]
	if first == last || c.from == c.to {
		return
	}
	w.multiplyColumns(&l.experts.list[expert].lower, w.mixed, w.eh[first*ffn:last*ffn], last-first, c, true)
	for k, row := range r.rows[first:last] {
		y := w.mixed[k*width+c.from : k*width+c.to]
		w.m.kernels.Scale(y, r.parts[first+k])
		w.m.kernels.Add(out[row*width+c.from:row*width+c.to], y)
	}
}
