package jsonschema

import (
	"math/big"
	"slices"

	"glossa/pkg/grammar/fault"
)

// maxExclusive bounds the alternatives of a negated oneOf.
const maxExclusive = 32

// negation returns a schema that holds where s does not: at least one keyword of s fails.
// For a keyword without a supported negation, the result refuses the values that the keyword
// may constrain. If the negation excludes an alternative of a oneOf, such ways may be left
// out.
func (c *compiler) negation(s *schema, excludes bool) (*schema, error) {
	if !excludes && s.opposite != nil {
		return s.opposite, nil
	}
	if excludes && s.exclusion != nil {
		return s.exclusion, nil
	}
	if err := c.read(s); err != nil {
		return nil, err
	}
	n := negator{c: c, of: s, excludes: excludes}
	if s.never {
		n.add(c.derive(s.node))
	}
	if s.types != everyType {
		n.addFor(everyType&^s.types, func(*schema) {})
	}
	for _, list := range s.enums {
		n.add(n.c.noneOf(s, list)...)
	}
	if s.not != nil {
		n.addFor(everyType, func(t *schema) { t.enums = [][]*value{s.not} })
	}
	if s.formats != nil && s.types&stringType != 0 {
		n.addFor(stringType, func(t *schema) { t.refused, t.excludes = s.unasserted(), excludes })
	}
	n.numbers(s.number)
	n.strings(s.text)
	n.arrays(s.array)
	n.objects(s.object)
	for _, t := range s.all {
		n.add(n.negated(s.node, t))
	}
	for _, t := range s.none {
		n.add(t)
	}
	for _, ch := range s.choices {
		if ch.optional {
			continue
		}
		if err := n.choice(ch); err != nil {
			return nil, err
		}
	}
	if err := n.rest(); err != nil {
		return nil, err
	}
	return n.result()
}

// noneOf returns schemas that together hold for the values that are not in list.
func (c *compiler) noneOf(s *schema, list []*value) []*schema {
	scalars := c.derive(s.node)
	all := []*schema{scalars}
	for _, v := range list {
		if v.kind == arrayKind || v.kind == objectKind {
			all = append(all, c.negated(s.node, c.same(s, v)))
		} else {
			scalars.not = append(scalars.not, v)
		}
	}
	return all
}

// same returns a schema that holds for the values equal to v.
func (c *compiler) same(s *schema, v *value) *schema {
	t := c.derive(s.node)
	var items []*schema
	if v.kind == arrayKind || v.kind == objectKind {
		for _, item := range v.items {
			items = append(items, c.same(s, item))
		}
	}
	switch v.kind {
	case arrayKind:
		t.types, t.array = arrayType, newArray()
		t.array.prefix, t.array.min, t.array.max = items, len(items), len(items)
	case objectKind:
		t.types, t.object = objectType, newObject()
		t.object.names, t.object.required, t.object.properties = v.keys, v.keys, items
		t.object.index, t.object.max = v.index, len(items)
	default:
		t.enums = [][]*value{{v}}
	}
	return t
}

// A negator collects the ways in which a schema does not hold.
type negator struct {
	c        *compiler
	of       *schema
	excludes bool // an alternative of a oneOf
	ways     [][]*schema
}

// negated returns a schema that holds where s does not.
func (n *negator) negated(from *value, s ...*schema) *schema {
	if len(s) == 1 && s[0].isFalse() {
		return n.c.anything
	}
	t := n.c.negated(from, s...)
	t.excludes = n.excludes
	return t
}

// add adds a way: all of list hold.
func (n *negator) add(list ...*schema) { n.ways = append(n.ways, list) }

// addFor adds a way of one schema, for values of some types.
func (n *negator) addFor(of types, set func(*schema)) {
	t := n.c.derive(n.of.node)
	t.types = of
	set(t)
	n.add(t)
}

// refuse adds a way that is not supported.
func (n *negator) refuse(of types, keyword string) {
	n.addFor(of, func(t *schema) {
		t.excludes = n.excludes
		t.refused = fault.New(n.of.node.pointer(), keyword, "its negation is required here (by not, if or oneOf), which is not supported")
	})
}

// unasserted returns the error of a schema that depends on a format of s that only annotates.
func (s *schema) unasserted() *fault.Error {
	return fault.New(s.node.pointer(), "format", "%q is not enforced, but it would have to be here (under not, if or oneOf)", s.formats[0])
}

// result returns and caches the choice of the ways. Its opposite is the schema itself.
func (n *negator) result() (*schema, error) {
	var s *schema
	switch {
	case len(n.ways) == 1 && len(n.ways[0]) == 1:
		s = n.ways[0][0]
	case len(n.ways) == 0:
		s = n.c.nothing
	default:
		s = n.c.derive(n.of.node)
		s.choices = []choice{{of: n.of, keyword: "not", lists: n.ways}}
		s.opposite, s.exclusion = n.of, n.of
	}
	if n.excludes {
		n.of.exclusion = s
	} else {
		n.of.opposite = s
	}
	return s, n.c.check(s, 0)
}

// choice adds the ways in which a choice fails: no alternative holds or, in an exclusive
// choice, two of them do.
func (n *negator) choice(ch choice) error {
	var none []*schema
	for _, list := range ch.lists {
		none = append(none, n.negated(n.of.node, list...))
	}
	n.add(none...)
	if !ch.exclusive {
		return nil
	}
	if len(ch.lists) > maxExclusive {
		return n.of.refuse(ch.keyword, "its negation is required, but it has more than %d alternatives", maxExclusive)
	}
	for i, a := range ch.lists {
		for _, b := range ch.lists[:i] {
			n.add(append(append([]*schema(nil), b...), a...)...)
		}
	}
	return nil
}

func (n *negator) numbers(f *numberFacts) {
	if f == nil {
		return
	}
	if f.min != nil {
		n.addFor(numberType, func(t *schema) { t.number = &numberFacts{max: f.min, openMax: !f.openMin} })
	}
	if f.max != nil {
		n.addFor(numberType, func(t *schema) { t.number = &numberFacts{min: f.max, openMin: !f.openMax} })
	}
	for _, m := range f.multiples {
		n.addFor(numberType, func(t *schema) { t.number = &numberFacts{others: []*big.Rat{m}} })
	}
	for _, m := range f.others {
		n.addFor(numberType, func(t *schema) { t.number = &numberFacts{multiples: []*big.Rat{m}} })
	}
}

func (n *negator) strings(f *stringFacts) {
	if f == nil {
		return
	}
	if f.min > 0 {
		n.addFor(stringType, func(t *schema) { t.text = &stringFacts{max: f.min - 1} })
	}
	if f.max >= 0 {
		n.addFor(stringType, func(t *schema) { t.text = &stringFacts{min: f.max + 1, max: -1} })
	}
	for _, l := range f.matches {
		n.addFor(stringType, func(t *schema) { t.text = &stringFacts{max: -1, differs: []language{l}} })
	}
	for _, l := range f.differs {
		n.addFor(stringType, func(t *schema) { t.text = &stringFacts{max: -1, matches: []language{l}} })
	}
}

// array adds a way of arrays with other facts.
func (n *negator) array(set func(*arrayFacts)) {
	n.addFor(arrayType, func(t *schema) {
		t.array = newArray()
		set(t.array)
	})
}

func (n *negator) arrays(f *arrayFacts) {
	if f == nil {
		return
	}
	if f.min > 0 {
		n.array(func(a *arrayFacts) { a.max = f.min - 1 })
	}
	if f.max >= 0 {
		n.array(func(a *arrayFacts) { a.min = f.max + 1 })
	}
	prefix := f.prefix
	if len(prefix) > maxExclusive {
		n.refuse(arrayType, "prefixItems")
		prefix = nil
	}
	for i, item := range prefix {
		n.array(func(a *arrayFacts) {
			a.min = i + 1
			for range i {
				a.prefix = append(a.prefix, n.c.anything)
			}
			a.prefix = append(a.prefix, n.negated(n.of.node, item))
		})
	}
	switch {
	case f.items == nil || f.items.isTrue():
	case f.items.isFalse():
		n.array(func(a *arrayFacts) { a.min = len(f.prefix) + 1 })
	default:
		n.array(func(a *arrayFacts) { a.contains, a.from = n.negated(n.of.node, f.items), len(f.prefix) })
	}
	if f.contains != nil && f.minMatches == 1 && f.from == 0 {
		n.array(func(a *arrayFacts) { a.items = n.negated(n.of.node, f.contains) })
	} else if f.contains != nil && f.minMatches > 0 {
		n.array(func(a *arrayFacts) {
			a.contains, a.from, a.minMatches, a.maxMatch = f.contains, f.from, 0, f.minMatches-1
		})
	}
	if f.contains != nil && f.maxMatch >= 0 {
		n.array(func(a *arrayFacts) { a.contains, a.from, a.minMatches = f.contains, f.from, f.maxMatch+1 })
	}
	if f.unique {
		n.refuse(arrayType, "uniqueItems")
	}
}

// object adds a way of objects with other facts.
func (n *negator) object(set func(*objectFacts)) {
	n.addFor(objectType, func(t *schema) {
		t.object = newObject()
		set(t.object)
	})
}

func (n *negator) objects(f *objectFacts) {
	if f == nil {
		return
	}
	if f.min > 0 {
		n.object(func(o *objectFacts) { o.max = f.min - 1 })
	}
	if f.max >= 0 {
		n.object(func(o *objectFacts) { o.min = f.max + 1 })
	}
	for _, name := range f.required {
		n.object(func(o *objectFacts) { o.names, o.properties = []string{name}, []*schema{n.c.nothing} })
	}
	for i, name := range f.names {
		if f.properties[i].isTrue() {
			continue
		}
		n.object(func(o *objectFacts) {
			o.names, o.required = []string{name}, []string{name}
			o.properties = []*schema{n.negated(n.of.node, f.properties[i])}
		})
	}
	for _, p := range f.patterns {
		if p.value.isTrue() {
			continue
		}
		key := n.c.derive(n.of.node)
		key.text = &stringFacts{max: -1, matches: []language{{p.text, false}}}
		n.member("patternProperties", key, n.negated(n.of.node, p.value))
	}
	if f.others != nil && !f.others.isTrue() {
		key := n.c.derive(n.of.node)
		if len(f.patterns) > 0 {
			key.text = &stringFacts{max: -1}
		}
		for _, p := range f.patterns {
			key.text.differs = append(key.text.differs, language{p.text, false})
		}
		for _, name := range f.names {
			key.not = append(key.not, &value{kind: stringKind, text: name})
		}
		n.member("additionalProperties", key, n.negated(n.of.node, f.others))
	}
	if f.keys != nil {
		n.member("propertyNames", n.negated(n.of.node, f.keys), n.c.anything)
	}
}

// member adds a way of objects that have a member for which key and value hold.
func (n *negator) member(keyword string, key, value *schema) {
	n.addFor(objectType, func(t *schema) {
		t.some = &member{keyword: keyword, key: key, value: value, made: map[string]*schema{}, shared: map[*member]*schema{}}
	})
}

// memberChoice turns the first schema of a clause that asks for some member into a choice: of
// the declared members, and of an undeclared one. ok is false without such a schema.
func (c *compiler) memberChoice(cl *clause) (ch choice, ok bool, err error) {
	at := slices.IndexFunc(cl.atoms, func(s *schema) bool { return s.some != nil })
	if at < 0 || cl.types&objectType == 0 {
		return ch, false, nil
	}
	if err := c.declare(cl); err != nil {
		return ch, false, err
	}
	s := cl.atoms[at]
	m := s.some
	ch = choice{of: s, keyword: m.keyword}
	if ok, err := c.guarantees(cl, m); ok || err != nil {
		cl.atoms = slices.Concat(cl.atoms[:at], cl.atoms[at+1:])
		return choice{of: s, keyword: m.keyword, lists: [][]*schema{nil}}, ok, err
	}
	closed := slices.ContainsFunc(cl.atoms, func(s *schema) bool {
		return s.object != nil && s.object.others != nil && s.object.others.isFalse() && s.object.patterns == nil
	})
	for _, name := range declaredBy(cl.atoms) {
		if err := c.step(1); err != nil {
			return ch, false, err
		}
		if ok, err := c.valid(&value{kind: stringKind, text: name}, m.key); err != nil {
			return ch, false, err
		} else if !ok {
			continue
		}
		t := m.made[name]
		if t == nil {
			t = c.derive(s.node)
			t.object = newObject()
			t.object.names, t.object.properties, t.object.required = []string{name}, []*schema{m.value}, []string{name}
			m.made[name] = t
		}
		ch.lists = append(ch.lists, []*schema{t})
	}
	if m.free == nil {
		m.free = c.derive(s.node)
		m.free.types, m.free.object = objectType, newObject()
		m.free.object.lead = m
	}
	if !closed {
		for _, a := range cl.atoms {
			if a.object != nil && a.object.lead != nil && a.object.with == nil {
				ch.lists = append(ch.lists, []*schema{c.share(s, a.object.lead)})
			}
		}
		ch.lists = append(ch.lists, []*schema{m.free})
	}
	cl.atoms = slices.Concat(cl.atoms[:at], cl.atoms[at+1:])
	return ch, true, nil
}

// guarantees reports whether a quick check shows that each object of a clause satisfies m: by a
// required member, or by an undeclared one that the clause asks for already.
func (c *compiler) guarantees(cl *clause, m *member) (bool, error) {
	if !m.value.isTrue() {
		return false, nil
	}
	for _, name := range requiredOf(cl) {
		if err := c.step(1); err != nil {
			return false, err
		}
		if ok, err := c.valid(&value{kind: stringKind, text: name}, m.key); ok || err != nil {
			return ok, err
		}
	}
	return m.plain() && m.declares != nil && slices.Contains(cl.atoms, m.declares) && len(leadsOf(cl.atoms)) > 0, nil
}

// plain reports whether m asks for any member whose name is not in a list.
func (m *member) plain() bool {
	return m.value.isTrue() && m.key.text == nil && m.key.none == nil && m.key.not != nil
}

// declare makes a clause that asks for several members declare the names that these must not
// have. Then one undeclared member satisfies all plain requests.
func (c *compiler) declare(cl *clause) error {
	var plain []*schema
	asking := 0
	for _, s := range cl.atoms {
		if s.some != nil {
			asking++
		}
		if s.some != nil && s.some.plain() {
			plain = append(plain, s)
		}
	}
	if asking < 2 {
		return nil
	}
	for _, s := range plain {
		m := s.some
		if m.declares == nil {
			m.declares = c.derive(s.node)
			m.declares.object = newObject()
			for _, v := range m.key.not {
				m.declares.object.names = append(m.declares.object.names, v.text)
			}
			m.declares.object.properties = slices.Repeat([]*schema{c.anything}, len(m.key.not))
		}
		if err := c.add(cl, m.declares); err != nil {
			return err
		}
	}
	return c.step(1 + len(cl.atoms))
}

// share returns a schema of objects in which one undeclared member satisfies both s and
// other.
func (c *compiler) share(s *schema, other *member) *schema {
	m := s.some
	t := m.shared[other]
	if t == nil {
		t = c.derive(s.node)
		t.types, t.object = objectType, newObject()
		t.object.lead, t.object.with = m, other
		m.shared[other] = t
	}
	return t
}

// declaredBy lists the names that atoms declare or require.
func declaredBy(atoms []*schema) []string {
	var of distinct
	for _, s := range atoms {
		if s.object != nil {
			of.add(s.object.names)
			of.add(s.object.required)
		}
	}
	return of.names
}
