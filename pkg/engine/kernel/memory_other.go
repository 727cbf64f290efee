//go:build !linux

package kernel

// adviseHuge does nothing: a process cannot request huge pages.
func adviseHuge([]byte) {}
