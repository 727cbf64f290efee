//go:build arm64 && !purego

package kernel

// readMemory has no measure here.
func readMemory(isa, []byte, int) bool { return false }

// floatRounds runs n rounds and returns the operations of one.
func floatRounds(i isa, n int) int64 {
	if i != isaNEON {
		return 0
	}
	peakNEON(n)
	return 24 * 4 * 2
}

// byteRounds has no measure here.
func byteRounds(isa, int) int64 { return 0 }
