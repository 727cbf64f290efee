//go:build !linux

package kernel

// large returns n zero bytes: a process cannot request huge pages.
func large(n int) []byte { return make([]byte, n) }
