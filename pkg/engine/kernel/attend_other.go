//go:build !amd64 || purego

package kernel

// attendRow returns false: there are no routines.
func (k *Kernels) attendRow(*Attention, *Queries, KV) bool { return false }
