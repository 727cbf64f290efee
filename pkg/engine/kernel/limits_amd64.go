//go:build amd64 && !purego

package kernel

import "unsafe"

// readMemory reads blocks of data. It returns false if i has no measure.
func readMemory(i isa, data []byte, blocks int) bool {
	switch i {
	case isaAVX512:
		readAVX512(unsafe.SliceData(data), blocks)
	case isaAVX2:
		readAVX2(unsafe.SliceData(data), blocks)
	default:
		return false
	}
	return true
}

// floatRounds runs n rounds and returns the operations of one.
func floatRounds(i isa, n int) int64 {
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

// byteRounds runs n rounds and returns the operations of one.
func byteRounds(k *Kernels, n int) int64 {
	switch {
	case k.vnni:
		peakBytesVNNI(n)
		return 12 * 32 * 2
	case k.isa == isaAVX512:
		peakBytesAVX512(n)
		return 12 * 64 * 2
	case k.isa == isaAVX2:
		peakBytesAVX2(n)
		return 12 * 32 * 2
	}
	return 0
}

// nibbleRounds runs n rounds and returns the operations of one.
func nibbleRounds(k *Kernels, n int) int64 {
	if k.vnni || k.isa != isaAVX2 {
		return byteRounds(k, n)
	}
	peakNibblesAVX2(n)
	return 12 * 32 * 2
}
