package kernel

// rotateHalvesGeneric rotates the pairs (a[i], b[i]).
func rotateHalvesGeneric(a, b, cos, sin []float32) {
	for i, c := range cos {
		s, v, w := sin[i], a[i], b[i]
		a[i] = float32(v*c) - float32(w*s)
		b[i] = float32(w*c) + float32(v*s)
	}
}

// rotatePairsGeneric rotates the pairs (x[2i], x[2i+1]).
func rotatePairsGeneric(x, cos, sin []float32) {
	for i, c := range cos {
		s, v, w := sin[i], x[2*i], x[2*i+1]
		x[2*i] = float32(v*c) - float32(w*s)
		x[2*i+1] = float32(w*c) + float32(v*s)
	}
}
