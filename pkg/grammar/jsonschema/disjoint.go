package jsonschema

import "slices"

// maxProof bounds the depth of values to which a proof of emptiness descends.
const maxProof = 8

// exclusive turns a choice of exactly one alternative into a choice of any: it adds to each
// alternative the negations of those from which it is not provably disjoint. The reasons
// are the errors of unsupported negations.
func (c *compiler) exclusive(cl *clause, ch choice) (lists [][]*schema, reasons []error, err error) {
	ways := make([][]*clause, len(ch.lists))
	base := cl.clone()
	base.pending, base.partial = nil, true
	for i, list := range ch.lists {
		way, err := c.with(base, list)
		if err != nil {
			return nil, nil, err
		}
		if ways[i], err = c.split(nil, way, 0, all); err == errWays {
			ways[i] = []*clause{way} // choices are ignored
		} else if err != nil {
			return nil, nil, err
		}
	}
	overlap, err := c.overlaps(ways)
	if err != nil {
		return nil, nil, err
	}
	for i, list := range ch.lists {
		if len(ways[i]) == 0 {
			continue
		}
		var reason error
		list = slices.Clip(list)
		for _, m := range overlap[i] {
			list = append(list, c.unless(m.types, ch.of.node, ch.lists[m.with]))
			if reason == nil {
				reason = ch.of.refuse(ch.keyword, "%s and %s may both match, which cannot be ruled out",
					ch.lists[min(i, m.with)][0].node.pointer(), ch.lists[max(i, m.with)][0].node.pointer())
			}
		}
		lists, reasons = append(lists, list), append(reasons, reason)
	}
	return lists, reasons, nil
}

// unless returns a schema that holds where other does not, and for values of all types
// outside both.
func (c *compiler) unless(both types, from *value, other []*schema) *schema {
	not := c.negated(from, other...)
	not.excludes = true
	if both == everyType {
		return not
	}
	free, bound, s := c.derive(from), c.derive(from), c.derive(from)
	free.types, bound.types = everyType&^both, both
	s.choices = []choice{{of: s, keyword: "oneOf", lists: [][]*schema{{free}, {bound, not}}}}
	return s
}

// An overlapping is an overlap with another list of clauses: its index and the types of values
// that may be in both.
type overlapping struct {
	with  int
	types types
}

// overlaps returns, for each list of clauses, the other lists from which it is not provably
// disjoint, in order.
func (c *compiler) overlaps(ways [][]*clause) ([][]overlapping, error) {
	table := make([][]overlapping, len(ways))
	s := c.newSieve(ways)
	for i := range ways {
		near, err := s.near(i)
		if err != nil {
			return nil, err
		}
		for _, j := range near {
			of := c.overlap(ways[j], ways[i])
			if err := c.step(1); err != nil { // an interrupted proof proves nothing
				return nil, err
			}
			if of != 0 {
				table[i], table[j] = append(table[i], overlapping{j, of}), append(table[j], overlapping{i, of})
			}
		}
	}
	return table, nil
}

func (c *compiler) overlap(a, b []*clause) (of types) {
	for _, x := range a {
		for _, y := range b {
			if x.types&y.types == 0 {
				continue
			}
			if c.step(16+len(x.atoms)+len(y.atoms)) != nil {
				return everyType // the caller sees it too
			}
			both := x.clone()
			both.types &= y.types
			for _, s := range y.atoms {
				if !slices.Contains(both.atoms, s) {
					both.atoms = append(both.atoms, s)
				}
			}
			of |= c.possibleTypes(both, maxProof)
		}
	}
	return of
}

// clash reports whether a quick check shows that no value is in a clause.
func (c *compiler) clash(cl *clause) (bool, error) {
	if cl.dead || cl.types == 0 {
		return true, nil
	}
	if cl.types != objectType {
		return false, nil
	}
	for _, s := range cl.atoms {
		if s.object == nil {
			continue
		}
		looks := len(s.object.required) * len(cl.atoms)
		if err := c.spend(stepSteps*looks, 8*looks); err != nil {
			return false, err
		}
		for _, name := range s.object.required {
			if set, err := c.member(cl.atoms, name); err != nil || forbids(set) || c.contradicts(set) {
				return true, err
			}
		}
	}
	return false, nil
}

// contradicts reports whether the types and enumerations of a set exclude every value.
func (c *compiler) contradicts(set []*schema) bool {
	if len(set) < 2 {
		return false
	}
	key := keyOf(set)
	is, ok := c.clashes[key]
	if ok {
		return is
	}
	c.clashes[key] = false // ends recursion
	if c.checkAll(set, 0) != nil {
		return false
	}
	cl, err := c.conjunction(set)
	if err != nil {
		return false
	}
	list, listed, err := c.candidates(cl)
	is = err == nil && (cl.dead || cl.types == 0 || listed && len(list) == 0)
	c.clashes[key] = is
	return is
}

func forbids(set []*schema) bool { return slices.ContainsFunc(set, (*schema).isFalse) }

// emptySet reports whether provably no value holds for all of a set.
func (c *compiler) emptySet(set []*schema, depth int) bool {
	if len(set) == 0 || depth == 0 {
		return false
	}
	key := keyOf(set)
	empty, ok := c.empty[key]
	if ok {
		return empty
	}
	c.empty[key] = false // ends recursion
	list, err := c.clauses(set)
	if err != nil {
		return false
	}
	empty = !slices.ContainsFunc(list, func(cl *clause) bool { return c.possibleTypes(cl, depth-1) != 0 })
	c.empty[key] = empty
	return empty
}

// possibleTypes returns the types of a clause without choices, without those of which there is
// provably no value.
func (c *compiler) possibleTypes(cl *clause, depth int) types {
	if cl.dead || cl.types == 0 {
		return 0
	}
	if c.step(len(cl.atoms)) != nil {
		return cl.types
	}
	if list, ok, err := c.candidates(cl); err != nil {
		return cl.types
	} else if ok {
		var of types
		for _, v := range list {
			of |= c.typeOf(v)
		}
		return of
	}
	of := cl.types
	if of&numberType != 0 && numbersOf(cl).empty(of&fractionType == 0) {
		of &^= numberType
	}
	if of&stringType != 0 {
		if t, err := c.stringText(cl, false); err == nil && c.none(t) {
			of &^= stringType
		}
	}
	if of&arrayType != 0 && c.emptyArray(cl, depth) {
		of &^= arrayType
	}
	if of&objectType != 0 && c.emptyObject(cl, depth) {
		of &^= objectType
	}
	return of
}

func (c *compiler) emptyArray(cl *clause, depth int) bool {
	least, most, longest := itemsOf(cl.atoms)
	if most >= 0 && least > most {
		return true
	}
	for i := range min(least, longest+1) {
		if set := itemSet(cl.atoms, i); forbids(set) || c.emptySet(set, depth) {
			return true
		}
	}
	return false
}

func (c *compiler) emptyObject(cl *clause, depth int) bool {
	required, _, most := membersOf(cl.atoms)
	if most >= 0 && len(required) > most {
		return true
	}
	for _, name := range required {
		set, err := c.member(cl.atoms, name)
		if err != nil || c.step(len(cl.atoms)) != nil {
			return false
		}
		if forbids(set) || c.emptySet(set, depth) {
			return true
		}
	}
	return false
}

// lesser returns the lesser of two bounds; -1 is no bound.
func lesser(a, b int) int {
	if a < 0 || b >= 0 && b < a {
		return b
	}
	return a
}
