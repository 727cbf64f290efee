//go:build !linux

package bench

// reserve returns n bytes, and what gives them back.
func reserve(n int) (memory []byte, free func()) {
	memory = make([]byte, n)
	touch(memory)
	return memory, func() {}
}
