package engine

import "glossa/pkg/llm"

// DefaultMaxMemory is the default of [Config.MaxMemory]: 1 GiB.
const DefaultMaxMemory = 1 << 30

// What rows take beside their KV caches, in bytes.
const (
	logitBytes = 2*4 + 24 // a logit, the pass's and the row's, and the sampler's candidate, for each token of the vocabulary
	tokenBytes = 400      // a token with its log-probability, from here to its JSON; measured
)

// capacity returns how many tokens a row of p can have.
func (g *generation) capacity(p *prompt) int {
	return min(g.window, max(len(p.ids), min(g.window, len(p.ids)+g.maxTokens)))
}

// checkMemory lowers the window, the tokens that a row can have, to what the request's
// memory has room for, and refuses a request whose prompts alone take more: what fits
// a context of 256 tokens is gigabytes with one of 100,000. A row that meets the
// window ends as at the end of the context.
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
	return g.engine.affords(g.need(), "fewer completions, a shorter prompt or fewer log-probabilities")
}

// need is the memory that the request may take with its window.
func (g *generation) need() (need int64) {
	m := g.engine.model
	for _, p := range g.prompts {
		capacity := g.capacity(p)
		row := m.CacheBytes(capacity) + logitBytes*int64(m.Vocab)
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
	}
	return need
}

// affords refuses a request that could take more memory than one may.
func (c *core) affords(need int64, askFor string) error {
	if need <= c.memory {
		return nil
	}
	const mib = 1 << 20
	return llm.Errorf(llm.Invalid, "the request could take %d MiB of memory and may take %d: ask for %s",
		(need+mib-1)/mib, c.memory/mib, askFor)
}
