package jsonschema

import (
	"errors"
	"slices"
)

const (
	maxClauses  = 1 << 14 // ways in which one value can be valid
	maxHolding  = 1 << 18 // schemas in all of them together
	someClauses = 512     // ways that are kept if there are more than maxClauses
	someHolding = 1 << 14 // schemas in all kept ways together
	maxTogether = 2048    // schemas of one way
	maxInPlace  = 1000    // length of a chain of in-place applicators
)

// A clause is a conjunction of schemas, including those that they apply to the same value
// by allOf, $ref and not; pending holds the open choices.
type clause struct {
	types   types
	dead    bool      // no value
	seen    []*schema // all
	atoms   []*schema // those with keywords of their own
	pending []choice
	because error     // why an alternative was negated
	denied  []*schema // those that do not hold
	open    []*schema // those with unevaluatedProperties or unevaluatedItems
	partial bool      // more schemas hold than it contains: open is ignored
}

func (cl *clause) clone() *clause {
	n := *cl
	n.seen, n.atoms, n.pending = slices.Clip(n.seen), slices.Clip(n.atoms), slices.Clip(n.pending)
	n.denied, n.open = slices.Clip(n.denied), slices.Clip(n.open)
	return &n
}

// check reads s and the schemas that it applies to the same value, and returns an error if
// s is one of them.
func (c *compiler) check(s *schema, depth int) error {
	if s.mark == sound {
		return nil
	}
	if s.mark == open {
		return s.refuse("$ref", "infinite recursion: the schema applies to the same value again")
	}
	if depth > maxInPlace {
		return s.refuse("$ref", "a chain of more than %d schemas applies to one value", maxInPlace)
	}
	if err := c.read(s); err != nil {
		return err
	}
	s.mark = open
	if err := c.checkAll(s.all, depth); err != nil {
		return err
	}
	if err := c.checkAll(s.none, depth); err != nil {
		return err
	}
	for _, ch := range s.choices {
		for _, list := range ch.lists {
			if err := c.checkAll(list, depth); err != nil {
				return err
			}
		}
	}
	s.mark = sound
	return nil
}

func (c *compiler) checkAll(list []*schema, depth int) error {
	for _, s := range list {
		if err := c.check(s, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// conjunction returns the clause of a set of schemas, with its choices pending.
func (c *compiler) conjunction(set []*schema) (*clause, error) {
	return c.with(&clause{types: everyType}, set)
}

// add adds a checked schema to a clause.
func (c *compiler) add(cl *clause, s *schema) error {
	if slices.Contains(cl.seen, s) {
		return nil
	}
	if len(cl.seen) == maxTogether {
		return s.refuse("allOf", "more than %d schemas apply together", maxTogether)
	}
	if err := c.step(1 + len(cl.seen)/16); err != nil {
		return err
	}
	cl.seen = append(cl.seen, s)
	cl.types &= s.types
	if s.never || cl.types == 0 || slices.Contains(cl.denied, s) {
		cl.dead = true
		return nil
	}
	if s.plain() {
		cl.atoms = append(cl.atoms, s)
	}
	if s.asksRest() {
		cl.open = append(cl.open, s)
	}
	for _, t := range s.all {
		if err := c.add(cl, t); err != nil {
			return err
		}
	}
	for _, t := range s.none {
		if cl.denied = append(cl.denied, t); slices.Contains(cl.seen, t) {
			cl.dead = true
			return nil
		}
		n, err := c.negation(t, s.excludes)
		if err != nil {
			return err
		}
		if err := c.add(cl, n); err != nil {
			return err
		}
	}
	cl.pending = append(cl.pending, s.choices...)
	return nil
}

// clauses returns the disjunctive normal form of a set of schemas: a value is valid if one
// of the clauses, which have no choices, holds.
func (c *compiler) clauses(set []*schema) ([]*clause, error) {
	cl, err := c.conjunction(set)
	if err != nil {
		return nil, err
	}
	return c.split(nil, cl, 0, all)
}

const all = -1 // ways, not some of them

// errWays is the error of more ways than maxClauses or maxHolding allow.
var errWays = errors.New("there are too many ways in which the value can be valid")

// someWays returns the ways in which a clause holds: all of them or, if there are too many,
// at most someClauses, some of each alternative. The program leaves out the other ways.
func (c *compiler) someWays(cl *clause) ([]*clause, error) {
	list, err := c.split(nil, cl, 0, all)
	if err == errWays {
		c.narrowed = cl.seen[0].refuse("anyOf", "%v", err)
		list, err = c.split(nil, cl, 0, max(1, min(someClauses, someHolding/(len(cl.seen)+len(cl.pending)))))
	}
	return list, err
}

// split resolves the choices of a clause and appends the resulting ways to list: all of
// them, or at most room.
func (c *compiler) split(list []*clause, cl *clause, depth, room int) ([]*clause, error) {
	if depth > maxInPlace {
		return nil, cl.seen[0].refuse("anyOf", "more than %d choices apply together", maxInPlace)
	}
	if dead, err := c.clash(cl); dead || err != nil {
		return list, err
	}
	cl, err := c.skip(cl)
	if err != nil {
		return nil, err
	}
	if len(cl.pending) == 0 {
		if len(cl.open) > 0 && !cl.partial {
			closed, err := c.close(cl)
			if err != nil {
				return nil, err
			}
			return c.split(list, closed, depth, room)
		}
		if ch, ok, err := c.memberChoice(cl); err != nil {
			return nil, err
		} else if ok {
			cl.pending = []choice{ch}
			return c.split(list, cl, depth+1, room)
		}
		if room == all && (len(list) == maxClauses || len(list)*len(cl.seen) > maxHolding) {
			return nil, errWays
		}
		return append(list, cl), nil
	}
	ch := cl.pending[0]
	c.at(ch.of, ch.keyword)
	if err := c.step(1 + len(ch.lists)/4); err != nil {
		return nil, err
	}
	rest := cl.clone()
	rest.pending = rest.pending[1:]
	matters, err := c.matters(cl, &ch)
	if err != nil {
		return nil, err
	}
	if !matters && !ch.exclusive && slices.ContainsFunc(ch.lists, cl.holds) {
		return c.split(list, rest, depth+1, room)
	}
	lists, reasons, besides := ch.lists, []error(nil), [][]choice(nil)
	switch {
	case matters:
		lists, besides = cl.alternatives(&ch)
	case ch.exclusive:
		if lists, reasons, err = c.exclusive(rest, ch); err != nil {
			return nil, err
		}
	}
	for i, alternative := range lists {
		share, before := room, len(list)
		if room != all {
			share = (room + len(lists) - i - 1) / (len(lists) - i)
		}
		if share == 0 {
			break
		}
		way, err := c.with(rest, alternative)
		if err != nil {
			return nil, err
		}
		if reasons != nil && reasons[i] != nil {
			way.because = reasons[i]
		}
		if besides != nil {
			way.pending = append(way.pending, besides[i]...)
		}
		if list, err = c.split(list, way, depth+1, share); err != nil {
			return nil, err
		}
		if room != all {
			room -= len(list) - before
		}
	}
	return list, nil
}

// with returns a copy of a clause with a list of schemas added.
func (c *compiler) with(cl *clause, list []*schema) (*clause, error) {
	way := cl.clone()
	if err := c.spend(8, 256+8*(2*len(cl.seen)+len(cl.atoms)+6*len(cl.pending))); err != nil {
		return nil, err
	}
	for _, s := range list {
		if err := c.check(s, 0); err != nil {
			return nil, err
		}
		if err := c.add(way, s); err != nil {
			return nil, err
		}
	}
	return way, nil
}

// holds reports whether each schema of list is in the clause or accepts everything.
func (cl *clause) holds(list []*schema) bool {
	for _, s := range list {
		if !slices.Contains(cl.seen, s) && !(s.read && s.empty()) {
			return false
		}
	}
	return true
}
