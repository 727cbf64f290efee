package kernel

import "unsafe"

// line is the size of a cache line.
const line = 64

// hugePage is the size of a huge page of amd64 and arm64.
const hugePage = 2 << 20

// Allocate returns n zero bytes aligned to a cache line. From some megabytes on it uses
// huge pages if the system has any: weights are read from end to end for every token, and
// translating addresses of 4 KiB pages can take a third of that time (products with one
// row read 30.6 GB/s without and 42.7 GB/s with huge pages on a Zen 4 core; 14.2 and 14.5
// on a Sapphire Rapids one).
func Allocate(n int) []byte {
	var s []byte
	if n >= 2*hugePage {
		s = large(n + line)
	} else {
		s = make([]byte, n+line)
	}
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(s))) % line)
	return s[skip : skip+n : skip+n]
}

// Floats returns the float32 values in data, little-endian, in the same memory. Its
// address and its length must be multiples of four bytes.
func Floats(data []byte) []float32 {
	p := unsafe.Pointer(unsafe.SliceData(data))
	if uintptr(p)%4 != 0 || len(data)%4 != 0 {
		panic("kernel: these bytes are not float32 values")
	}
	return unsafe.Slice((*float32)(p), len(data)/4)
}

// aligned returns n zeros aligned to a cache line.
func aligned(n int) []float32 { return Floats(Allocate(4 * n)) }
