//go:build race

package local

// raced reports whether the race detector is on, which takes memory of its own.
const raced = true
