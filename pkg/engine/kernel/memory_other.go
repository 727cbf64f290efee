//go:build !linux

package kernel

// adviseHuge does nothing: huge pages are not for processes to ask for.
func adviseHuge([]byte) {}
