package jsonschema

import (
	"encoding/binary"
	"slices"
)

// The keywords of a schema evaluate members and items of a value. So do the schemas that it
// applies to the same value, if they hold. unevaluatedProperties and unevaluatedItems apply
// to the other members and items. More schemas evaluate more: a value that is valid with
// a subset of the schemas that hold is valid with all of them. So clauses need not list the
// schemas that fail.

// evaluating is the state of the search whether a schema evaluates members or items.
type evaluating uint8

const (
	unasked evaluating = iota
	evaluatesNothing
	evaluatesSome
)

// evaluates reports whether the checked schema s may evaluate members or items.
func (s *schema) evaluates() bool {
	if s.evaluate == unasked {
		if s.evaluate = evaluatesNothing; s.object.evaluates() || s.array.evaluates() || anyEvaluates(s.all) {
			s.evaluate = evaluatesSome
		}
		for _, ch := range s.choices {
			if !ch.silent && slices.ContainsFunc(ch.lists, anyEvaluates) {
				s.evaluate = evaluatesSome
			}
		}
	}
	return s.evaluate == evaluatesSome
}

func anyEvaluates(list []*schema) bool { return slices.ContainsFunc(list, (*schema).evaluates) }

func (o *objectFacts) evaluates() bool {
	return o != nil && (o.names != nil || o.patterns != nil || o.others != nil || o.rest != nil)
}

func (a *arrayFacts) evaluates() bool {
	return a != nil && (a.prefix != nil || a.items != nil || a.contains != nil || a.rest != nil)
}

// asksRest reports whether s constrains unevaluated members or items.
func (s *schema) asksRest() bool {
	return s.object != nil && s.object.rest != nil && !s.object.rest.isTrue() ||
		s.array != nil && s.array.rest != nil && !s.array.rest.isTrue()
}

// evaluators lists the schemas that evaluate for s, given the schemas that hold: s, the
// schemas that it applies to the same value, and so on.
func (c *compiler) evaluators(s *schema, holds func(list []*schema) bool) (list []*schema) {
	c.visits++
	now := c.visits
	var visit func(s *schema)
	visit = func(s *schema) {
		if s.visited == now || !s.evaluates() {
			return
		}
		s.visited = now
		list = append(list, s)
		for _, t := range s.all {
			visit(t)
		}
		for _, ch := range s.choices {
			for _, alternative := range ch.lists {
				if !ch.silent && holds(alternative) {
					for _, t := range alternative {
						visit(t)
					}
				}
			}
		}
	}
	visit(s)
	return list
}

// matters reports whether the unevaluated members and items of a clause depend on the lists
// of a choice that hold. Of an exclusive choice, and of if, exactly one holds anyway.
func (c *compiler) matters(cl *clause, ch *choice) (bool, error) {
	if len(cl.open) == 0 || cl.partial || ch.exclusive || ch.silent || ch.keyword == "if" && !ch.optional || !slices.ContainsFunc(ch.lists, anyEvaluates) {
		return false, nil
	}
	holds := c.holding(cl)
	for _, s := range cl.open {
		if err := c.step(1 + 2*len(cl.seen)); err != nil {
			return false, err
		}
		if slices.Contains(c.evaluators(s, holds), ch.of) {
			return true, nil
		}
	}
	return false, nil
}

// skip drops leading optional choices that do not matter.
func (c *compiler) skip(cl *clause) (*clause, error) {
	n := 0
	for n < len(cl.pending) && cl.pending[n].optional {
		matters, err := c.matters(cl, &cl.pending[n])
		if err != nil {
			return nil, err
		}
		if matters {
			break
		}
		n++
	}
	if n == 0 {
		return cl, nil
	}
	way := *cl
	way.pending = way.pending[n:]
	return &way, c.step(n)
}

// holding returns a faster version of holds, valid until the next call of holding.
func (c *compiler) holding(cl *clause) func(list []*schema) bool {
	c.visits++
	now := c.visits
	for _, s := range cl.seen {
		s.held = now
	}
	return func(list []*schema) bool {
		return !slices.ContainsFunc(list, func(s *schema) bool { return s.held != now && !(s.read && s.empty()) })
	}
}

// alternatives returns the ways to make a choice in which every list that holds matters.
// With each way it returns the lists that may hold too, as optional choices.
func (cl *clause) alternatives(ch *choice) (lists [][]*schema, besides [][]choice) {
	var more []choice
	held := ch.optional
	for _, list := range slices.Backward(ch.lists) {
		switch {
		case cl.holds(list):
			held = true
		case anyEvaluates(list):
			lists, besides = append(lists, list), append(besides, slices.Clip(more))
			more = append(more, choice{of: ch.of, keyword: ch.keyword, lists: [][]*schema{list}, optional: true})
		}
	}
	slices.Reverse(lists)
	slices.Reverse(besides)
	switch {
	case ch.optional:
		return append(lists, nil), append(besides, nil)
	case held:
		return [][]*schema{nil}, [][]choice{more}
	}
	for _, list := range ch.lists {
		if !anyEvaluates(list) {
			lists, besides = append(lists, list), append(besides, nil)
		}
	}
	return lists, besides
}

// close returns a clause without choices in which the constraints on unevaluated members and
// items apply to those that the schemas of the clause do not evaluate.
func (c *compiler) close(cl *clause) (*clause, error) {
	way := cl.clone()
	way.open = nil
	holds := c.holding(cl)
	for _, s := range cl.open {
		if err := c.step(1 + 2*len(cl.seen)); err != nil {
			return nil, err
		}
		left, err := c.leave(s, c.evaluators(s, holds))
		if err == nil {
			err = c.add(way, left)
		}
		if err != nil {
			return nil, err
		}
	}
	return way, nil
}

// leave applies the unevaluated keywords of s to the members and items that the schemas by,
// s first, do not evaluate. It caches its result.
func (c *compiler) leave(s *schema, by []*schema) (*schema, error) {
	key := string(binary.LittleEndian.AppendUint32(nil, uint32(s.id))) + keyOf(by)
	if t := c.closed[key]; t != nil {
		return t, nil
	}
	c.at(s, "")
	t := c.derive(s.node)
	c.closed[key] = t
	if o := s.object; o != nil && o.rest != nil {
		t.object = c.leaveMembers(s, by)
	}
	if a := s.array; a != nil && a.rest != nil {
		t.array = c.leaveItems(s, by)
	}
	size := 1
	if t.object != nil {
		size += len(t.object.names) + len(t.object.patterns)
	}
	return t, c.step(size)
}

// leaveMembers returns the constraints of s on members that some schemas do not evaluate,
// nil if they evaluate all.
func (c *compiler) leaveMembers(s *schema, by []*schema) *objectFacts {
	facts := newObject()
	facts.others = s.object.rest
	var names distinct
	for _, t := range by {
		o := t.object
		switch {
		case o == nil:
			continue
		case o.others != nil || t != s && o.rest != nil:
			return nil
		}
		names.add(o.names)
		for _, p := range o.patterns {
			facts.patterns = append(facts.patterns, pattern{p.text, c.anything})
		}
	}
	facts.names = names.names
	facts.properties = slices.Repeat([]*schema{c.anything}, len(facts.names))
	if len(facts.names) > few {
		facts.index = make(map[string]int, len(facts.names))
		for i, name := range facts.names {
			facts.index[name] = i
		}
	}
	return facts
}

// leaveItems returns the constraints of s on items that some schemas do not evaluate, nil
// if they evaluate all. From draft 2020-12 on, contains evaluates the items that match.
func (c *compiler) leaveItems(s *schema, by []*schema) *arrayFacts {
	facts := newArray()
	facts.items = s.array.rest
	ch := choice{of: s, keyword: "unevaluatedItems", lists: [][]*schema{{s.array.rest}}}
	longest := 0
	for _, t := range by {
		a := t.array
		switch {
		case a == nil:
			continue
		case a.items != nil || t != s && a.rest != nil:
			return nil
		case a.contains != nil && c.draft >= draft2020:
			ch.lists = append(ch.lists, []*schema{a.contains})
		}
		longest = max(longest, len(a.prefix))
	}
	facts.prefix = slices.Repeat([]*schema{c.anything}, longest)
	if len(ch.lists) > 1 {
		facts.items = c.derive(s.node)
		facts.items.choices = []choice{ch}
	}
	return facts
}

// maxDeciding bounds the alternatives that decide what is evaluated, in the negation of
// unevaluatedProperties or unevaluatedItems.
const maxDeciding = 5

// rest adds the ways in which the unevaluated keywords of the schema fail. There is one way
// for each set of alternatives: the other alternatives fail, and one member or item that the
// set does not evaluate is invalid.
func (n *negator) rest() error {
	s := n.of
	if !s.asksRest() {
		return nil
	}
	if err := n.c.check(s, 0); err != nil {
		return err
	}
	var unsettled [][]*schema
	for _, t := range n.c.evaluators(s, func([]*schema) bool { return true }) {
		for _, ch := range t.choices {
			for _, list := range ch.lists {
				if !ch.silent && anyEvaluates(list) {
					unsettled = append(unsettled, list)
				}
			}
		}
	}
	if len(unsettled) > maxDeciding {
		if s.object != nil && s.object.rest != nil {
			n.refuse(objectType, "unevaluatedProperties")
		}
		if s.array != nil && s.array.rest != nil {
			n.refuse(arrayType, "unevaluatedItems")
		}
		return nil
	}
	for which := range 1 << len(unsettled) {
		var way []*schema
		for i, list := range unsettled {
			if which>>i&1 == 0 {
				way = append(way, n.negated(s.node, list...))
			}
		}
		left, err := n.c.leave(s, n.c.evaluators(s, func(list []*schema) bool {
			at := slices.IndexFunc(unsettled, func(other []*schema) bool { return &other[0] == &list[0] })
			return at >= 0 && which>>at&1 != 0
		}))
		if err != nil {
			return err
		}
		if left.object != nil || left.array != nil {
			n.add(append(way, n.negated(s.node, left))...)
		}
	}
	return nil
}

// validRest reports whether the unevaluated members and items of v, which is valid
// otherwise, are valid for s.
func (c *compiler) validRest(v *value, s *schema) (bool, error) {
	rest := (*schema)(nil)
	if v.kind == objectKind && s.object != nil {
		rest = s.object.rest
	} else if v.kind == arrayKind && s.array != nil {
		rest = s.array.rest
	}
	if rest == nil || rest.isTrue() {
		return true, nil
	}
	e := evaluation{c: c, v: v, of: s, done: make([]bool, len(v.items))}
	if err := e.by(s); err != nil {
		return false, err
	}
	for i, item := range v.items {
		if e.done[i] {
			continue
		}
		if ok, err := c.valid(item, rest); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// An evaluation finds the members or items of a value that a schema evaluates.
type evaluation struct {
	c    *compiler
	v    *value
	of   *schema
	done []bool
}

// by records the evaluations of s, which holds, and of the schemas that it applies to the
// same value.
func (e *evaluation) by(s *schema) error {
	if err := e.c.step(1 + len(e.v.items)); err != nil || !s.evaluates() {
		return err
	}
	if err := e.plain(s); err != nil {
		return err
	}
	for _, t := range s.all {
		if err := e.by(t); err != nil {
			return err
		}
	}
	for _, ch := range s.choices {
		if ch.silent {
			continue
		}
		for _, list := range ch.lists {
			ok, err := e.c.validAll(e.v, list)
			for i := 0; ok && err == nil && i < len(list); i++ {
				err = e.by(list[i])
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// plain records the evaluations of the keywords of s itself.
func (e *evaluation) plain(s *schema) error {
	if o := s.object; e.v.kind == objectKind && o != nil {
		for i, name := range e.v.keys {
			if e.done[i] = e.done[i] || o.others != nil || s != e.of && o.rest != nil || o.property(name) != nil; e.done[i] {
				continue
			}
			named := schema{read: true, node: s.node, object: &objectFacts{patterns: o.patterns}}
			named.object.others = e.c.nothing
			set, err := e.c.member([]*schema{&named}, name)
			if err != nil {
				return err
			}
			e.done[i] = !slices.Contains(set, e.c.nothing)
		}
	}
	if a := s.array; e.v.kind == arrayKind && a != nil {
		for i, item := range e.v.items {
			e.done[i] = e.done[i] || i < len(a.prefix) || a.items != nil || s != e.of && a.rest != nil
			if !e.done[i] && a.contains != nil && e.c.draft >= draft2020 {
				var err error
				if e.done[i], err = e.c.valid(item, a.contains); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
