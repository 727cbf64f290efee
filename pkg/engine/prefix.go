package engine

import (
	"slices"
	"sync"

	"glossa/pkg/engine/transformer"
)

// prefixShare is the part of a request's memory that [Config.PrefixMemory] is unless
// it is set.
const prefixShare = 8

// maxPrefixes bounds the texts that are compared with a prompt.
const maxPrefixes = 256

// prefixes holds the caches of texts that an engine has computed, those used least
// recently out first. A prompt that begins as one of them, token for token, has a
// copy of what they share. A nil one holds nothing.
type prefixes struct {
	model *transformer.Model
	limit int64 // bytes

	mu    sync.Mutex
	bytes int64
	texts []*prefix // least recently used first; none begins another
}

// A prefix is a text with its cache.
type prefix struct {
	ids   []int
	cache *transformer.Cache // holds ids first; its owner may append to it
}

// newPrefixes returns nil if limit, bytes, is negative.
func newPrefixes(m *transformer.Model, limit int64) *prefixes {
	if limit < 0 {
		return nil
	}
	return &prefixes{model: m, limit: limit}
}

// size is the memory of a text of n tokens: a cache of no more than that, and a
// quarter, since a smaller excess is worth no copy, and the ids.
func (p *prefixes) size(n int) int64 { return p.model.CacheBytes(n+n/4) + 8*int64(n) }

// fork returns a cache with the longest beginning of ids that is known, nil if none is
// of more than least tokens. The last token is left to compute, for its logits.
func (p *prefixes) fork(ids []int, least, capacity int) *transformer.Cache {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	best, n := -1, least
	for i, t := range p.texts {
		if c := common(t.ids, ids[:len(ids)-1]); c > n {
			best, n = i, c
		}
	}
	if best < 0 {
		p.mu.Unlock()
		return nil
	}
	from := p.texts[best].cache
	p.use(best)
	p.mu.Unlock()
	return p.model.Prefix(from, n, capacity)
}

// common returns how many tokens a and b begin with alike.
func common(a, b []int) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// share lends the cache of ids while its owner goes on to append to it. The owner
// calls keep in the end.
func (p *prefixes) share(ids []int, cache *transformer.Cache) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.known(ids, nil) {
		p.add(ids, cache)
	}
}

// keep takes over a cache that begins with ids; what it holds beside them goes. A copy
// may take a while: what was lent serves until it is there, and nobody waits.
func (p *prefixes) keep(ids []int, cache *transformer.Cache) {
	if p == nil {
		return
	}
	own, wanted := cache, p.wants(ids, cache)
	if n := len(ids); wanted && cache.Capacity() > n+n/4 {
		cache = p.model.Prefix(own, n, n)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	wanted = wanted && p.missing(ids, own)
	p.delete(func(t *prefix) bool { return t.cache == own })
	if wanted {
		p.add(ids, cache)
	}
}

// wants is missing for who does not hold p.mu.
func (p *prefixes) wants(ids []int, own *transformer.Cache) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.missing(ids, own)
}

// missing tells whether ids are to be held: they fit, and no text but one with the
// cache own begins with them. p.mu is held.
func (p *prefixes) missing(ids []int, own *transformer.Cache) bool {
	return len(ids) > 0 && p.size(len(ids)) <= p.limit && !p.known(ids, own)
}

// known tells whether a text but one with the cache own begins with ids, which counts
// as use; p.mu is held.
func (p *prefixes) known(ids []int, own *transformer.Cache) bool {
	for i, t := range p.texts {
		if t.cache != own && common(t.ids, ids) == len(ids) {
			p.use(i)
			return true
		}
	}
	return false
}

// use makes text i the last to go; p.mu is held.
func (p *prefixes) use(i int) {
	t := p.texts[i]
	p.texts = append(slices.Delete(p.texts, i, i+1), t)
}

// add holds a text in place of those that begin it, and makes room for it; p.mu is
// held.
func (p *prefixes) add(ids []int, cache *transformer.Cache) {
	size := p.size(len(ids))
	if size > p.limit {
		return
	}
	p.delete(func(t *prefix) bool { return common(t.ids, ids) == len(t.ids) })
	for p.bytes+size > p.limit || len(p.texts) >= maxPrefixes {
		p.bytes -= p.size(len(p.texts[0].ids))
		p.texts = slices.Delete(p.texts, 0, 1)
	}
	p.texts, p.bytes = append(p.texts, &prefix{ids, cache}), p.bytes+size
}

// delete lets texts go; p.mu is held.
func (p *prefixes) delete(gone func(*prefix) bool) {
	p.texts = slices.DeleteFunc(p.texts, func(t *prefix) bool {
		if gone(t) {
			p.bytes -= p.size(len(t.ids))
			return true
		}
		return false
	})
}
