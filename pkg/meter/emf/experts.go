package emf

import (
	"sync"

	"glossa/pkg/llm"
)

// expertCounts counts how experts were found since the last line of a model. With several requests
// at the same time a line may have the counts of others; their sum is right.
type expertCounts struct {
	read func(model string) llm.ExpertUse

	mu   sync.Mutex
	last map[string]llm.ExpertUse
}

// since returns the counts of a model since its last line.
func (c *expertCounts) since(model string) (hits, misses int64) {
	if c.read == nil {
		return 0, 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now, last := c.read(model), c.last[model]
	if now == last {
		return 0, 0
	}
	if now.Hits < last.Hits || now.Misses < last.Misses { // it was opened again
		last = llm.ExpertUse{}
	}
	if c.last == nil {
		c.last = map[string]llm.ExpertUse{}
	}
	c.last[model] = now
	return now.Hits - last.Hits, now.Misses - last.Misses
}
