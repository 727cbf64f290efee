//go:build !(amd64 || arm64) || purego

package kernel

// readMemory has no measure for portable code.
func readMemory(isa, []byte, int) bool { return false }

// floatRounds has no measure for portable code.
func floatRounds(isa, int) int64 { return 0 }

// byteRounds has no measure for portable code.
func byteRounds(*Kernels, int) int64 { return 0 }

// nibbleRounds has no measure for portable code.
func nibbleRounds(*Kernels, int) int64 { return 0 }
