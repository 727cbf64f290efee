package engine

import "glossa/pkg/llm"

// DefaultMaxMemory is the default of [Config.MaxMemory]: 1 GiB.
const DefaultMaxMemory = 1 << 30

// What rows take beside their KV caches, in bytes.
const (
	logitBytes = 4 + 24 // a logit and the sampler's candidate, for each token of the vocabulary
	tokenBytes = 400    // a token with its log-probability, from here to its JSON; measured
)

// capacity returns how many tokens a row of p can have.
func (g *generation) capacity(p *prompt) int {
	return min(g.engine.model.Context, len(p.ids)+g.maxTokens)
}

// checkMemory refuses a request whose rows could take more memory than one may:
// what fits a context of 256 tokens is gigabytes with one of 100,000.
func (g *generation) checkMemory() error {
	m, need := g.engine.model, int64(0)
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
	return g.engine.affords(need, "fewer completions, fewer tokens or fewer log-probabilities")
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
