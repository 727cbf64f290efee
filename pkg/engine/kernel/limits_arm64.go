//go:build arm64 && !purego

package kernel

// readMemory has no measure here.
func readMemory(isa, []byte, int) bool { return false }

// floatRounds runs n rounds and returns the operations of one.
func floatRounds(i isa, n int) int64 {
	if i == isaGeneric {
		return 0
	}
	peakNEON(n)
	return 24 * 4 * 2
}

// byteRounds runs n rounds and returns the operations of one. Without SDOT it has no
// measure.
func byteRounds(k *Kernels, n int) int64 {
	switch k.isa {
	case isaI8MM:
		peakBytesI8MM(n)
		return 24 * 32 * 2
	case isaDotprod:
		peakBytesDotprod(n)
		return 24 * 16 * 2
	}
	return 0
}

// nibbleRounds is byteRounds: the products are the same.
func nibbleRounds(k *Kernels, n int) int64 { return byteRounds(k, n) }
