//go:build !amd64 || purego

package kernel

// Packed weights have no assembly but on amd64.

func quantize(_ isa, dst, x []float32, blocks int) { quantizeGeneric(dst, x, blocks) }

func tilePacked(i isa, kind Kind, t *span) { tilePackedGeneric(i, kind, t) }
