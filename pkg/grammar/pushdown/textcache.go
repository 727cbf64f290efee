package pushdown

import (
	"slices"
	"sync/atomic"

	"glossa/pkg/grammar/automaton"
)

// A textKey identifies a textIndex. limited: the text's characters are bounded.
type textKey struct {
	d       *automaton.DFA
	limited bool
}

// A textCache is one of the two generations of a vocabulary's indexes.
type textCache struct {
	byKey  map[textKey]*textIndex
	bySum  map[uint64]*textIndex // those without limits, by the hash of their DFA
	states int                   // of those in byKey
}

// maxCachedStates bounds the states of the automata that a vocabulary keeps an index of:
// one half for the recent generation, one for the older.
const maxCachedStates = 1 << 14

// textIndex returns the index of a key. Equal DFAs share one: schemas repeat the same
// patterns, and each is compiled anew.
func (v *Vocabulary) textIndex(key textKey) *textIndex { return v.textIndexWithin(nil, key) }

// textIndexWithin is textIndex within a budget. Once the budget is exhausted, the index
// that it returns has no costs and is not cached.
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
	_ = budget.Spend(4*len(key.d.States), 16*len(key.d.States)) // the budget's owner reports it
	sum := sumOf(key.d)
	if t = v.equal(key.d, sum); t == nil {
		t = &textIndex{v: v, textKey: key, sum: sum, cost: v.distances(budget, key.d), sets: make([]atomic.Pointer[tokenSets], len(key.d.States))}
	}
	if budget.Err() != nil {
		return t
	}
	return v.store(key, t)
}

// lookup returns the index of a key and moves it to the recent generation; nil if the
// key is not cached.
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

// store caches the index of a key, unless another has been cached meanwhile, and returns
// the cached one.
func (v *Vocabulary) store(key textKey, t *textIndex) *textIndex {
	v.mu.Lock()
	defer v.mu.Unlock()
	if other := v.lookup(key); other != nil {
		return other
	}
	v.put(key, t)
	return t
}

// put adds the index of a key to the recent generation.
func (v *Vocabulary) put(key textKey, t *textIndex) {
	if v.recent.states += len(t.cost); v.recent.byKey == nil || v.recent.states > maxCachedStates/2 {
		v.older = v.recent // the generation before that is dropped
		v.recent = textCache{map[textKey]*textIndex{}, map[uint64]*textIndex{}, len(t.cost)}
	}
	v.recent.byKey[key] = t
	if !key.limited {
		v.recent.bySum[t.sum] = t
	}
}

// equal returns the cached index of a DFA that is equal to d, or nil.
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
	return a.Accept == b.Accept && a.Content == b.Content && a.Plain == b.Plain && slices.Equal(a.Edges, b.Edges)
}

// sumOf returns a polynomial hash of a DFA's states and edges.
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
		if s.Plain {
			x += 1 << 18
		}
		sum = sum*point + x
		for _, e := range s.Edges {
			sum = sum*point + uint64(e.To)<<16 + uint64(e.Hi)<<8 + uint64(e.Lo)
		}
	}
	return sum
}
