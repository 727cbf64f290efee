//go:build !race

package local

// raced tells that the race detector is on, which takes memory of its own.
const raced = false
