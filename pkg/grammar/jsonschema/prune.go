package jsonschema

import (
	"slices"

	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/fault"
	"glossa/pkg/grammar/pushdown"
)

// program returns the rules without what nothing matches.
func (c *compiler) program(start pushdown.ID) (*pushdown.Program, error) {
	full := c.full()
	if err := c.step(0); err != nil {
		return nil, err
	}
	if !full[start] {
		return nil, fault.New("", "", "no value is valid for the schema")
	}
	for i := range c.rules {
		r := &c.rules[i]
		switch {
		case !full[i]:
			*r = pushdown.Rule{}
		case r.Any != nil:
			r.Any = slices.DeleteFunc(slices.Clone(r.Any), func(id pushdown.ID) bool { return !full[id] })
		case r.Array != nil:
			pruneArray(r.Array, full)
		case r.Object != nil:
			r.Object.Extra = slices.DeleteFunc(r.Object.Extra, func(x pushdown.Extra) bool { return !full[x.Value] })
		}
	}
	if err := c.checkLeast(start); err != nil {
		return nil, err
	}
	return &pushdown.Program{Rules: c.rules, Start: start}, nil
}

// full returns which rules something matches: the least such set.
func (c *compiler) full() []bool {
	full := make([]bool, len(c.rules))
	for again := true; again && c.spend(2*(len(c.rules)+c.sizes), 0) == nil; {
		again = false
		// Rules come after those that they are part of, but for recursion.
		for i := len(full) - 1; i >= 0; i-- {
			if !full[i] && c.matchesSomething(&c.rules[i], full) {
				full[i], again = true, true
			}
		}
	}
	return full
}

// matchesSomething reports whether a rule matches something if those that are full do.
func (c *compiler) matchesSomething(r *pushdown.Rule, full []bool) bool {
	switch {
	case r.Text != nil:
		return !c.none(*r.Text)
	case r.Array != nil:
		a := *r.Array
		pruneArray(&a, full)
		return a.Max < 0 || a.Min <= a.Max
	case r.Object != nil:
		o := r.Object
		members := 0
		for _, p := range o.Props {
			if full[p.Value] {
				members++
			} else if p.Required {
				return false
			}
		}
		required := 0
		for _, p := range o.Props {
			if p.Required {
				required++
			}
		}
		return (members >= o.Min || c.extras(o, full, o.Min-members) >= o.Min-members) && (o.Max < 0 || required <= o.Max && o.Min <= o.Max)
	}
	return slices.ContainsFunc(r.Any, func(id pushdown.ID) bool { return full[id] })
}

// pruneArray ends an array before the first item that nothing matches.
func pruneArray(a *pushdown.Array, full []bool) {
	for i, id := range a.Prefix {
		if !full[id] {
			a.Prefix, a.Items = a.Prefix[:i], -1
			break
		}
	}
	if a.Items >= 0 && !full[a.Items] {
		a.Items = -1
	}
	if a.Items < 0 && (a.Max < 0 || a.Max > len(a.Prefix)) {
		a.Max = len(a.Prefix)
	}
}

// extras returns how many members besides its own an object may have, or most if there
// may be more.
func (c *compiler) extras(o *pushdown.Object, full []bool, most int) (n int) {
	for _, x := range o.Extra {
		if full[x.Value] && n < most {
			n += c.count(c.rules[x.Key].Text.DFA, most)
		}
	}
	return min(n, most)
}

// count returns how many texts an automaton has, or most if it has more.
func (c *compiler) count(d *automaton.DFA, most int) int {
	if _, longest := c.extent(d); longest < 0 || d.Empty() {
		if d.Empty() {
			return 0
		}
		return most
	}
	counts := make([]int, len(d.States))
	for i := range counts {
		counts[i] = -1
	}
	var of func(state int32) int
	of = func(state int32) int {
		if counts[state] >= 0 {
			return counts[state]
		}
		n := 0
		if d.States[state].Accept {
			n = 1
		}
		for _, e := range d.States[state].Edges {
			if n < most {
				n = min(most, n+(int(e.Hi)-int(e.Lo)+1)*of(e.To))
			}
		}
		counts[state] = n
		return n
	}
	return of(0)
}
