package sampler

import "glossa/pkg/engine/kernel"

// Top returns the ids of the k largest logits, largest first, equals by id.
func Top(logits []float32, k int) []int {
	best := ranking(kernel.Best(), logits, k)
	ids := make([]int, len(best))
	for i, b := range best {
		ids[i] = b.id
	}
	return ids
}
