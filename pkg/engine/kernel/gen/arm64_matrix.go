package main

import "fmt"

// tileARM64 is the number of rows of the widest tile, blockARM64 that of a transposed
// block.
const (
	tileARM64  = 12
	blockARM64 = 16
	panelVecs  = panelBytes / vecBytes
)

// gemm emits the tile: c (rows, 32) = or += a (k, rows packed) · w (k, 32 packed).
// Every output adds its products in the order of k, fused, whatever the tile.
func (t *neon) gemm() {
	p := "c *float32, ldc int, a, w *float32, k, rows, accumulate int"
	t.fn("gemm", fmt.Sprintf("computes the tile c (rows <= %d, 32) from a (k, rows) and w (k, 32); ldc in floats.", t.tile), p)
	t.args(p, "R0 R1 R2 R3 R4 R5 R6")
	t.op("LSL", "$2", "R1")
	for rows := t.tile; rows > 1; rows-- {
		t.op("CMP", imm(rows), "R5")
		t.op("BEQ", fmt.Sprintf("rows%d", rows))
	}
	for rows := 1; rows <= t.tile; rows++ {
		if rows > 1 {
			t.label(fmt.Sprintf("rows%d", rows))
		}
		t.tileRows(rows)
	}
}

// tileWidth is the number of vectors of a row that are summed at once: it leaves
// registers for the operands.
func tileWidth(rows int) int {
	for width := panelVecs; ; width /= 2 {
		if rows*width+len(tileLoads(rows))+2 <= 32 {
			return width
		}
	}
}

// tileRows goes over the panel in steps of width vectors. Accumulator r*width+i holds
// row r, vector i; behind them lie the values of a, then those of w, which share what
// registers are left.
func (t *neon) tileRows(rows int) {
	width, loads := tileWidth(rows), tileLoads(rows)
	values := vec(rows * width)
	free := seq(int(values)+len(loads), width)
	for int(values)+len(loads)+len(free) > 32 {
		free = free[:len(free)/2]
	}
	pass, loop, start, fresh, end := t.next("pass"), t.next("loop"), t.next("start"), t.next("fresh"), t.next("end")
	t.op("MOVD", imm(panelVecs/width), "R7")
	t.label(pass)
	t.op("MOVD", "R2", "R9")
	t.op("MOVD", "R3", "R10")
	t.op("MOVD", "R4", "R11")
	t.op("CBZ", "R6", fresh)
	t.tileMemory(rows, width, t.loadQ)
	t.op("B", start)
	t.label(fresh)
	for _, r := range seq(0, rows*width) {
		t.zero(r)
	}
	t.label(start)
	t.op("CBZ", "R11", end)
	t.label(loop)
	for i, l := range loads {
		t.op(l.op, mem(4*l.row, "R9"), (values + vec(i)).f())
	}
	for i := 0; i < width; i += len(free) {
		t.loadQ("R10", i*vecBytes, free...)
		for r := range rows {
			v, lane := laneOfRow(loads, r)
			for j, w := range free {
				t.fmaLane(vec(r*width+i+j), w, values+vec(v), lane)
			}
		}
	}
	t.advance(4*rows, "R9")
	t.advance(panelBytes, "R10")
	t.op("SUBS", "$1", "R11", "R11")
	t.op("BNE", loop)
	t.label(end)
	t.tileMemory(rows, width, t.storeQ)
	t.advance(width*vecBytes, "R0", "R3")
	t.op("SUBS", "$1", "R7", "R7")
	t.op("BNE", pass)
	t.ret()
}

// tileMemory loads or stores the accumulators.
func (t *neon) tileMemory(rows, width int, move func(pointer string, off int, regs ...vec)) {
	t.op("MOVD", "R0", "R8")
	for r := range rows {
		move("R8", 0, seq(r*width, width)...)
		if r < rows-1 {
			t.op("ADD", "R1", "R8")
		}
	}
}

// A tileLoad reads a register's worth of a column of a, from the given row on.
type tileLoad struct {
	op        string
	row, rows int
}

// tileLoads reads the rows of a column and no more: the last vector may overlap the
// one before.
func tileLoads(rows int) (list []tileLoad) {
	switch rows {
	case 1:
		return []tileLoad{{"FMOVS", 0, 1}}
	case 2:
		return []tileLoad{{"FMOVD", 0, 2}}
	case 3:
		return []tileLoad{{"FMOVD", 0, 2}, {"FMOVS", 2, 1}}
	}
	for r := 0; r < rows; r += lane4 {
		list = append(list, tileLoad{"FMOVQ", min(r, rows-lane4), lane4})
	}
	return list
}

// laneOfRow returns the lane with a row's value.
func laneOfRow(loads []tileLoad, row int) (register, lane int) {
	for i, l := range loads {
		if row < l.row+l.rows {
			return i, row - l.row
		}
	}
	panic("row outside the tile")
}

// gemv emits one row of x against whole panels, two at a time to hide the latency of
// the multiply-adds, then one. Four columns are taken at once, then one.
func (t *neon) gemv() {
	p := "dst, x, w *float32, k, panels int"
	t.fn("gemv", "computes dst (panels, 32) = x (k) · panels (k, 32).", p)
	t.args(p, "R0 R1 R2 R3 R4")
	t.op("LSL", "$7", "R3", "R5") // bytes of a panel
	for _, bases := range [][]string{{"R2", "R8"}, {"R2"}} {
		acc := seq(0, len(bases)*panelVecs)
		t.whole("R4", len(bases), func() {
			for _, r := range acc {
				t.zero(r)
			}
			t.op("MOVD", "R1", "R6")
			t.op("MOVD", "R3", "R7")
			if len(bases) > 1 {
				t.op("ADD", "R5", bases[0], bases[1])
			}
			t.whole("R7", lane4, func() {
				t.op("FMOVQ.P", "16(R6)", "F16")
				t.gemvColumns(bases, acc, lane4)
			})
			t.whole("R7", 1, func() {
				t.op("FMOVS.P", "4(R6)", "F16")
				t.gemvColumns(bases, acc, 1)
			})
			t.storeQ("R0", 0, acc...)
			t.advance(len(bases)*panelBytes, "R0")
			if len(bases) > 1 {
				t.op("MOVD", bases[1], "R2")
			}
		})
	}
	t.ret()
}

// gemvColumns adds n columns of each panel, times the lanes of V16.
func (t *neon) gemvColumns(bases []string, acc []vec, n int) {
	for column := range n {
		for i, base := range bases {
			t.stream(base, column*panelBytes, seq(24-4*(i%2), 4), acc[i*panelVecs:][:panelVecs], 16, column)
		}
	}
	t.advance(n*panelBytes, bases...)
}
