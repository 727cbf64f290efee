package kernel

import "unsafe"

// line is the size of a cache line.
const line = 64

// hugePage is the size of a huge page of amd64 and arm64.
const hugePage = 2 << 20

// Allocate returns n zero bytes that start at a cache line. From some megabytes on they
// lie on huge pages where the system has such to give: weights are read from end to end
// for every token, and looking up pages of 4 KiB can take a third of that (products with
// one row read 30.6 GB/s so and 42.7 GB/s with huge pages on a Zen 4 core; 14.2 and 14.5
// on a Sapphire Rapids one).
func Allocate(n int) []byte {
	s := make([]byte, n+line)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(s))) % line)
	s = s[skip : skip+n : skip+n]
	if n >= 2*hugePage {
		first := int(-uintptr(unsafe.Pointer(unsafe.SliceData(s))) % hugePage)
		adviseHuge(s[first : first+(n-first)/hugePage*hugePage])
	}
	return s
}

// Floats returns the float32 values that data holds, little-endian, in the same memory,
// which must start at a multiple of four bytes and end at one.
func Floats(data []byte) []float32 {
	p := unsafe.Pointer(unsafe.SliceData(data))
	if uintptr(p)%4 != 0 || len(data)%4 != 0 {
		panic("kernel: these bytes are no float32 values")
	}
	return unsafe.Slice((*float32)(p), len(data)/4)
}

// aligned returns n zeros that start at a cache line.
func aligned(n int) []float32 { return Floats(Allocate(4 * n)) }
