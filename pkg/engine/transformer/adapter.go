package transformer

import (
	"errors"
	"fmt"
	"slices"
)

// A LowRank is an update of a matrix (out, in) by a product of two small ones, B·A (Hu et al.
// 2021, "LoRA: Low-Rank Adaptation of Large Language Models").
type LowRank struct {
	Name          string // of the matrix, for errors
	Rank, In, Out int

	// Read returns A (Rank, In) and the transpose of B (Rank, Out), scaled, both row-major.
	Read func() (a, b []float32, err error)
}

// An Adapter has the updates of some matrices of a decoder, see [Model.NewAdapter]. A pass adds
// them to the products of the sequences that have it. It is immutable and safe for concurrent use.
type Adapter struct {
	updates [][]update // by the number of a linear
	bytes   int64
}

// An update is added to the rows at, ..., at+n-1 of a linear. They are rows of B, beginning with
// row from.
type update struct {
	at, n, from int
	*factors
}

// factors are the matrices of a [LowRank].
type factors struct {
	rank, in, out int
	a, b          []float32 // (rank, in), (rank, out), row-major
}

// Bytes returns the memory of the updates.
func (a *Adapter) Bytes() int64 { return a.bytes }

// NewAdapter reads the updates of the tensors of w, see [Tensor.Update], which must be weights of
// the same Spec. The weights themselves are not read. It fails if [Weights.Adapter] says that they
// must be merged.
func (m *Model) NewAdapter(w *Weights) (*Adapter, error) {
	_, parts, err := prepare(&m.Spec, w, m.kernels, F32)
	if err != nil {
		return nil, err
	}
	list, ok := updatesOf(parts)
	if !ok || len(m.encoder) > 0 {
		return nil, errors.New("some updates must be merged")
	}
	a, read := &Adapter{bytes: list.bytes()}, make([]factors, len(list))
	for i, u := range list {
		f := &read[i]
		f.rank, f.in, f.out = u.Rank, u.In, u.Out
		if f.a, f.b, err = u.Read(); err != nil {
			return nil, err
		}
		if len(f.a) != u.Rank*u.In || len(f.b) != u.Rank*u.Out {
			return nil, fmt.Errorf("%s: %d and %d values do not have rank %d", u.Name, len(f.a), len(f.b), u.Rank)
		}
	}
	for i := range parts {
		number, at := parts[i].number(), 0
		for len(a.updates) <= number {
			a.updates = append(a.updates, nil)
		}
		for _, t := range *parts[i].from {
			if t.Update != nil {
				f := &read[slices.Index(list, t.Update)]
				a.updates[number] = append(a.updates[number], update{at: at, n: t.Rows, from: t.UpdateRow, factors: f})
			}
			at += t.Rows
		}
	}
	return a, nil
}

// lowRanks are the different updates of some tensors.
type lowRanks []*LowRank

// bytes returns the memory of the matrices.
func (l lowRanks) bytes() (n int64) {
	for _, u := range l {
		n += 4 * int64(u.Rank) * int64(u.In+u.Out)
	}
	return n
}

// updatesOf returns the updates of parts. ok is false if a part that adapters cannot update has one.
func updatesOf(parts []part) (list lowRanks, ok bool) {
	for i := range parts {
		for _, t := range *parts[i].from {
			switch {
			case t.Update == nil:
			case parts[i].number() == 0:
				return nil, false
			case !slices.Contains(list, t.Update):
				list = append(list, t.Update)
			}
		}
	}
	return list, true
}

// Adapter returns the memory of an [Adapter] with the updates of the tensors. ok is false if
// there are none, or if some must be merged: those of other matrices than the layers' products,
// such as the head's, of experts, and of models with an encoder.
func (w *Weights) Adapter(spec *Spec) (bytes int64, ok bool) {
	list, ok := updatesOf(spec.parts(w, newModel(spec, w), F32))
	return list.bytes(), ok && len(list) > 0 && len(spec.Encoder) == 0
}

// number returns the number of the part's linear, 0 if adapters cannot update it.
func (p *part) number() int {
	if p.usage != multiplied {
		return 0
	}
	return p.matrix.number
}

// A run is consecutive rows of a pass with one adapter.
type run struct {
	*Adapter
	row, n int
}

// addRun adds rows to the runs of the pass.
func (p *Pass) addRun(a *Adapter, row, n int) {
	last := len(p.runs) - 1
	switch {
	case a == nil || n == 0:
	case last >= 0 && p.runs[last].Adapter == a && p.runs[last].row+p.runs[last].n == row:
		p.runs[last].n += n
	default:
		p.runs = append(p.runs, run{a, row, n})
	}
}

// adapt adds to the columns from, ..., to-1 of the product dst (tokens, out) of l with x (tokens,
// in) what the adapters of the rows add. Each worker computes A·x for itself, which costs less
// than waiting for another worker.
func (w *worker) adapt(l *linear, dst, x []float32, from, to int) {
	if l.number == 0 {
		return
	}
	for _, r := range w.runs {
		var reduced *factors // whose results are in w.low
		for _, u := range r.updates[l.number] {
			first, end := max(from, u.at), min(to, u.at+u.n)
			if first >= end {
				continue
			}
			if u.factors != reduced {
				w.reduce(u.factors, x[r.row*u.in:], r.n)
				reduced = u.factors
			}
			w.expand(&u, dst[r.row*l.rows:], l.rows, r.n, first, end)
		}
	}
}

// adapted reports whether an adapter of the pass changes l.
func (w *worker) adapted(l *linear) bool {
	return l.number > 0 && slices.ContainsFunc(w.runs, func(r run) bool { return len(r.updates[l.number]) > 0 })
}

// reduce computes low (n, rank) = A·x of n rows of x.
func (w *worker) reduce(f *factors, x []float32, n int) {
	fit(&w.low, n*f.rank)
	for i := range n {
		row := x[i*f.in : (i+1)*f.in]
		for k := range f.rank {
			w.low[i*f.rank+k] = w.m.kernels.Dot(row, f.a[k*f.in:(k+1)*f.in])
		}
	}
}

// expand adds B·low to the columns from, ..., to-1 of n rows of dst, which are ldd values apart.
func (w *worker) expand(u *update, dst []float32, ldd, n, from, to int) {
	b := u.b[u.from+from-u.at:]
	for i := range n {
		y := dst[i*ldd+from : i*ldd+to]
		for k := range u.rank {
			w.m.kernels.Axpy(y, w.low[i*u.rank+k], b[k*u.out:])
		}
	}
}
