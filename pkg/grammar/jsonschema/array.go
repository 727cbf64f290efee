package jsonschema

import (
	"slices"

	"glossa/pkg/grammar/pushdown"
)

// itemSet returns the schemas of item i of an array for which all of atoms hold.
func itemSet(atoms []*schema, i int) (set []*schema) {
	for _, s := range atoms {
		a := s.array
		switch {
		case a == nil:
		case i < len(a.prefix):
			set = include(set, a.prefix[i])
		case a.items != nil:
			set = include(set, a.items)
		}
	}
	return set
}

// include adds s to a set unless s plainly accepts everything.
func include(set []*schema, s *schema) []*schema {
	if s.isTrue() || slices.Contains(set, s) {
		return set
	}
	return append(set, s)
}

// itemsOf returns the bounds of the number of items that atoms allow together, and the
// length of their longest prefix.
func itemsOf(atoms []*schema) (least, most, longest int) {
	most = -1
	for _, s := range atoms {
		if a := s.array; a != nil {
			least, most, longest = max(least, a.min), lesser(most, a.max), max(longest, len(a.prefix))
		}
	}
	return least, most, longest
}

// arrayRule returns the rule of the arrays of a clause.
func (c *compiler) arrayRule(cl *clause) (pushdown.ID, error) {
	atoms, key := relevant('a', cl.atoms, func(s *schema) bool { return s.array != nil })
	least, most, _ := itemsOf(atoms)
	if id, ok := c.byAtoms[key]; ok {
		return id, nil
	}
	if most >= 0 && least > most {
		return never, nil
	}
	c.atFirst(atoms, "")
	if at := slices.IndexFunc(atoms, func(s *schema) bool { return s.array.unique }); at >= 0 {
		c.at(atoms[at], "uniqueItems")
	}
	if most != 0 && slices.ContainsFunc(atoms, func(s *schema) bool { return s.array.counts() }) {
		return c.countingRule(atoms, key)
	}
	a := &pushdown.Array{Items: -1, Min: least, Max: most}
	id, err := c.newRule(pushdown.Rule{Array: a}, 1)
	if err != nil {
		return never, err
	}
	c.byAtoms[key] = id
	c.queue = append(c.queue, func() error { return c.arrayBody(a, atoms) })
	return id, nil
}

// relevant returns the atoms that constrain a type of values, and their key.
func relevant(of byte, atoms []*schema, about func(*schema) bool) (list []*schema, key string) {
	for _, s := range atoms {
		if about(s) {
			list = append(list, s)
		}
	}
	return list, string(of) + keyOf(list)
}

// arrayBody writes the items of an array.
func (c *compiler) arrayBody(a *pushdown.Array, atoms []*schema) error {
	c.atFirst(atoms, "items")
	_, _, longest := itemsOf(atoms)
	if a.Max >= 0 {
		longest = min(longest, a.Max)
	}
	others, err := c.otherThan(a, atoms, longest)
	if err != nil {
		return err
	}
	for i := range longest {
		if err := c.step(len(atoms)); err != nil {
			return err
		}
		set := itemSet(atoms, i)
		for _, s := range others[min(i+1, len(others)):] {
			set = include(set, s)
		}
		id, err := c.rule(set)
		if err != nil {
			return err
		}
		a.Prefix = append(a.Prefix, id)
	}
	if c.sizes += longest; a.Max < 0 || a.Max > longest {
		set := itemSet(atoms, longest)
		id, err := c.rule(set)
		if err != nil {
			return err
		}
		if a.Items = id; id == never {
			a.Items = -1
		}
	}
	if a.Items < 0 {
		a.Max = lesser(a.Max, len(a.Prefix))
	}
	return supportedArray(a, atoms)
}

// otherThan returns, by item of a unique array that must be a constant, the schema of all other
// values, which the items before it must have; true for the items that may be several values.
func (c *compiler) otherThan(a *pushdown.Array, atoms []*schema, longest int) (list []*schema, err error) {
	if !slices.ContainsFunc(atoms, func(s *schema) bool { return s.array.unique }) {
		return nil, nil
	}
	for i := range min(a.Min, longest) {
		set, other := itemSet(atoms, i), c.anything
		for _, s := range set {
			if err := c.read(s); err != nil {
				return nil, err
			}
			if len(s.enums) == 1 && len(s.enums[0]) == 1 {
				constant := c.derive(s.node)
				constant.enums = s.enums
				other = c.negated(s.node, constant)
			}
		}
		list = append(list, other)
	}
	return list, nil
}

// maxUnique is the largest minItems of an array with unique items.
const maxUnique = pushdown.MaxUnique

// supportedArray refuses combinations of array keywords that are not supported.
func supportedArray(a *pushdown.Array, atoms []*schema) error {
	for _, s := range atoms {
		f := s.array
		if f.unique && a.Min > maxUnique {
			return s.refuse("uniqueItems", "at most %d different items can be required", maxUnique)
		}
		if f.contains != nil && f.minMatches > 0 && a.Max == 0 {
			a.Min = 1 // an empty array contains nothing
		}
		a.Unique = a.Unique || f.unique && (a.Max < 0 || a.Max > 1)
	}
	return nil
}
