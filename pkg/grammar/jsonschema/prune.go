package jsonschema

import (
	"slices"

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
		extra := slices.ContainsFunc(o.Extra, func(x pushdown.Extra) bool { return full[x.Value] })
		return (members >= o.Min || extra) && (o.Max < 0 || required <= o.Max && o.Min <= o.Max)
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
