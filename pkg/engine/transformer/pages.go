package transformer

import (
	"container/list"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Pages moves the packed tensors of experts between their file and memory. It is safe for
// concurrent use. The tensors can be read at all times: those that were not brought come while
// they are read, which is slower.
type Pages interface {
	Bring(page int)       // begins to read a tensor
	Check(page int) error // reads a tensor and compares it with its checksum
	Drop(page int)        // gives the memory of a tensor back
}

// ExpertUse counts how experts were found that stay in their file until tokens choose them.
type ExpertUse struct {
	Hits, Misses int64 // in memory, and not; once for each expert, layer and pass
	Bytes, Limit int64 // of those in memory, and the most of them
}

// A page is one expert.
type page struct {
	tensors []int // as [Pages] knows them
	bytes   int64
	checked atomic.Bool
	at      *list.Element // in [pager.recent]; nil: it is not in memory
}

// A pager keeps the experts in memory that were used last. A nil *pager does nothing: all are in
// memory.
type pager struct {
	pages   Pages
	limit   int64 // bytes of experts in memory
	outside int64 // bytes of the others

	mu           sync.Mutex
	recent       list.List // of *page, the last used first
	bytes        int64
	hits, misses int64
}

// newPager returns the pager of a model's experts, nil if they are in memory.
func newPager(w *Weights, parts []part, format Format) (*pager, error) {
	if w.Pages == nil {
		return nil, nil
	}
	var all int64
	for i := range parts {
		p := &parts[i]
		if p.page == nil || p.absent() {
			continue
		}
		if !p.isStored(format) {
			return nil, fmt.Errorf("%s: in %v it cannot stay in the file, which has %v", p.name, p.format(format), (*p.from)[0].Stored)
		}
		p.page.tensors = append(p.page.tensors, (*p.from)[0].Page)
		n := p.bytes(p.format(format))
		p.page.bytes += n
		all += n
	}
	if all == 0 {
		return nil, errors.New("there are no experts that could stay in the file")
	}
	return &pager{pages: w.Pages, limit: min(w.PageMemory, all), outside: all - min(w.PageMemory, all)}, nil
}

// use brings the experts of a layer that have rows into memory: expert i has the rows from starts[i]
// to before starts[i+1]. It lets those go that were used longest ago. Experts that are used for the
// first time are checked.
func (g *pager) use(e *experts, starts []int) error {
	if g == nil {
		return nil
	}
	missed, unchecked := g.choose(e, starts)
	for _, p := range missed {
		for _, t := range p.tensors {
			g.pages.Bring(t)
		}
	}
	return g.check(unchecked) // while the others are being read
}

// choose counts the experts of [pager.use] as in memory. It returns those that were not, and those that
// have not been checked.
func (g *pager) choose(e *experts, starts []int) (missed, unchecked []*page) {
	used := 0
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range e.pages {
		if starts[i] == starts[i+1] {
			continue
		}
		p := &e.pages[i]
		used++
		if !p.checked.Load() {
			unchecked = append(unchecked, p)
		}
		if p.at != nil {
			g.hits++
			g.recent.MoveToFront(p.at)
			continue
		}
		g.misses++
		g.bytes += p.bytes
		p.at = g.recent.PushFront(p)
		missed = append(missed, p)
	}
	for g.bytes > g.limit && g.recent.Len() > used {
		g.drop(g.recent.Back())
	}
	return missed, unchecked
}

// check compares experts with their checksums.
func (g *pager) check(list []*page) error {
	for _, p := range list {
		for _, t := range p.tensors {
			if err := g.pages.Check(t); err != nil {
				return err
			}
		}
		p.checked.Store(true)
	}
	return nil
}

// drop gives the memory of an expert back; g.mu is held.
func (g *pager) drop(at *list.Element) {
	p := g.recent.Remove(at).(*page)
	p.at = nil
	g.bytes -= p.bytes
	for _, t := range p.tensors {
		g.pages.Drop(t)
	}
}

// ExpertUse returns how experts were found. ok is false if all stay in memory.
func (m *Model) ExpertUse() (use ExpertUse, ok bool) {
	g := m.pager
	if g == nil {
		return ExpertUse{}, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return ExpertUse{Hits: g.hits, Misses: g.misses, Bytes: g.bytes, Limit: g.limit}, true
}
