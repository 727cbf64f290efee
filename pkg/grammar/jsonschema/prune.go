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
	if !full[start] && c.narrowed != nil {
		return nil, c.narrowed
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
		case r.Proc != nil:
			for s := range r.Proc.States {
				calls := &r.Proc.States[s].Calls
				*calls = slices.DeleteFunc(*calls, func(call pushdown.Call) bool { return !full[call.Rule] })
			}
		case r.Object != nil:
			o, empty := r.Object, func(x pushdown.Extra) bool { return !full[x.Value] }
			lead := slices.DeleteFunc(slices.Clone(o.Extra[:o.Lead]), empty)
			o.Extra, o.Lead = append(lead, slices.DeleteFunc(slices.Clone(o.Extra[o.Lead:]), empty)...), len(lead)
		}
	}
	if err := c.canonicalItems(); err != nil {
		return nil, err
	}
	return &pushdown.Program{Rules: c.rules, Start: start}, nil
}

// full returns which rules something matches: the least such set.
func (c *compiler) full() []bool {
	full := make([]bool, len(c.rules))
	for again := true; again; {
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
		return !none(*r.Text)
	case r.Array != nil:
		a := *r.Array
		pruneArray(&a, full)
		return (a.Max < 0 || a.Min <= a.Max) && (!a.Unique || a.Min < 2 || c.kinds(&a) >= a.Min)
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
		filled := func(x pushdown.Extra) bool { return full[x.Value] }
		if extra := slices.ContainsFunc(o.Extra[o.Lead:], filled); o.Lead > 0 {
			return slices.ContainsFunc(o.Extra[:o.Lead], filled) && (members+1 >= o.Min || extra) && (o.Max < 0 || required < o.Max && o.Min <= o.Max)
		}
		extra := slices.ContainsFunc(o.Extra, filled)
		return (members >= o.Min || extra) && (o.Max < 0 || required <= o.Max && o.Min <= o.Max)
	}
	if r.Proc != nil {
		return ends(r.Proc, full)
	}
	return slices.ContainsFunc(r.Any, func(id pushdown.ID) bool { return full[id] })
}

// kinds returns how many different items an array may have, as far as they are counted:
// no more than there are texts.
func (c *compiler) kinds(a *pushdown.Array) (n int) {
	for _, id := range slices.Compact(slices.Sorted(slices.Values(partsOf(pushdown.Rule{Array: a})))) {
		n = min(n+c.countTexts(id), a.Min)
	}
	return n
}

// countTexts counts the texts of a rule, those of arrays and objects as many, and those of
// several rules for each.
func (c *compiler) countTexts(id pushdown.ID) (n int) {
	switch r := &c.rules[id]; {
	case r.Text != nil:
		return countTexts(r.Text.DFA)
	case r.Array != nil || r.Object != nil || r.Proc != nil:
		return maxUnique
	default:
		for _, one := range r.Any {
			n = min(n+c.countTexts(one), maxUnique)
		}
	}
	return n
}

// maxCounted bounds the states of automata whose texts are counted.
const maxCounted = 1 << 10

// countTexts counts the texts of d, up to maxUnique.
func countTexts(d *automaton.DFA) int {
	if len(d.States) > maxCounted {
		return maxUnique
	}
	ways := make([]int, len(d.States)) // to come to each state with so many bytes
	ways[0] = 1
	total := 0
	for range len(d.States) + 1 {
		next, more := make([]int, len(d.States)), false
		for i, n := range ways {
			if n == 0 {
				continue
			}
			if d.States[i].Accept {
				total = min(total+n, maxUnique)
			}
			for _, e := range d.States[i].Edges {
				next[e.To] = min(next[e.To]+n*(int(e.Hi-e.Lo)+1), maxUnique)
				more = true
			}
		}
		if ways = next; !more || total == maxUnique {
			return total
		}
	}
	return maxUnique // there is a cycle
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
