package kernel

import (
	"bytes"
	"runtime"
	"testing"
	"unsafe"
)

// Memory is zero and aligned, also where it was used before.
func TestAllocate(t *testing.T) {
	for _, n := range []int{0, 1, 4096, 2*hugePage - 1, 2 * hugePage, 5*hugePage + 12345} {
		for range 4 {
			s := Allocate(n)
			if len(s) != n || cap(s) != n || uintptr(unsafe.Pointer(unsafe.SliceData(s)))%line != 0 {
				t.Fatalf("%d bytes: %d of %d at %p", n, len(s), cap(s), s)
			}
			if bytes.Count(s, []byte{0}) != n {
				t.Fatalf("%d bytes are not zero", n)
			}
			for i := range s {
				s[i] = 0xff
			}
			runtime.GC()
		}
	}
}

// Padding is zero weights, and the rest of the memory is not touched.
func TestPad(t *testing.T) {
	for kind, fill := range map[Kind]byte{Q8_0: 0x80, Q4_0: 0x88, BF16: 0, Q6K: 0} {
		for _, shape := range [][2]int{{16, 256}, {33, 256}, {32, 300}, {7, 40}, {16, 32}} {
			rows, cols := shape[0], shape[1]
			p, f := NewPacked(kind, rows, cols), &formats[kind]
			clear(p.data)
			p.Pad()
			for s := range len(p.data) / f.bytes {
				got := p.data[s*f.bytes:][:f.bytes]
				want := make([]byte, f.bytes)
				if (s/p.superblocks()+1)*packedRows > rows || (s%p.superblocks()+1)*f.cols > cols {
					for i := range f.scales {
						want[i] = fill
					}
				}
				if !bytes.Equal(got, want) {
					t.Fatalf("%v (%d, %d): superblock %d is %x", kind, rows, cols, s, got)
				}
			}
		}
	}
}
