package pushdown

import (
	"slices"
	"sync/atomic"

	"glossa/pkg/grammar/automaton"
)

// A textKey tells texts apart. In those that are limited characters are bounded.
type textKey struct {
	d       *automaton.DFA
	limited bool
}

// A memory is some of the texts that a vocabulary knows.
type memory struct {
	byKey  map[textKey]*texts
	bySum  map[uint64]*texts // those without limits, by the sum of their DFA
	states int               // of those in byKey
}

// keptStates is how many states of automata a vocabulary remembers costs and masks of:
// one half are those asked for last, the other those before them.
const keptStates = 1 << 14

// text returns what v knows of a text. That of equal DFAs is one: schemas have the same
// patterns again and again, each compiled anew.
func (v *Vocabulary) text(key textKey) *texts { return v.textWithin(nil, key) }

// textWithin is text within a budget. What it returns at the end of that is not kept,
// and no costs are known of it.
func (v *Vocabulary) textWithin(budget *automaton.Budget, key textKey) *texts {
	v.mu.Lock()
	t := v.recall(key)
	v.mu.Unlock()
	switch {
	case t != nil:
		return t
	case key.limited:
		plain := v.textWithin(budget, textKey{d: key.d})
		if plain.d != key.d {
			return v.remember(key, v.textWithin(budget, textKey{plain.d, true}))
		}
		way := plain.onWay(budget)
		if budget.Err() != nil {
			return plain
		}
		return v.remember(key, &texts{v: v, textKey: key, plain: plain, cost: plain.cost, way: way, locals: make([]atomic.Pointer[local], len(plain.locals))})
	}
	_ = budget.Spend(4*len(key.d.States), 16*len(key.d.States)) // who has the budget sees it
	sum := sumOf(key.d)
	if t = v.equal(key.d, sum); t == nil {
		t = &texts{v: v, textKey: key, sum: sum, cost: v.distances(budget, key.d), locals: make([]atomic.Pointer[local], len(key.d.States))}
	}
	if budget.Err() != nil {
		return t
	}
	return v.remember(key, t)
}

// recall returns the texts of a key, which then are among those asked for last; nil if it
// is not known.
func (v *Vocabulary) recall(key textKey) *texts {
	if t := v.last.byKey[key]; t != nil {
		return t
	}
	t := v.before.byKey[key]
	if t != nil {
		v.put(key, t)
	}
	return t
}

// remember keeps the texts of a key, unless another has been kept meanwhile, and returns
// those kept.
func (v *Vocabulary) remember(key textKey, t *texts) *texts {
	v.mu.Lock()
	defer v.mu.Unlock()
	if other := v.recall(key); other != nil {
		return other
	}
	v.put(key, t)
	return t
}

// put has the texts of a key among those asked for last.
func (v *Vocabulary) put(key textKey, t *texts) {
	if v.last.states += len(t.cost); v.last.byKey == nil || v.last.states > keptStates/2 {
		v.before = v.last // who uses those before that keeps them
		v.last = memory{map[textKey]*texts{}, map[uint64]*texts{}, len(t.cost)}
	}
	v.last.byKey[key] = t
	if !key.limited {
		v.last.bySum[t.sum] = t
	}
}

// equal returns the texts of a DFA that is equal to d, nil if none is known.
func (v *Vocabulary) equal(d *automaton.DFA, sum uint64) *texts {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, among := range []*memory{&v.last, &v.before} {
		if t := among.bySum[sum]; t != nil && slices.EqualFunc(t.d.States, d.States, equalStates) {
			return t
		}
	}
	return nil
}

func equalStates(a, b automaton.State) bool {
	return a.Accept == b.Accept && a.Content == b.Content && slices.Equal(a.Edges, b.Edges)
}

// sumOf returns a number that equal DFAs share: a polynomial of what they consist of.
func sumOf(d *automaton.DFA) (sum uint64) {
	const point = 0x9e3779b97f4a7c15
	for i := range d.States {
		s := &d.States[i]
		x := uint64(len(s.Edges))
		if s.Accept {
			x += 1 << 16
		}
		if s.Content {
			x += 1 << 17
		}
		sum = sum*point + x
		for _, e := range s.Edges {
			sum = sum*point + uint64(e.To)<<16 + uint64(e.Hi)<<8 + uint64(e.Lo)
		}
	}
	return sum
}
