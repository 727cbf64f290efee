package transformer

import (
	"sync/atomic"

	"glossa/pkg/engine/kernel"
)

// A step of a program is divided into like shares, one for each worker, and shares into pieces.
// Who is done with its own share takes pieces from the ends of the others': the processors of a
// virtual machine are not equally fast at every moment, and all wait for the slowest at a barrier.

// A deal says which pieces of a worker's share nobody has taken yet: number of the step << 32,
// the first piece << 16, and the piece after the last. It fills a cache line.
type deal struct {
	state atomic.Uint64
	_     [56]byte
}

const mostPieces = 1<<16 - 1

// first takes the first piece of the owner's share, which has some pieces; false means that none
// is left.
func (d *deal) first(step uint32, pieces int) (piece int, ok bool) {
	return d.take(step, pieces, func(from, to int) (int, int, int) { return from, from + 1, to })
}

// last takes the last piece for another worker.
func (d *deal) last(step uint32, pieces int) (piece int, ok bool) {
	return d.take(step, pieces, func(from, to int) (int, int, int) { return to - 1, from, to - 1 })
}

// begun reports whether the owner has taken its first piece of a step, or is beyond it.
func (d *deal) begun(step uint32) bool { return uint32(d.state.Load()>>32) >= step }

func (d *deal) take(step uint32, pieces int, choose func(from, to int) (piece, first, end int)) (piece int, ok bool) {
	for {
		state := d.state.Load()
		at, from, to := uint32(state>>32), int(uint16(state>>16)), int(uint16(state))
		if at > step {
			return 0, false // its owner has left the step
		}
		if at < step {
			from, to = 0, pieces
		}
		if from == to {
			return 0, false
		}
		piece, from, to := choose(from, to)
		if d.state.CompareAndSwap(state, uint64(step)<<32|uint64(from)<<16|uint64(to)) {
			return piece, true
		}
	}
}

// deal calls do for pieces of units from, ..., to-1 of n, until all are taken, with the end of the
// share that they are of; at most grain units are a piece. All workers make the same calls in a
// program. If ready is false, another's share can only be taken from once that worker has begun it.
func (w *worker) deal(n, grain int, ready bool, do func(from, to, end int)) {
	if w.count == 1 {
		if n > 0 {
			do(0, n, n)
		}
		return
	}
	w.step++
	for i := range w.count {
		owner := (w.index + i) % w.count
		begin, end := w.shareOf(owner, n)
		each := max(1, grain, ceil(end-begin, mostPieces))
		pieces, d, take := ceil(end-begin, each), &w.barrier.deals[owner], (*deal).first
		if i > 0 {
			take = (*deal).last
			if !ready && !d.begun(w.step) {
				continue
			}
		}
		for {
			piece, ok := take(d, w.step, pieces)
			if !ok {
				break
			}
			from := begin + piece*each
			do(from, min(from+each, end), end)
		}
	}
}

// columns are those of a piece of a product; the same worker's pieces end before until.
type columns struct{ from, to, until int }

// A panel is the unit of columns of every format: matrices of a gated block are shared alike.
const panel = kernel.PanelRows

// own returns the columns of the worker's share of a product.
func (w *worker) own(rows int) columns {
	first, last := w.share(ceil(rows, panel))
	to := min(last*panel, rows)
	return columns{min(first*panel, rows), to, to}
}

// A piece of a product is some 20 µs of work, which reading 700 KB of weights takes as well, and has
// as many weights as stay in the second-level cache while all rows pass over them.
const (
	pieceWork  = 4 << 20   // multiply-adds
	readRows   = 6         // rows that are multiplied in the time in which weights are read
	pieceBytes = 192 << 10 // at a byte a weight
)

func ceil(a, b int) int { return (a + b - 1) / b }

// pieces deals the columns of a product with n rows. Only the first call of do has fresh set.
func (w *worker) pieces(l *linear, n int, do func(c columns, fresh bool)) {
	all, fresh := ceil(l.rows, panel), true
	weights := panel * l.cols
	grain := max(ceil(pieceWork, weights*max(n, readRows)), ceil(pieceBytes, weights))
	if l.packed == nil || w.adapted(l) { // each piece would prepare the inputs anew
		grain = all
	}
	w.deal(all, grain, true, func(from, to, end int) {
		do(columns{min(from*panel, l.rows), min(to*panel, l.rows), min(end*panel, l.rows)}, fresh)
		fresh = false
	})
}
