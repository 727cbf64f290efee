//go:build !(amd64 || arm64) || purego

package kernel

func quantize(_ isa, dst, x []float32, blocks int) { quantizeGeneric(dst, x, blocks) }

func quantizeWide(_ isa, dst, x []float32, blocks int) { quantizeWideGeneric(dst, x, blocks) }

func tilePacked(i isa, kind Kind, t *span) { tilePackedGeneric(i, kind, t) }
