//go:build !amd64 || purego

package kernel

// attendRow has no routines here.
func (k *Kernels) attendRow(*Attention, *Queries, KV) bool { return false }
