package engine

import "glossa/pkg/llm"

// DefaultMaxMemory is the default of [Config.MaxMemory]: 1 GiB.
const DefaultMaxMemory = 1 << 30

// The memory of rows in addition to their KV caches, in bytes.
const (
	logitBytes = 2*4 + 24 // a logit in the pass and in the row, and the sampler's candidate, for each token of the vocabulary
	tokenBytes = 400      // a token with its log-probability, from here to its JSON; measured
)

// capacity returns the maximum number of tokens of a row of p.
func (g *generation) capacity(p *prompt) int {
	return min(g.window, max(len(p.ids), min(g.window, len(p.ids)+g.maxTokens)))
}

// checkMemory lowers the window, the maximum tokens of a row, to what fits the request's
// memory: with a context of 100,000 tokens, a request that is small with one of 256 takes
// gigabytes. A row that reaches the window ends as at the end of the context. checkMemory
// rejects a request whose prompts alone take too much.
func (g *generation) checkMemory() error {
	least := 0
	for _, p := range g.prompts {
		least = max(least, len(p.ids))
	}
	g.window = g.engine.context
	if g.need() <= g.engine.memory {
		return nil
	}
	low, high := min(least+1, g.window), g.window // a window that may fit, and one that does not
	for g.window = low; g.need() <= g.engine.memory && high-low > 1; {
		if g.window = (low + high) / 2; g.need() <= g.engine.memory {
			low = g.window
		} else {
			high, g.window = g.window, low
		}
	}
	g.window = low
	askFor := "fewer completions, a shorter prompt or fewer log-probabilities"
	if g.needPictures() > 0 {
		askFor = "fewer completions, a shorter prompt or smaller images"
	}
	return g.engine.affords(g.need(), askFor)
}

// need returns the memory that the request may take with its window.
func (g *generation) need() (need int64) {
	if g.search != nil {
		need, _ = g.searchNeed()
		return need
	}
	m, longest := g.engine.model, 0
	for _, p := range g.prompts {
		capacity := g.capacity(p)
		row := RowMemory(m.CacheBytes(capacity), m.Vocab)
		if g.tokens || g.bestOf > g.n {
			described := capacity
			if g.score {
				described -= p.lead
			} else {
				described -= len(p.ids)
			}
			row += tokenBytes * int64(described) * int64(1+max(0, g.logprobs))
		}
		need += int64(g.bestOf) * row
		if n := len(p.source); n > 0 {
			need += m.MemoryBytes(n) + tokenBytes*int64(n)
			longest = max(longest, n)
		}
	}
	need += g.needPictures()
	if longest > 0 { // sources are encoded one after another
		need += passMemory(&m.Spec, longest, g.engine.workers)
	}
	return need
}

// RowMemory returns the memory of a completion with a cache of so many bytes and a vocabulary,
// in addition to the weights, if its tokens are not described.
func RowMemory(cache int64, vocab int) int64 { return cache + logitBytes*int64(vocab) }

// affords rejects a request that could take more memory than allowed.
func (c *core) affords(need int64, askFor string) error {
	if need <= c.memory {
		return nil
	}
	const mib = 1 << 20
	return llm.Errorf(llm.Invalid, "the request could need %d MiB of memory and may use %d: request %s",
		(need+mib-1)/mib, c.memory/mib, askFor)
}
