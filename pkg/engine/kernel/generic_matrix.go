package kernel

func gemmTileGeneric(t *floatTile) {
	for r := range t.rows {
		var sum [panel]float32
		out := t.c[r*t.ldc : r*t.ldc+panel]
		if t.accumulate {
			copy(sum[:], out)
		}
		for p := range t.depth {
			accumulateColumn(&sum, t.a[p*t.rows+r], t.w[p*panel:])
		}
		copy(out, sum[:])
	}
}

// gemvGeneric: dst (panels, 32) = x · w (panels, k, 32).
func gemvGeneric(dst, x, w []float32, k, panels int) {
	for i := range panels {
		var sum [panel]float32
		for p, v := range x[:k] {
			accumulateColumn(&sum, v, w[(i*k+p)*panel:])
		}
		copy(dst[i*panel:], sum[:])
	}
}

// accumulateColumn: sum += v * column.
func accumulateColumn(sum *[panel]float32, v float32, column []float32) {
	col := (*[panel]float32)(column)
	for j := range sum {
		sum[j] += float32(v * col[j])
	}
}
