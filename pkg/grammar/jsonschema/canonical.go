package jsonschema

import (
	"slices"

	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/pushdown"
)

// canonicalItems rewrites the items of unique arrays with strings in canonical form, in
// which equal strings have equal texts.
func (c *compiler) canonicalItems() error {
	unique := func(r pushdown.Rule) bool { return r.Array != nil && r.Array.Unique || r.Proc != nil && r.Proc.Unique }
	if !slices.ContainsFunc(c.rules, unique) {
		return nil
	}
	again := &copier{c: c, made: map[pushdown.ID]pushdown.ID{never: never}}
	if err := c.step(len(c.rules)); err != nil {
		return err
	}
	for i, spelled := range c.respellable() {
		if !spelled || !unique(c.rules[i]) {
			continue
		}
		if err := again.parts(pushdown.ID(i)); err != nil {
			return err
		}
		for ; len(again.todo) > 0; again.todo = again.todo[1:] {
			if err := again.parts(again.todo[0]); err != nil {
				return err
			}
		}
	}
	return nil
}

// partsOf lists the rules that a rule calls.
func partsOf(r pushdown.Rule) (list []pushdown.ID) {
	switch {
	case r.Array != nil:
		if list = slices.Clone(r.Array.Prefix); r.Array.Items >= 0 {
			list = append(list, r.Array.Items)
		}
	case r.Object != nil:
		for _, p := range r.Object.Props {
			list = append(list, p.Value)
		}
		for _, x := range r.Object.Extra {
			list = append(list, x.Key, x.Value)
		}
	case r.Proc != nil:
		for _, s := range r.Proc.States {
			for _, call := range s.Calls {
				list = append(list, call.Rule)
			}
		}
	default:
		list = r.Any
	}
	return list
}

// A copier copies rules with all that they call.
type copier struct {
	c    *compiler
	made map[pushdown.ID]pushdown.ID // copies by their originals, and by themselves
	todo []pushdown.ID               // copies that still call the rules of their originals
}

// respellable reports, for each rule, whether it leads to a string with several spellings.
func (c *compiler) respellable() []bool {
	is := make([]bool, len(c.rules))
	for again := true; again && c.spend(4*(len(c.rules)+c.sizes), 8*(len(c.rules)+c.sizes)) == nil; {
		again = false
		for i := len(is) - 1; i >= 0; i-- { // rules come after their callers, except in recursion
			r := &c.rules[i]
			if !is[i] && (r.Text != nil && r.Text.DFA == automaton.String() || slices.ContainsFunc(partsOf(*r), func(id pushdown.ID) bool { return is[id] })) {
				is[i], again = true, true
			}
		}
	}
	return is
}

// of returns the copy of a rule.
func (k *copier) of(id pushdown.ID) (pushdown.ID, error) {
	if id < 0 {
		return id, nil
	}
	if to, ok := k.made[id]; ok {
		return to, nil
	}
	r := k.c.rules[id]
	k.c.place, k.c.keyword = k.c.origins[id].of, k.c.origins[id].keyword
	var to pushdown.ID
	var err error
	switch {
	case r.Text != nil && r.Text.DFA != automaton.String():
		to = id
	case r.Text != nil:
		t := *r.Text
		t.DFA = automaton.Key()
		to, err = k.c.text(t)
	default:
		to, err = k.c.newRule(copied(r), len(partsOf(r))+1)
		k.todo = append(k.todo, to)
	}
	k.made[id], k.made[to] = to, to
	return to, err
}

// copied returns a rule that shares nothing with r.
func copied(r pushdown.Rule) pushdown.Rule {
	switch {
	case r.Array != nil:
		a := *r.Array
		a.Prefix = slices.Clone(a.Prefix)
		r.Array = &a
	case r.Object != nil:
		o := *r.Object
		o.Props, o.Extra = slices.Clone(o.Props), slices.Clone(o.Extra)
		r.Object = &o
	case r.Proc != nil:
		p := pushdown.Proc{States: slices.Clone(r.Proc.States), Unique: r.Proc.Unique}
		for i := range p.States {
			p.States[i].Calls = slices.Clone(p.States[i].Calls)
		}
		r.Proc = &p
	default:
		r.Any = slices.Clone(r.Any)
	}
	return r
}

// parts replaces the calls of a copy by calls of copies.
func (k *copier) parts(id pushdown.ID) (err error) {
	set := func(part *pushdown.ID) {
		if err == nil {
			*part, err = k.of(*part)
		}
	}
	switch r := k.c.rules[id]; {
	case r.Array != nil:
		return k.array(r.Array)
	case r.Object != nil:
		for i := range r.Object.Props {
			set(&r.Object.Props[i].Value)
		}
		for i := range r.Object.Extra {
			set(&r.Object.Extra[i].Key)
			set(&r.Object.Extra[i].Value)
		}
	case r.Proc != nil:
		for s := range r.Proc.States {
			for i := range r.Proc.States[s].Calls {
				set(&r.Proc.States[s].Calls[i].Rule)
			}
		}
	default:
		for i := range r.Any {
			set(&r.Any[i])
		}
	}
	return err
}

func (k *copier) array(a *pushdown.Array) (err error) {
	for i := range a.Prefix {
		if a.Prefix[i], err = k.of(a.Prefix[i]); err != nil {
			return err
		}
	}
	a.Items, err = k.of(a.Items)
	return err
}
