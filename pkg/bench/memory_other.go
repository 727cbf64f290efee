//go:build !linux

package bench

// reserve returns n bytes and a function that frees them.
func reserve(n int) (memory []byte, free func()) {
	memory = make([]byte, n)
	touch(memory)
	return memory, func() {}
}
