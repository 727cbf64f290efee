//go:build !amd64 || purego

package kernel

const assembly = false

// peakRounds has no measure of portable code.
func peakRounds(isa, int) float64 { return 0 }
