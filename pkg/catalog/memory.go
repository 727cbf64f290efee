package catalog

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"glossa/pkg/llm"
)

// memory is what an open model takes.
type memory struct {
	bytes   int64  // of its own
	shared  int64  // of weights that it shares with other models
	weights string // identifies these
	base    string // the name of their model
	mixture bool   // it has experts
	paged   Paged  // of these
	experts int64  // of bytes, those of experts whose others stay in their file; 0: none do
}

// PackHint ends the error of a mixture of experts that does not fit and whose experts cannot stay in
// its file.
const PackHint = "; its experts could stay in a local file that glossa pack writes"

// fit leaves experts in their file if the model is larger than a limit. need is what it takes, or
// what it would take at least.
func (m *memory) fit(limit int64) (need int64) {
	need = m.bytes + m.shared
	if need <= limit || m.paged.All == 0 || m.shared > 0 {
		return need
	}
	if m.experts = m.paged.Within(need, limit); m.experts == 0 {
		return need - m.paged.All + m.paged.Least
	}
	m.bytes -= m.paged.All - m.experts
	return m.bytes
}

// Held is a model whose weights are in memory.
type Held struct {
	Name  string
	Bytes int64 // of its weights; of an adapter, of what it adds to those of its base
	Users int   // requests that hold it, and open models for which it drafts; of a base, also those of its adapters

	Leaves time.Time // when it leaves if it is not used again; zero: when others need its memory

	// Experts counts how its experts were found that stay in their file until tokens choose them; nil:
	// none do.
	Experts *llm.ExpertUse
}

// Held returns the models whose weights are in memory, in no particular order. A model may
// occur twice: its old version stays until its last generation ends. The base of an open adapter
// occurs once, even if no request has asked for it.
func (c *Catalog) Held() []Held {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgetGone()
	list, _ := c.held(nil, func(*opened) bool { return false })
	return list
}

// held is Held with a model that is to be opened, which may be nil, and without some that may be
// closed. sum is the memory of all; c.mu is held.
func (c *Catalog) held(next *opened, without func(*opened) bool) (list []Held, sum int64) {
	all := slices.Clone(c.gone)
	for _, o := range c.open {
		all = append(all, o)
	}
	if next != nil {
		all = append(all, next)
	}
	bases := map[string]int{} // indexes into list
	for _, o := range all {
		if without(o) {
			continue
		}
		if o.shared > 0 {
			i, ok := bases[o.weights]
			if !ok {
				i, bases[o.weights] = len(list), len(list)
				list = append(list, Held{Name: o.base, Bytes: o.shared, Leaves: o.leaves()})
				sum += o.shared
			}
			if list[i].Users += o.users; o.bytes == 0 { // it is the base, perhaps of another name
				list[i].Name, list[i].Leaves = o.name, o.leaves()
			}
		}
		if o.bytes > 0 { // remote models have no weights here
			list = append(list, Held{o.name, o.bytes, o.users, o.leaves(), o.expertUse()})
			sum += o.bytes
		}
	}
	return list, sum
}

// expertUse returns how the experts of a model were found, nil if all stay in memory.
func (o *opened) expertUse() *llm.ExpertUse {
	if o.experts == 0 || !o.isReady() {
		return nil
	}
	b, ok := o.backend.(interface{ ExpertUse() (llm.ExpertUse, bool) })
	if !ok {
		return nil
	}
	use, _ := b.ExpertUse()
	return &use
}

// makeRoom closes unused models, the least recently used first, until the next fits; c.mu is held.
func (c *Catalog) makeRoom(next *opened) error {
	limit, need := c.cfg.Memory, next.bytes+next.shared
	if limit == 0 || need == 0 {
		return nil
	}
	c.forgetGone()
	dropped := false
	for {
		_, used := c.held(next, func(*opened) bool { return false })
		if used <= limit {
			break
		}
		oldest := ""
		for key, o := range c.open {
			if !unused(o) || oldest != "" && !o.used.Before(c.open[oldest].used) {
				continue
			}
			// It frees nothing alone if it shares all with others, which may be unused too.
			if _, rest := c.held(next, func(other *opened) bool {
				return other == o || other.shared > 0 && other.weights == o.weights && unused(other)
			}); rest < used {
				oldest = key
			}
		}
		if oldest == "" {
			return &llm.Error{
				Code: llm.Overloaded, RetryAfter: time.Second,
				Message: fmt.Sprintf("the model %q needs %s of memory, and the models in use leave %s: try again later", next.name, size(need), size(limit-(used-need))),
			}
		}
		c.drop(oldest)
		dropped = true
	}
	if dropped {
		freeMemory() // before the next weights are read
	}
	return nil
}

// freeMemory returns the memory of closed models to the system. The collector finds the memory of a
// model in its second cycle: before, what is kept for reuse ([sync.Pool]) leads to it.
func freeMemory() {
	runtime.GC()
	debug.FreeOSMemory()
}

// checkMemory leaves experts of a model that is to be opened in their file, if it does not fit
// otherwise. It returns an error if the model needs more memory than all models may use, with its
// draft model, which may be nil.
func (c *Catalog) checkMemory(next *opened, draft *Entry) error {
	limit := c.cfg.Memory
	if limit == 0 || next.bytes+next.shared == 0 {
		return nil
	}
	with, hint := "", ""
	if draft != nil {
		with = fmt.Sprintf(", with its draft model %q", draft.Name)
	}
	reserved := draft.chain(limit, map[string]bool{next.weights: true})
	need := next.fit(limit-reserved) + reserved
	if need <= limit {
		return nil
	}
	if next.mixture && next.paged.All == 0 {
		hint = PackHint
	}
	return llm.Errorf(llm.Unsupported, "the model %q needs %s of memory%s, and models may use %s here%s", next.name, size(need), with, size(limit), hint)
}

// chain returns what a draft model takes within a limit, with its own draft model, which is open as
// long. seen are shared weights that count elsewhere.
func (e *Entry) chain(limit int64, seen map[string]bool) int64 {
	if e == nil {
		return 0
	}
	own := e.draft.chain(limit, seen)
	m := e.memory()
	need := m.fit(limit - own)
	if m.shared > 0 {
		if seen[m.weights] {
			need = m.bytes
		}
		seen[m.weights] = true
	}
	return own + need
}

// size formats a number of bytes.
func size(n int64) string {
	if n < 1<<30 {
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}
