package transformertest

import (
	"testing"

	"glossa/pkg/engine/kernel"
)

// Tiers returns the implementations of the kernels, or with -short only the best one: the race
// detector makes each take minutes.
func Tiers() []*kernel.Kernels {
	if testing.Short() {
		return []*kernel.Kernels{kernel.Best()}
	}
	return kernel.Implementations()
}
