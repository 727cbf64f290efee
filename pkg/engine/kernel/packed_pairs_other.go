//go:build !amd64 || purego

package kernel

// pairsFrom returns 0: no products widen weights.
func pairsFrom(isa) int { return 0 }

func widenPanel([]float32, []byte, int) {}

func widenActivations(_, _ []float32, _, _ int) {}

func tilePairs(*pairSpan) {}
