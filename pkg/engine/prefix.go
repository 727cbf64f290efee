package engine

import (
	"slices"
	"sync"

	"glossa/pkg/engine/transformer"
)

// prefixShare is the default ratio of a request's memory to [Config.PrefixMemory].
const prefixShare = 8

// maxPrefixes bounds the texts that a prompt is compared with.
const maxPrefixes = 256

// A prefixCache holds the KV caches of texts that an engine has computed. The least
// recently used are evicted first. A prompt with a common prefix, token for token,
// receives a copy of it. A nil prefixCache is empty.
type prefixCache struct {
	model *transformer.Model
	limit int64 // bytes

	mu    sync.Mutex
	bytes int64
	texts []*prefix // least recently used first; none is a prefix of another
}

// A prefix is a text with its cache.
type prefix struct {
	ids   []int
	cache *transformer.Cache // begins with ids; its owner may append to it
}

// newPrefixCache returns nil if limit, in bytes, is negative.
func newPrefixCache(m *transformer.Model, limit int64) *prefixCache {
	if limit < 0 {
		return nil
	}
	return &prefixCache{model: m, limit: limit}
}

// size returns the memory of a text of n tokens: a cache with at most a quarter more
// capacity, since copying would not pay for less, and the ids.
func (p *prefixCache) size(n int) int64 { return p.model.CacheBytes(n+n/4) + 8*int64(n) }

// fork returns a cache with the longest known prefix of ids, nil if none has more than
// least tokens. The last token is left to compute, for its logits.
func (p *prefixCache) fork(ids []int, least, capacity int) *transformer.Cache {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	best, n := -1, least
	for i, t := range p.texts {
		if c := common(t.ids, ids[:len(ids)-1]); c > n && p.model.Extends(t.cache, capacity) {
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

// common returns the length of the longest common prefix of a and b.
func common(a, b []int) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// share lends the cache of ids while its owner continues to append to it. The owner calls
// keep in the end.
func (p *prefixCache) share(ids []int, cache *transformer.Cache) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.known(ids, nil) {
		p.add(ids, cache)
	}
}

// keep takes ownership of a cache that begins with ids and drops the rest of it. Copying
// may take a while: until then the shared cache stays available, and no caller waits.
func (p *prefixCache) keep(ids []int, cache *transformer.Cache) {
	if p == nil {
		return
	}
	own, wanted := cache, p.missing(ids, cache)
	if n := len(ids); wanted && cache.Capacity() > n+n/4 {
		cache = p.model.Prefix(own, n, n)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	wanted = wanted && p.missingLocked(ids, own)
	p.delete(func(t *prefix) bool { return t.cache == own })
	if wanted {
		p.add(ids, cache)
	}
}

// missing is missingLocked for callers that do not hold p.mu.
func (p *prefixCache) missing(ids []int, own *transformer.Cache) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.missingLocked(ids, own)
}

// missingLocked reports whether to add ids: they fit, and no text other than that of the
// cache own begins with them. p.mu is held.
func (p *prefixCache) missingLocked(ids []int, own *transformer.Cache) bool {
	return len(ids) > 0 && p.size(len(ids)) <= p.limit && !p.known(ids, own)
}

// known reports whether a text other than that of the cache own begins with ids, which
// counts as use; p.mu is held.
func (p *prefixCache) known(ids []int, own *transformer.Cache) bool {
	for i, t := range p.texts {
		if t.cache != own && common(t.ids, ids) == len(ids) {
			p.use(i)
			return true
		}
	}
	return false
}

// use marks text i as most recently used; p.mu is held.
func (p *prefixCache) use(i int) {
	t := p.texts[i]
	p.texts = append(slices.Delete(p.texts, i, i+1), t)
}

// add adds a text, removes its prefixes and evicts others to make room; p.mu is held.
func (p *prefixCache) add(ids []int, cache *transformer.Cache) {
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

// delete removes texts; p.mu is held.
func (p *prefixCache) delete(gone func(*prefix) bool) {
	p.texts = slices.DeleteFunc(p.texts, func(t *prefix) bool {
		if gone(t) {
			p.bytes -= p.size(len(t.ids))
			return true
		}
		return false
	})
}
