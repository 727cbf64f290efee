//go:build linux

package kernel

import (
	"testing"
	"unsafe"
)

// TestSelectionStaysInside: no selecting operation touches memory past its slices.
func TestSelectionStaysInside(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		f := &fence{t: t}
		for _, n := range selectionSizes[1:] {
			f.run("Largest", n, func() { k.Largest(f.random(n)) })
			f.run("ArgMax", n, func() { k.ArgMax(f.random(n)) })
			f.run("AtLeast", n, func() {
				words := (n + 63) / 64
				k.AtLeast(unsafe.Slice((*uint64)(unsafe.Pointer(&f.random(2 * words)[0])), words), f.random(n), 0)
			})
			f.run("Weights", n, func() {
				k.Weights(unsafe.Slice((*float64)(unsafe.Pointer(&f.random(2 * n)[0])), n), f.random(n), 9, 1)
			})
		}
	})
}
