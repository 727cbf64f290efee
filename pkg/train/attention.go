package train

import (
	"math"

	"glossa/pkg/engine/kernel"
)

// queryBlock is the number of queries whose scores are computed together; keys after the
// last of them are skipped.
const queryBlock = 48

func (w *worker) queryScale() float32 {
	return float32(1 / math.Sqrt(float64(w.config.NEmbd/w.config.NHead)))
}

// head3 returns the view (T, headDim) of head h: part 0 is q, 1 is k, 2 is v.
func (w *worker) head3(qkv []float32, part, h, row int) kernel.View {
	e := w.config.NEmbd
	return kernel.View{Data: qkv[row*3*e+part*e+h*(e/w.config.NHead):], Stride: 3 * e}
}

func transposed(v kernel.View) kernel.View {
	v.Transposed = !v.Transposed
	return v
}

// scores writes p (rows, n) = cap(q·kᵀ) of rows queries, beginning with query first.
func (w *worker) scores(a *activations, h, first, rows int) {
	n, d := first+rows, w.config.NEmbd/w.config.NHead
	w.k.GEMM(w.scratch, w.p, n, w.head3(a.qkv, 0, h, first), transposed(w.head3(a.qkv, 1, h, 0)), rows, n, d, false)
	if c := w.config.SoftCap; c != nil {
		w.k.SoftCap(w.p[:rows*n], w.slope, float32(*c))
	}
}

// attend computes att of head h, and lse.
func (w *worker) attend(a *activations, h, t int) {
	e := w.config.NEmbd
	d := e / w.config.NHead
	for first := 0; first < t; first += queryBlock {
		rows := min(queryBlock, t-first)
		n := first + rows
		w.scores(a, h, first, rows)
		for r := range rows {
			row := w.p[r*n : (r+1)*n]
			seen := first + r + 1 // causal: keys up to the query itself
			a.lse[h*w.config.BlockSize+first+r] = w.k.LogSoftmax(row[:seen])
			clear(row[seen:])
		}
		w.k.GEMM(w.scratch, a.att[first*e+h*d:], e, kernel.View{Data: w.p, Stride: n}, w.head3(a.qkv, 2, h, 0), rows, d, n, false)
	}
}

// attendBack adds the gradients of head h from datt, the gradient of att, to dqkv.
func (w *worker) attendBack(a *activations, datt []float32, h, t int) {
	e := w.config.NEmbd
	d := e / w.config.NHead
	part := func(i, row int) []float32 { return w.head3(w.dqkv, i, h, row).Data }
	for first := 0; first < t; first += queryBlock {
		rows := min(queryBlock, t-first)
		n := first + rows
		w.scores(a, h, first, rows)
		dout := kernel.View{Data: datt[first*e+h*d:], Stride: e}
		w.k.GEMM(w.scratch, w.dp, n, dout, transposed(w.head3(a.qkv, 2, h, 0)), rows, n, d, false)
		for r := range rows {
			seen := first + r + 1
			w.softmaxBack(a.lse[h*w.config.BlockSize+first+r], r*n, r*n+seen)
			clear(w.p[r*n+seen : (r+1)*n])
			clear(w.dp[r*n+seen : (r+1)*n])
		}
		p, ds := kernel.View{Data: w.p, Stride: n}, kernel.View{Data: w.dp, Stride: n}
		w.k.GEMM(w.scratch, part(2, 0), 3*e, transposed(p), dout, n, d, rows, true)
		w.k.GEMM(w.scratch, part(1, 0), 3*e, transposed(ds), w.head3(a.qkv, 0, h, first), n, d, rows, true)
		w.k.GEMM(w.scratch, part(0, first), 3*e, ds, w.head3(a.qkv, 1, h, 0), rows, d, n, false)
	}
}

// softmaxBack turns scores p[from:to] into probabilities, and their gradient dp into that
// of the scores before the cap.
func (w *worker) softmaxBack(lse float32, from, to int) {
	p, dp := w.p[from:to], w.dp[from:to]
	w.k.ExpShift(p, lse)
	w.k.SoftmaxBackward(dp, p, 1)
	if w.slope != nil {
		w.k.Mul(dp, w.slope[from:to])
	}
}
