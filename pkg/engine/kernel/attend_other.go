//go:build !amd64 || purego

package kernel

// attendRow returns false: there are no routines.
func (k *Kernels) attendRow(*Attention, *Queries, KV) bool { return false }

const bringsKeys = false

func hasDots() bool { return false }

func pairUp([]float32) {}

func scoreDots(_, _, _ []float32, _, _, _, _ int) {}

func softenDots(_ []float32, _ []int, _, _, _ []float32) {}

func weighDots(_ []float32, _ []uint16, _, _ []float32, _ []int, _, _ int, _ bool) {}
