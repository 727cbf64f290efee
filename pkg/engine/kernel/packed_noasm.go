//go:build !(amd64 || arm64) || purego

package kernel

func quantize(_ isa, dst, x []float32, blocks int) { quantizeGeneric(dst, x, blocks) }

func quantizeWide(_ isa, dst, x []float32, blocks int) { quantizeWideGeneric(dst, x, blocks) }

func tilePacked(k *Kernels, kind Kind, t *span) { tilePackedGeneric(k.isa, kind, t) }

// pairsFrom returns 0: no products widen weights.
func pairsFrom(*Kernels) int { return 0 }

func widens(Kind) bool { return false }

func pairsOf(int) pairShape { return pairShape{} }

func widenPanel(Kind, []float32, []byte, int, int) {}

func widenActivations(int, []float32, []float32, int, int) {}

func tilePairs(*partSpan) {}
