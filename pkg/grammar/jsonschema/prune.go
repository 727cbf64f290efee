package jsonschema

import (
	"slices"

	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/fault"
	"glossa/pkg/grammar/pushdown"
)

// program returns the rules without the parts that no text matches.
func (c *compiler) program(start pushdown.ID) (*pushdown.Program, error) {
	productive := c.productive()
	if err := c.step(0); err != nil {
		return nil, err
	}
	for i := range c.rules {
		if o := c.rules[i].Object; o != nil && !productive[i] && c.narrowed == nil && c.tight(o, productive) {
			c.narrowed = fault.New(c.origins[i].of.pointer(), "not", "too few names are possible for the members that its negation requires")
		}
	}
	if !productive[start] && c.narrowed != nil {
		return nil, c.narrowed
	}
	if !productive[start] {
		return nil, fault.New(c.invalid(start, productive).pointer(), "", "no value is valid for the schema")
	}
	for i := range c.rules {
		r := &c.rules[i]
		switch {
		case !productive[i]:
			*r = pushdown.Rule{}
		case r.Any != nil:
			r.Any = slices.DeleteFunc(slices.Clone(r.Any), func(id pushdown.ID) bool { return !productive[id] })
		case r.Array != nil:
			pruneArray(r.Array, productive)
		case r.Proc != nil:
			for s := range r.Proc.States {
				calls := &r.Proc.States[s].Calls
				*calls = slices.DeleteFunc(*calls, func(call pushdown.Call) bool { return !productive[call.Rule] })
			}
		case r.Object != nil:
			pruneExtra(r.Object, productive)
		}
	}
	if err := c.canonicalItems(); err != nil {
		return nil, err
	}
	if err := c.checkMinBytes(start); err != nil {
		return nil, err
	}
	places, err := c.places()
	return &pushdown.Program{Rules: c.rules, Start: start, Places: places, JSON: true}, err
}

// invalid returns the place of the innermost required member or item that makes a rule match
// nothing, as far as the schemas that the rules come from show it; nil: the whole.
func (c *compiler) invalid(id pushdown.ID, productive []bool) (place *value) {
	for seen := map[pushdown.ID]bool{never: true}; !seen[id]; {
		seen[id] = true
		var part *value
		id, part = c.invalidPart(id, productive)
		if part != nil && seen[id] && id != never {
			return nil // it requires itself
		}
		if part != nil {
			place = part
		}
	}
	return place
}

// invalidPart returns the rule of a member or an item for which no value is valid although one
// is required, and its place; nil if there is none.
func (c *compiler) invalidPart(id pushdown.ID, productive []bool) (part pushdown.ID, place *value) {
	r, at := &c.rules[id], c.origins[id].of
	if at == nil {
		return never, nil
	}
	switch {
	case r.Array != nil && r.Array.Min > 0 && !r.Array.Unique: // items that must differ have no place
		if list := at.get("prefixItems"); list != nil {
			for i, item := range r.Array.Prefix[:min(len(r.Array.Prefix), len(list.items), r.Array.Min)] {
				if !productive[item] {
					return item, list.items[i]
				}
			}
		}
		items := at.get("items")
		if items != nil && items.kind == objectKind && r.Array.Min > len(r.Array.Prefix) && (r.Array.Items < 0 || !productive[r.Array.Items]) {
			return max(never, r.Array.Items), items
		}
	case r.Object != nil:
		declared := at.get("properties")
		for _, p := range r.Object.Props {
			if p.Required && !productive[p.Value] && declared != nil {
				return p.Value, declared.get(p.Name)
			}
		}
	}
	return never, nil
}

// maxPlaces bounds the bytes of the places of rules: later rules have none.
const maxPlaces = 1 << 20

// places returns the places in the schema that rules come from.
func (c *compiler) places() (list []pushdown.Place, err error) {
	known := map[*value]string{}
	size := 0
	for _, o := range c.origins {
		pointer, ok := known[o.of]
		if !ok {
			pointer = o.of.pointer()
			known[o.of] = pointer
			size += len(pointer)
		}
		if size > maxPlaces {
			break
		}
		list = append(list, pushdown.Place{Pointer: pointer, Keyword: o.keyword})
	}
	return list, c.spend(8*len(list)+2*size, 40*len(list)+3*size)
}

// productive reports, for each rule, whether some text matches it: the least fixed point.
func (c *compiler) productive() []bool {
	productive := make([]bool, len(c.rules))
	for again := true; again && c.spend(2*(len(c.rules)+c.sizes), len(c.rules)+c.sizes) == nil; {
		again = false
		// Rules come after their callers, except in recursion.
		for i := len(productive) - 1; i >= 0; i-- {
			if !productive[i] && c.matchesSomething(&c.rules[i], productive) {
				productive[i], again = true, true
			}
		}
	}
	return productive
}

// matchesSomething reports whether some text matches a rule, given that some text matches
// each rule of productive.
func (c *compiler) matchesSomething(r *pushdown.Rule, productive []bool) bool {
	switch {
	case r.Text != nil:
		return !c.none(*r.Text)
	case r.Array != nil:
		a := *r.Array
		pruneArray(&a, productive)
		return (a.Max < 0 || a.Min <= a.Max) && (!a.Unique || a.Min < 2 || c.mayDiffer(&a))
	case r.Object != nil:
		o := r.Object
		members := 0
		for _, p := range o.Props {
			if productive[p.Value] {
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
		if !c.leading(o, productive) {
			return false
		}
		leads, more := len(o.Lead), o.Min-members // including leads
		lo, _ := o.Kinds(leads)
		return (more <= leads || c.extras(o, o.Extra[lo:], productive, more) >= more) && (o.Max < 0 || required+leads <= o.Max && o.Min <= o.Max)
	}
	if r.Proc != nil {
		return r.Proc.Ends(func(id pushdown.ID) bool { return productive[id] })
	}
	return slices.ContainsFunc(r.Any, func(id pushdown.ID) bool { return productive[id] })
}

// mayDiffer reports whether the required items of an array may differ: those of few values
// must have as many texts together. False is certain.
func (c *compiler) mayDiffer(a *pushdown.Array) bool {
	var few []pushdown.ID
	for i := range a.Min {
		id := a.Items
		if i < len(a.Prefix) {
			id = a.Prefix[i]
		}
		if c.countTexts(id) < a.Min {
			few = append(few, id)
		}
	}
	items := len(few)
	var texts []*automaton.DFA
	for len(few) > 0 {
		r := &c.rules[few[0]]
		if few = few[1:]; r.Text == nil {
			few = append(few, r.Any...)
		} else if !slices.Contains(texts, r.Text.DFA) {
			texts = append(texts, r.Text.DFA)
		}
	}
	d, err := c.budget.Union(texts...)
	return err != nil || c.count(d, items) >= items
}

// countTexts counts the texts of a rule, up to maxUnique. Arrays and objects count as
// maxUnique, and a text of several alternatives counts once for each.
func (c *compiler) countTexts(id pushdown.ID) (n int) {
	switch r := &c.rules[id]; {
	case r.Text != nil:
		return c.count(r.Text.DFA, maxUnique)
	case r.Array != nil || r.Object != nil || r.Proc != nil:
		return maxUnique
	default:
		for _, one := range r.Any {
			if n == maxUnique || c.step(1) != nil {
				break // an exhausted budget fails the next step
			}
			n = min(n+c.countTexts(one), maxUnique)
		}
	}
	return n
}

// pruneArray ends an array before the first item that no text matches.
func pruneArray(a *pushdown.Array, productive []bool) {
	for i, id := range a.Prefix {
		if !productive[id] {
			a.Prefix, a.Items = a.Prefix[:i], -1
			break
		}
	}
	if a.Items >= 0 && !productive[a.Items] {
		a.Items = -1
	}
	if a.Items < 0 && (a.Max < 0 || a.Max > len(a.Prefix)) {
		a.Max = len(a.Prefix)
	}
}

// pruneExtra leaves out the kinds of extra members that no text matches.
func pruneExtra(o *pushdown.Object, productive []bool) {
	var extra []pushdown.Extra
	var lead []int
	for n := range len(o.Lead) + 1 {
		before := len(extra)
		lo, hi := o.Kinds(n)
		for _, x := range o.Extra[lo:hi] {
			if productive[x.Value] {
				extra = append(extra, x)
			}
		}
		if n < len(o.Lead) {
			lead = append(lead, len(extra)-before)
		}
	}
	o.Extra, o.Lead = extra, lead
}

// leading reports whether an object can have the extra members of its Lead: each needs a
// kind with more keys than the declared members and the leads before it may take. The check
// is conservative: it also excludes objects for which a careful choice of keys would do.
func (c *compiler) leading(o *pushdown.Object, productive []bool) bool {
	keys := func(id pushdown.ID) *automaton.DFA { return c.rules[id].Text.DFA }
	for n := range o.Lead {
		lo, hi := o.Kinds(n)
		enough := false
		for i := lo; i < hi && !enough; i++ {
			taken := o.Shared(i, keys)
			enough = c.extras(o, o.Extra[i:i+1], productive, taken+1) > taken
		}
		if !enough {
			return false
		}
	}
	return true
}

// tight reports whether each of an object's Lead has a key, but more than one has few.
func (c *compiler) tight(o *pushdown.Object, productive []bool) bool {
	for n := range o.Lead {
		lo, hi := o.Kinds(n)
		if c.extras(o, o.Extra[lo:hi], productive, 1) == 0 {
			return false
		}
	}
	return len(o.Lead) > 1
}

// extras returns how many extra members of some kinds an object may have, most at most.
func (c *compiler) extras(o *pushdown.Object, kinds []pushdown.Extra, productive []bool, most int) (n int) {
	for _, x := range kinds {
		if n >= most {
			return most
		}
		if !productive[x.Value] {
			continue
		}
		keys := c.rules[x.Key].Text.DFA
		if _, longest := c.extent(keys); longest < 0 {
			return most
		}
		own := 0
		for _, p := range o.Props {
			if c.spend(stepSteps+4*len(p.Name), 2*len(p.Name)) != nil {
				return most // an exhausted budget fails the next step
			}
			if keys.Match(automaton.Quote(p.Name)) {
				own++
			}
		}
		n += c.count(keys, most+own) - own
	}
	return min(n, most)
}

// maxCounted bounds the states of automata whose texts are counted.
const maxCounted = 1 << 16

// count returns the number of texts of an automaton, or most if there are more or if the
// automaton has more than maxCounted states.
func (c *compiler) count(d *automaton.DFA, most int) int {
	if d.Empty() {
		return 0
	}
	if _, longest := c.extent(d); longest < 0 || len(d.States) > maxCounted || c.spend(8*len(d.States), 16*len(d.States)) != nil {
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
