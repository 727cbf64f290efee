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
type textCache struct {
	byKey  map[textKey]*textIndex
	bySum  map[uint64]*textIndex // those without limits, by the sum of their DFA
	states int                   // of those in byKey
}

// keptStates is how many states of automata a vocabulary remembers costs and masks of:
// one half are those asked for last, the other those before them.
const maxCachedStates = 1 << 14

// text returns what v knows of a text. That of equal DFAs is one: schemas have the same
// patterns again and again, each compiled anew.
func (v *Vocabulary) textIndex(key textKey) *textIndex { return v.textIndexWithin(nil, key) }

// textWithin is text within a budget. What it returns at the end of that is not kept,
// and no costs are known of it.
func (v *Vocabulary) textIndexWithin(budget *automaton.Budget, key textKey) *textIndex {
	v.mu.Lock()
	t := v.lookup(key)
	v.mu.Unlock()
	switch {
	case t != nil:
		return t
	case key.limited:
		plain := v.textIndexWithin(budget, textKey{d: key.d})
		if plain.d != key.d {
			return v.store(key, v.textIndexWithin(budget, textKey{plain.d, true}))
		}
		way := plain.findPathChars(budget)
		if budget.Err() != nil {
			return plain
		}
		return v.store(key, &textIndex{v: v, textKey: key, plain: plain, cost: plain.cost, pathChars: way, sets: make([]atomic.Pointer[tokenSets], len(plain.sets))})
	}
	_ = budget.Spend(4*len(key.d.States), 16*len(key.d.States)) // who has the budget sees it
	sum := sumOf(key.d)
	if t = v.equal(key.d, sum); t == nil {
		t = &textIndex{v: v, textKey: key, sum: sum, cost: v.distances(budget, key.d), sets: make([]atomic.Pointer[tokenSets], len(key.d.States))}
	}
	if budget.Err() != nil {
		return t
	}
	return v.store(key, t)
}

// recall returns the texts of a key, which then are among those asked for last; nil if it
// is not known.
func (v *Vocabulary) lookup(key textKey) *textIndex {
	if t := v.recent.byKey[key]; t != nil {
		return t
	}
	t := v.older.byKey[key]
	if t != nil {
		v.put(key, t)
	}
	return t
}

// remember keeps the texts of a key, unless another has been kept meanwhile, and returns
// those kept.
func (v *Vocabulary) store(key textKey, t *textIndex) *textIndex {
	v.mu.Lock()
	defer v.mu.Unlock()
	if other := v.lookup(key); other != nil {
		return other
	}
	v.put(key, t)
	return t
}

// put has the texts of a key among those asked for last.
func (v *Vocabulary) put(key textKey, t *textIndex) {
	if v.recent.states += len(t.cost); v.recent.byKey == nil || v.recent.states > maxCachedStates/2 {
		v.older = v.recent // who uses those before that keeps them
		v.recent = textCache{map[textKey]*textIndex{}, map[uint64]*textIndex{}, len(t.cost)}
	}
	v.recent.byKey[key] = t
	if !key.limited {
		v.recent.bySum[t.sum] = t
	}
}

// equal returns the texts of a DFA that is equal to d, nil if none is known.
func (v *Vocabulary) equal(d *automaton.DFA, sum uint64) *textIndex {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, among := range []*textCache{&v.recent, &v.older} {
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
