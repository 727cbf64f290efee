package kernel

// The functions below measure the hardware limits of every product, as a reference for
// benchmarks. Portable code has no such measure: they do nothing and return 0.

// readBlock is the size in bytes of one step of the reading routines.
const readBlock = 256

// ReadMemory reads the whole blocks of 256 bytes of data as fast as one core can, and
// returns the number of bytes.
func (k *Kernels) ReadMemory(data []byte) int {
	blocks := len(data) / readBlock
	if blocks < 1 || !readMemory(k.isa, data, blocks) {
		return 0
	}
	return blocks * readBlock
}

// FloatRounds executes rounds of independent multiply-adds of float32 and returns the
// number of operations, two for each multiply-add.
func (k *Kernels) FloatRounds(rounds int) int64 {
	if rounds < 1 {
		return 0
	}
	return int64(rounds) * floatRounds(k.isa, rounds)
}

// ByteRounds executes rounds of independent multiply-adds of bytes and returns the number
// of operations, two for each multiply-add. With AVX2 these are VPMADDUBSW, VPMADDWD and
// VPADDD, which are exact for int8 and unsigned numbers of 7 bits. Products of two int8
// need a fourth instruction, so they cannot reach this rate; no product exceeds it but
// those that NibbleRounds measures. AVX-512 and AVX-VNNI have VPDPBUSD, and I8MM has SMMLA,
// whose rate fewer than 16 rows cannot reach, as they use SDOT.
func (k *Kernels) ByteRounds(rounds int) int64 {
	if rounds < 1 {
		return 0
	}
	return int64(rounds) * byteRounds(k, rounds)
}

// NibbleRounds is ByteRounds for products of bytes and numbers of 4 bits, which AVX2 adds
// in 16 bits.
func (k *Kernels) NibbleRounds(rounds int) int64 {
	if rounds < 1 {
		return 0
	}
	return int64(rounds) * nibbleRounds(k, rounds)
}
