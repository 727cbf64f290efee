package engine

import "sync"

// maxPrefixes bounds the texts that are kept.
const maxPrefixes = 4096

// A PrefixMemory bounds the memory of computed texts that the engines of a process keep for
// prompts with the same beginning. The least recently used tokens are evicted first, whatever
// their model.
type PrefixMemory struct {
	limit func() int64 // bytes

	mu    sync.Mutex
	bytes int64       // of all entries, and of the marks of live texts
	texts int         // leaves of all trees
	uses  prefixEntry // head of a ring: next is the most recently used
}

// NewPrefixMemory returns a memory whose bound is what limit returns, in bytes. It is called
// whenever texts are added and may change.
func NewPrefixMemory(limit func() int64) *PrefixMemory {
	p := &PrefixMemory{limit: limit}
	p.uses.next, p.uses.previous = &p.uses, &p.uses
	return p
}

// Shrink evicts what exceeds the bound, which has become smaller, and returns its bytes.
func (p *PrefixMemory) Shrink() int64 {
	if p == nil {
		return 0
	}
	limit := p.limit() // before the lock: it may wait for others that hold it
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.bytes
	p.evict(limit)
	return before - p.bytes
}

// Bytes returns the memory of the texts.
func (p *PrefixMemory) Bytes() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bytes
}

// A prefixEntry is what can be evicted alone: a node without children, or the block of a node
// for the layers with a ring.
//
// A node is used after its children and its rings, so the least recently used entry never has
// any.
type prefixEntry struct {
	next, previous *prefixEntry
	bytes          int64
	of             interface{ evict() }
}

// add adds an entry as the most recently used; p.mu is held.
func (p *PrefixMemory) add(e *prefixEntry) {
	p.bytes += e.bytes
	p.link(e)
}

func (p *PrefixMemory) link(e *prefixEntry) {
	e.previous, e.next = &p.uses, p.uses.next
	e.previous.next, e.next.previous = e, e
}

// use marks an entry as the most recently used; p.mu is held.
func (p *PrefixMemory) use(e *prefixEntry) {
	e.unlink()
	p.link(e)
}

func (e *prefixEntry) unlink() { e.previous.next, e.next.previous = e.next, e.previous }

// remove forgets an entry; p.mu is held.
func (p *PrefixMemory) remove(e *prefixEntry) {
	p.bytes -= e.bytes
	e.unlink()
}

// evict evicts entries until the others take at most limit bytes and are at most maxPrefixes
// texts; p.mu is held.
func (p *PrefixMemory) evict(limit int64) {
	for (p.bytes > limit || p.texts > maxPrefixes) && p.uses.previous != &p.uses {
		p.uses.previous.of.evict()
	}
}
