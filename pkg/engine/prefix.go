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

// maxMarks bounds the places at which a text can be left, in addition to its end.
const maxMarks = 3

// A prefixCache holds the KV caches of texts that an engine has computed. The least
// recently used are evicted first. A prompt with a common prefix, token for token,
// receives a copy of it. A nil prefixCache is empty.
//
// Layers with a window drop the beginning of a long text, so a prompt can leave such a text
// only near its end or near a mark. Marks are made at the end of a prompt, since the next
// prompt may have another answer, and where a prompt has left a text before, since others
// may leave it there too, such as chats after the system's message.
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
	cache *transformer.Cache  // begins with ids
	lent  bool                // the owner of cache appends to it: use it at a mark only
	marks []*transformer.Mark // by length
	bytes int64
}

// reach returns how many of the first n tokens of a text can be copied, and the mark to copy
// them with, nil for none.
func (t *prefix) reach(n int) (most int, at *transformer.Mark) {
	if !t.lent {
		most = t.cache.Reach(nil, n)
	}
	for _, mark := range t.marks {
		if r := t.cache.Reach(mark, n); r > most {
			most, at = r, mark
		}
	}
	return most, at
}

// newPrefixCache returns nil if limit, in bytes, is negative.
func newPrefixCache(m *transformer.Model, limit int64) *prefixCache {
	if limit < 0 {
		return nil
	}
	return &prefixCache{model: m, limit: limit}
}

// size returns the memory of a text of n tokens without marks: a cache with at most a quarter
// more capacity, since copying would not pay for less, and the ids.
func (p *prefixCache) size(n int) int64 { return p.model.CacheBytes(n+n/4) + 8*int64(n) }

// fork returns a cache with the longest known prefix of ids that can be copied, nil if none
// has more than least tokens. The last token is left to compute, for its logits. known is
// the length of the longest known prefix.
func (p *prefixCache) fork(ids []int, least, capacity int) (c *transformer.Cache, known int) {
	if p == nil {
		return nil, 0
	}
	p.mu.Lock()
	best, n, at := -1, least, (*transformer.Mark)(nil)
	for i, t := range p.texts {
		shared := common(t.ids, ids[:len(ids)-1])
		if shared <= n || !p.model.Extends(t.cache, capacity) {
			continue
		}
		known = max(known, shared)
		if r, mark := t.reach(shared); r > n {
			best, n, at = i, r, mark
		}
	}
	if best < 0 {
		p.mu.Unlock()
		return nil, known
	}
	from := p.texts[best].cache
	p.use(best)
	p.mu.Unlock()
	return p.model.PrefixAt(from, at, n, capacity), known
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

// share lends the cache of ids, as it is now, while its owner continues to append to it. The
// owner calls keep in the end.
func (p *prefixCache) share(ids []int, cache *transformer.Cache) {
	if p == nil || !p.lacks(ids) {
		return
	}
	mark := p.model.Mark(cache)
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.find(ids, nil); t != nil {
		p.addMark(t, mark)
		return
	}
	p.add(&prefix{ids: ids, cache: cache, lent: true, marks: []*transformer.Mark{mark}})
}

// lacks reports whether to share ids: they fit, and no text has them that can be left there.
func (p *prefixCache) lacks(ids []int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.size(len(ids)) > p.limit {
		return false
	}
	t := p.find(ids, nil)
	if t == nil {
		return true
	}
	n, _ := t.reach(len(ids))
	return n < len(ids)
}

// keep takes ownership of a cache that begins with ids and drops the rest of it. Copying
// may take a while: until then the shared cache stays available, and no caller waits.
func (p *prefixCache) keep(ids []int, cache *transformer.Cache) {
	if p == nil {
		return
	}
	own := &prefix{cache: cache}
	p.mu.Lock()
	if i := slices.IndexFunc(p.texts, func(t *prefix) bool { return t.cache == cache }); i >= 0 {
		own.marks = p.texts[i].marks
	}
	n, at := own.reach(len(ids))
	ids = ids[:n]
	wanted := p.missing(ids, cache)
	p.mu.Unlock()
	if wanted && (at != nil || cache.Capacity() > n+n/4) {
		cache = p.model.PrefixAt(cache, at, n, n)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	wanted = wanted && p.missing(ids, own.cache)
	p.delete(func(t *prefix) bool { return t.cache == own.cache })
	if wanted {
		p.add(&prefix{ids: ids, cache: cache, marks: own.marks})
	}
}

// missing reports whether to add ids: they fit, and no text other than that of the
// cache own begins with them. p.mu is held.
func (p *prefixCache) missing(ids []int, own *transformer.Cache) bool {
	return len(ids) > 0 && p.size(len(ids)) <= p.limit && p.find(ids, own) == nil
}

// find returns the text other than that of the cache own that begins with ids, nil if there
// is none. That counts as use; p.mu is held.
func (p *prefixCache) find(ids []int, own *transformer.Cache) *prefix {
	for i, t := range p.texts {
		if t.cache != own && common(t.ids, ids) == len(ids) {
			p.use(i)
			return t
		}
	}
	return nil
}

// use marks text i as most recently used; p.mu is held.
func (p *prefixCache) use(i int) {
	t := p.texts[i]
	p.texts = append(slices.Delete(p.texts, i, i+1), t)
}

// add adds a text, removes its prefixes, whose marks it takes over, and evicts others to make
// room; p.mu is held.
func (p *prefixCache) add(t *prefix) {
	if p.size(len(t.ids)) > p.limit {
		return
	}
	p.delete(func(old *prefix) bool {
		if common(old.ids, t.ids) < len(old.ids) {
			return false
		}
		t.marks = append(t.marks, old.marks...)
		return true
	})
	p.sortMarks(t)
	p.evict(p.limit-t.bytes, maxPrefixes-1)
	p.texts, p.bytes = append(p.texts, t), p.bytes+t.bytes
}

// evict removes the least recently used texts until the others take at most some bytes and
// are at most so many; p.mu is held.
func (p *prefixCache) evict(bytes int64, texts int) {
	for p.bytes > bytes || len(p.texts) > texts {
		p.bytes -= p.texts[0].bytes
		p.texts = slices.Delete(p.texts, 0, 1)
	}
}

// addMark adds a mark to the text t, the most recently used; p.mu is held.
func (p *prefixCache) addMark(t *prefix, mark *transformer.Mark) {
	p.bytes -= t.bytes
	t.marks = append(slices.Clip(t.marks), mark)
	p.sortMarks(t)
	p.bytes += t.bytes
	p.evict(p.limit, maxPrefixes)
}

// sortMarks sorts the marks of a text and drops those that are no use to it. If they are too
// many or too large, it keeps the shortest, where most prompts leave, and the longest. It
// counts the text's bytes.
func (p *prefixCache) sortMarks(t *prefix) {
	slices.SortFunc(t.marks, func(a, b *transformer.Mark) int { return a.Len - b.Len })
	marks := t.marks
	t.marks, t.bytes = nil, p.size(len(t.ids))
	for _, mark := range marks {
		if mark.Len > len(t.ids) || t.cache.Reach(mark, mark.Len) < mark.Len {
			continue
		}
		if n, _ := t.reach(mark.Len - 1); n < mark.Len-1 || t.lent && mark.Len == len(t.ids) {
			t.marks, t.bytes = append(t.marks, mark), t.bytes+mark.Bytes()
		}
	}
	for len(t.marks) > maxMarks || t.bytes > p.limit {
		i := max(0, len(t.marks)-2)
		t.bytes -= t.marks[i].Bytes()
		t.marks = slices.Delete(t.marks, i, i+1)
	}
}

// delete removes texts; p.mu is held.
func (p *prefixCache) delete(gone func(*prefix) bool) {
	p.texts = slices.DeleteFunc(p.texts, func(t *prefix) bool {
		if gone(t) {
			p.bytes -= t.bytes
			return true
		}
		return false
	})
}
