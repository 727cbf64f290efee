package kernel

import "unsafe"

// Products of many rows with Q8W weights on AMX. Rows of activations come in squares of 16:
// for 128 inputs, two tiles of (row, 64 inputs) bytes and 16 d. The products are the same
// integers as elsewhere.
const (
	squareRows  = 16
	squareWords = 528      // of a square, for 128 inputs
	squareScale = 512      // the first word of scales
	squareRoom  = 12 << 10 // bytes that the routine needs, the last third zeros
)

// squaresFrom is the number of rows from which on squares are faster: a square takes as
// long for one row as for 16.
const squaresFrom = 9

// hasSquares reports whether n rows are kept in squares instead.
func (a *Activations) hasSquares(k *Kernels, n int) bool {
	return k.amx && a.inputs == wideCols && n >= squaresFrom
}

// square returns the words of row r and of those that follow in its square.
func (a *Activations) square(r int) []float32 {
	size := a.slices * squareWords
	return a.squares[r/squareRows*size:][:size]
}

// setSquares quantises the rows from first on into their squares.
func (k *Kernels) setSquares(a *Activations, x []float32, first int) {
	whole := a.Cols / wideCols
	for r := first; len(x) > 0; r++ {
		out, row := a.square(r), r%squareRows
		if whole > 0 {
			quantizeSquare(out, row, x, whole)
		}
		if rest := x[whole*wideCols : a.Cols]; len(rest) > 0 {
			var padded [wideCols]float32
			copy(padded[:], rest)
			quantizeSquare(out[whole*squareWords:], row, padded[:], 1)
		}
		x = x[a.Cols:]
	}
}

// A squareScratch holds the routine's room, on whole cache lines.
type squareScratch [squareRoom + line]byte

func (s *squareScratch) aligned() *[squareRoom]byte {
	return (*[squareRoom]byte)(s[-uintptr(unsafe.Pointer(s))%line:])
}

// A squareSpan is the work of one routine call: some panels, for one square or two.
type squareSpan struct {
	dst       []float32 // (squares*16, panels*16)
	ldd       int       // distance of rows of dst, in values
	w         []byte    // panels
	act       []float32 // the first square
	stride    int       // distance of squares, in words
	blocks    int       // superblocks of a panel
	panels    int
	squares   int
	room      *[squareRoom]byte
	readahead // a piece is a product of tiles
}

// matMulSquares is matMulPanels with activations in squares.
func (k *Kernels) matMulSquares(dst []float32, ldd int, a *Activations, n int, w *Packed, from, to, until int) {
	var room squareScratch
	size := w.superblocks() * formats[Q8W].bytes // of a panel
	t := squareSpan{ldd: ldd, stride: a.slices * squareWords, blocks: a.slices, room: room.aligned()}
	group := evenly(to-from, max(1, groupBytes/size))
	for p := from; p < to; p += group {
		end := min(p+group, to)
		follows := w.follows(end, from, until)
		t.w, t.panels = w.data[p*size:end*size], end-p
		for r := 0; r < n; r += 2 * squareRows {
			t.squares = min(2, (n-r)/squareRows)
			if t.squares > 0 {
				t.dst, t.act = dst[r*ldd+p*packedRows:], a.square(r)
				t.bring(r, n, follows)
				tileSquares(&t)
			}
			if rest := (n - r) % squareRows; t.squares < 2 && rest > 0 {
				a.someRows(dst, ldd, r+t.squares*squareRows, rest, w, p, end, &t)
			}
		}
	}
}

// bring sets the readahead for rows r, ... of n. The routine of a single square or two multiplies
// two panels at a time and can bring the two after them.
func (t *squareSpan) bring(r, n int, follows bool) {
	const pair = 2 * squareRows
	each := formats[Q8W].bytes / 2 / max(1, t.squares)
	switch calls := (n/squareRows + 1) / 2; {
	case calls > 1 && follows:
		t.readahead = spread(r/pair, calls, len(t.w), len(t.w), each)
	case r == 0:
		t.readahead = readahead{ahead: 2 * len(t.w) / t.panels, step: each}
	default:
		t.readahead = readahead{}
	}
}

// someRows computes a square that has fewer than 16 rows, from row first on.
func (a *Activations) someRows(dst []float32, ldd, first, rows int, w *Packed, from, to int, t *squareSpan) {
	const most = 8 // panels at once
	var out [squareRows * most * packedRows]float32
	size := t.blocks * formats[Q8W].bytes
	for p := from; p < to; p += most {
		panels := min(most, to-p)
		part := squareSpan{dst: out[:], ldd: most * packedRows, act: a.square(first), blocks: t.blocks, panels: panels, squares: 1, w: w.data[p*size : (p+panels)*size], room: t.room}
		if first == 0 {
			part.bring(0, rows, false)
		}
		tileSquares(&part)
		for r := range rows {
			at := (first+r)*ldd + p*packedRows
			copy(dst[at:min(at+panels*packedRows, (first+r)*ldd+w.Rows)], out[r*part.ldd:])
		}
	}
}

// lastSquares computes the last panel, of which only some rows are used.
func (a *Activations) lastSquares(dst []float32, ldd, n int, w *Packed) {
	var room squareScratch
	t := squareSpan{blocks: a.slices, room: room.aligned()}
	p := w.Rows / packedRows
	for r := 0; r < n; r += squareRows {
		a.someRows(dst, ldd, r, min(squareRows, n-r), w, p, p+1, &t)
	}
}
