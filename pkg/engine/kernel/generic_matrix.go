package kernel

// gemmTileGeneric: c (rows, 32) = or += a (k, rows) · w (k, 32), in the order of k.
func gemmTileGeneric(c []float32, ldc int, a, w []float32, k, rows int, accumulate bool) {
	for r := range rows {
		var sum [panel]float32
		out := c[r*ldc : r*ldc+panel]
		if accumulate {
			copy(sum[:], out)
		}
		for p := range k {
			accumulateColumn(&sum, a[p*rows+r], w[p*panel:])
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
