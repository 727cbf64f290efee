//go:build amd64 && !purego

package kernel

const assembly = true

// peakRounds runs n rounds and returns the floating-point operations of a round.
func peakRounds(i isa, n int) float64 {
	switch i {
	case isaAVX512:
		peakAVX512(n)
		return 12 * 16 * 2
	case isaAVX2:
		peakAVX2(n)
		return 12 * 8 * 2
	}
	return 0
}
