package kernel

// The functions below do what bounds every product and nothing else, for benchmarks to
// relate to. Portable code has no such measure: they do nothing and return 0.

// readBlock is what the routines that read take at once, in bytes.
const readBlock = 256

// ReadMemory reads the whole blocks of 256 bytes of data as fast as one core can, and
// returns how many bytes that were.
func (k *Kernels) ReadMemory(data []byte) int {
	blocks := len(data) / readBlock
	if blocks < 1 || !readMemory(k.isa, data, blocks) {
		return 0
	}
	return blocks * readBlock
}

// FloatRounds does rounds of independent multiply-adds of float32, and returns how many
// operations that were, two a multiply-add.
func (k *Kernels) FloatRounds(rounds int) int64 {
	if rounds < 1 {
		return 0
	}
	return int64(rounds) * floatRounds(k.isa, rounds)
}

// ByteRounds does rounds of independent multiply-adds of bytes, and returns how many
// operations that were, two a multiply-add.
func (k *Kernels) ByteRounds(rounds int) int64 {
	if rounds < 1 {
		return 0
	}
	return int64(rounds) * byteRounds(k.isa, rounds)
}
