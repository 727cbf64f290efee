package main

import "fmt"

// Products of many rows with SMMLA, which multiplies two rows of activations by two rows of
// weights, eight inputs of each.
//
// A slice of 64 inputs of a panel, or of 128 of Q8W, is expanded once for all rows of
// activations: (eight inputs, pair of rows, row, input) bytes with their signs, then float32
// scales (sub-block, pair of rows, 4), and minima likewise. A tile of activations becomes
// (eight inputs, pair of rows, row, input) bytes and (word, pair of rows, 4) float32: the
// scales, and for coded kinds the -d*Σq of each half and the -Σq of each quarter. The four
// numbers of a pair of rows a, b are those of the four products of two pairs: a, b, a, b of
// weights, a, a, b, b of activations.
//
// Instructions for 8 rows of activations and 4 rows of weights, with SDOT and with SMMLA: 274
// and 163 for 64 inputs of Q8_0, 313 and 185 of Q4_K, 408 and 233 for 128 of Q8W. Expanding 64
// inputs of 16 rows of Q8_0 takes 246, so at 16 rows of activations 71 % are left, at 64 62 %.
type matrices struct {
	*neon
	k packed
}

const (
	pairBytes  = 16            // of two rows, eight inputs each
	pairStep   = 8 * pairBytes // of the 16 rows of a panel
	stepInputs = 8
	partSteps  = 32 / stepInputs // emitted one by one
)

// Words of a tile's rows behind their bytes, for 64 inputs of a coded kind: of the two
// scales, the two -d*Σq and the four -Σq.
const (
	matrixShift = 2
	matrixSum   = 4
	matrixCoded = 8
)

// steps is the number of steps of eight inputs in a slice.
func (m *matrices) steps() int {
	if m.k.kind == "Q8W" {
		return 128 / stepInputs
	}
	return 64 / stepInputs
}

// subs is the number of sub-blocks of a slice.
func (m *matrices) subs() int {
	if m.k.coding != nil {
		return 64 / m.k.coding.sub
	}
	return m.k.blocks
}

func (m *matrices) minima() bool { return m.k.coding != nil && m.k.coding.minima }

// scalesAt is the offset of the scales of an expanded slice.
func (m *matrices) scalesAt() int { return pairStep * m.steps() }

// sliceBytes is the size of an expanded slice.
func (m *matrices) sliceBytes() int {
	size := m.scalesAt() + pairStep*m.subs()
	if m.minima() {
		size += pairStep * m.subs()
	}
	return size
}

// extras is the number of words behind the bytes of a row.
func (m *matrices) extras() int {
	if m.k.coding != nil {
		return matrixCoded
	}
	return m.k.blocks
}

// name is that of the routines for the kind's tiles: those of kinds that differ in their
// bytes only are the same.
func (m *matrices) name() string {
	switch c := m.k.coding; {
	case m.k.kind == "Q8W":
		return "Wide"
	case c == nil:
		return "Narrow"
	case c.minima:
		return fmt.Sprintf("Minima%d", c.sub)
	default:
		return fmt.Sprintf("Coded%d", c.sub)
	}
}

// matrixProducts emits the products by SMMLA.
func (t *neon) matrixProducts(kinds []packed) {
	done := map[string]bool{}
	for _, k := range kinds {
		m := &matrices{t, k}
		m.expand()
		acts := m.activationsName()
		if !done[acts] {
			m.pairActivations(acts)
		}
		if !done[m.name()] {
			m.tiles()
		}
		done[acts], done[m.name()] = true, true
	}
	t.peakMatrices()
	t.byKind(kinds, "expands superblocks of a panel.", "expandI8MM(kind Kind, dst []float32, w []byte, blocks int)", "to, from := sd(dst), unsafe.SliceData(w)", func(k packed) string {
		return fmt.Sprintf("expand%sI8MM(to, from, blocks)", k.kind)
	})
	t.dispatchTiles("tile", kinds, func(k packed) string { return (&matrices{t, k}).name() })
}

// activationsName is that of the routine which pairs rows of activations.
func (m *matrices) activationsName() string {
	switch {
	case m.k.kind == "Q8W":
		return "pairWide"
	case m.k.coding == nil:
		return "pairNarrow"
	}
	return "pairCoded"
}

// peakMatrices emits independent multiply-adds, to measure the machine's limit.
func (t *neon) peakMatrices() {
	const many = 24
	t.rounds("peakBytes", fmt.Sprintf("runs n rounds of %d independent multiply-adds of 32 bytes; benchmarks relate to it.", many), many, func(r vec) {
		t.smmla(r, many, many+1)
	})
}

// smmla adds the products of the pairs of rows a and b.
func (t *neon) smmla(dst, a, b vec) { t.word("smmla v%d.4s, v%d.16b, v%d.16b", dst, a, b) }
