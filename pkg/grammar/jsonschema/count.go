package jsonschema

import (
	"slices"

	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/pushdown"
)

// Arrays with counted items, by contains or the negation of items, are general rules: their
// states hold the number of items and the number of matches.

const (
	maxCounting = 8    // schemas that count items of one array
	maxCounts   = 2048 // states of such an array
)

// counts reports whether a bounds the number of items that match contains.
func (a *arrayFacts) counts() bool { return a.contains != nil && (a.minMatches > 0 || a.maxMatch >= 0) }

// countingRule returns the rule of arrays with counted items.
func (c *compiler) countingRule(atoms []*schema, key string) (pushdown.ID, error) {
	n := &counting{c: c, atoms: atoms, states: map[counted]int32{}, proc: &pushdown.Proc{}}
	n.least, n.most, n.longest = itemsOf(atoms)
	n.last = max(n.least, n.longest, n.most)
	for _, s := range atoms {
		a := s.array
		if a.counts() {
			n.by, n.last = append(n.by, s), max(n.last, a.from)
		}
		if a.unique && n.unique == nil {
			n.unique, n.proc.Unique, n.last = s, true, max(n.last, 1)
		}
	}
	if n.unique != nil && (n.least > maxUnique || slices.ContainsFunc(n.by, func(s *schema) bool { return s.array.minMatches > maxUnique })) {
		return never, n.unique.refuse("uniqueItems", "at most %d different items can be required", maxUnique)
	}
	if n.most >= 0 {
		n.last = n.most
	}
	if len(n.by) > maxCounting {
		return never, n.by[0].refuse("contains", "more than %d schemas count the items of an array", maxCounting)
	}
	id, err := c.newRule(pushdown.Rule{Proc: n.proc}, 1)
	if err != nil {
		return never, err
	}
	c.byAtoms[key] = id
	c.queue = append(c.queue, n.body)
	return id, nil
}

// A counting writes the states of an array.
type counting struct {
	c                    *compiler
	atoms, by            []*schema // by: those with contains
	least, most, longest int
	last                 int     // numbers of items from here on share states
	unique               *schema // the first with uniqueItems; nil: none
	states               map[counted]int32
	todo                 []counted
	proc                 *pushdown.Proc
}

// A counted is a position in an array.
type counted struct {
	after   byte // '[', ',' or 'i' for an item
	items   int
	matches [maxCounting]int // capped where more make no difference
}

// state returns the number of a state.
func (n *counting) state(at counted) int32 {
	id, ok := n.states[at]
	if !ok {
		id = int32(len(n.proc.States))
		n.states[at] = id
		n.proc.States = append(n.proc.States, pushdown.ProcState{})
		n.todo = append(n.todo, at)
	}
	return id
}

func (n *counting) body() error {
	n.c.at(n.by[0], "contains")
	n.proc.States = []pushdown.ProcState{{}, {Accept: true}}
	n.proc.States[0].Edges = []automaton.Edge{{Lo: '[', Hi: '[', To: n.state(counted{after: '['})}}
	for ; len(n.todo) > 0; n.todo = n.todo[1:] {
		at := n.todo[0]
		if len(n.states) > maxCounts {
			return n.by[0].refuse("contains", "counting takes more than %d states", maxCounts)
		}
		var s pushdown.ProcState
		if at.after == 'i' {
			next := at
			next.after = ','
			s.Edges = append(s.Edges, automaton.Edge{Lo: ',', Hi: ',', To: n.state(next)})
		} else if n.most < 0 || at.items < n.most {
			calls, err := n.items(at)
			if err != nil {
				return err
			}
			s.Calls = calls
		}
		if at.after != ',' && at.items >= n.least && n.enough(at) {
			s.Edges = append(s.Edges, automaton.Edge{Lo: ']', Hi: ']', To: 1})
		}
		n.c.sizes += 1 + len(s.Calls)
		if err := n.c.spend(40+4*len(s.Calls), 400+24*len(s.Calls)); err != nil {
			return err
		}
		n.proc.States[n.states[at]] = s
	}
	return nil
}

// enough reports whether the required numbers of items match.
func (n *counting) enough(at counted) bool {
	for k, s := range n.by {
		if at.matches[k] < s.array.minMatches {
			return false
		}
	}
	return true
}

// items returns the calls of the next item: one for each set of contains schemas that it may
// match.
func (n *counting) items(at counted) (calls []pushdown.Call, err error) {
	for which := range 1 << len(n.by) {
		set, next, ok := itemSet(n.atoms, min(at.items, n.longest)), at, true
		for k, s := range n.by {
			a := s.array
			switch counts := which>>k&1 != 0; {
			case counts && (at.items < a.from || a.maxMatch < 0 && at.matches[k] == a.minMatches || at.matches[k] == a.maxMatch):
				ok = false
			case counts:
				set = include(set, a.contains)
				next.matches[k]++
			case at.items >= a.from && (a.maxMatch >= 0 || n.unique != nil && at.matches[k] < a.minMatches):
				set = append(set, n.c.notContained(s))
			}
		}
		if !ok {
			continue
		}
		if err := n.c.step(len(n.atoms) + len(set)); err != nil {
			return nil, err
		}
		id, err := n.c.rule(set)
		if err != nil {
			return nil, err
		}
		if next.after, next.items = 'i', min(at.items+1, n.last); id != never {
			calls = append(calls, pushdown.Call{Rule: id, Return: n.state(next), Before: n.before(at, which)})
		}
	}
	return calls, nil
}

// before returns an upper bound of the earlier items that may equal the next one, which
// the schemas of which count; -1: there are none; maxUnique: unknown.
func (n *counting) before(at counted, which int) int32 {
	if at.items == 0 {
		return -1
	}
	most := maxUnique
	if at.items < n.last || at.items == n.most {
		most = min(most, at.items)
	}
	for k, s := range n.by {
		a := s.array
		switch {
		case a.maxMatch < 0 && at.matches[k] >= a.minMatches: // no longer counted
		case which>>k&1 != 0:
			most = min(most, at.matches[k]+min(at.items, a.from))
		case at.items < n.last:
			most = min(most, at.items-at.matches[k])
		}
	}
	return int32(most)
}

// notContained returns the negation of the contains of s, the same one for every call.
func (c *compiler) notContained(s *schema) *schema {
	a := s.array
	if a.other == nil {
		a.other = c.negated(s.node, a.contains)
	}
	return a.other
}
