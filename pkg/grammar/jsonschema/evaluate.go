package jsonschema

import (
	"slices"
	"strings"
	"unicode/utf8"

	"glossa/pkg/grammar/automaton"
)

// canonical returns a text of v; equal values have equal texts.
func (c *compiler) canonical(v *value) (string, error) {
	if text, ok := c.texts[v]; ok {
		return text, nil
	}
	text, err := c.write(v)
	c.texts[v] = text
	return text, err
}

func (c *compiler) write(v *value) (string, error) {
	switch v.kind {
	case nullKind:
		return "null", nil
	case booleanKind:
		if v.yes {
			return "true", nil
		}
		return "false", nil
	case numberKind:
		r, err := v.rational()
		if err != nil {
			return "", err
		}
		return decimal(r), nil
	case stringKind:
		return automaton.Quote(v.text), nil
	}
	parts := make([]string, len(v.items))
	for i, item := range v.items {
		text, err := c.canonical(item)
		if err != nil {
			return "", err
		}
		if err := c.spend(len(text)/4, 2*len(text)); err != nil {
			return "", err
		}
		if parts[i] = text; v.kind == objectKind {
			parts[i] = automaton.Quote(v.keys[i]) + ":" + text
		}
	}
	if v.kind == objectKind {
		slices.Sort(parts)
		return "{" + strings.Join(parts, ",") + "}", nil
	}
	return "[" + strings.Join(parts, ",") + "]", nil
}

// A listKey identifies a list of values by its first place and its length: lists with the
// same first place differ in length.
type listKey struct {
	first *value
	n     int
}

// within reports whether v is one of list.
func (c *compiler) within(v *value, list []*value) (bool, error) {
	if len(list) == 0 {
		return false, nil
	}
	key := listKey{list[0], len(list)}
	set, ok := c.sets[key]
	if !ok {
		set = make(map[string]bool, len(list))
		for _, other := range list {
			text, err := c.canonical(other)
			if err != nil {
				return false, err
			}
			set[text] = true
		}
		c.sets[key] = set
	}
	text, err := c.canonical(v)
	return set[text], err
}

func (c *compiler) typeOf(v *value) types {
	switch v.kind {
	case nullKind:
		return nullType
	case booleanKind:
		return booleanType
	case stringKind:
		return stringType
	case arrayKind:
		return arrayType
	case objectKind:
		return objectType
	}
	if r, err := v.rational(); err == nil && r.IsInt() {
		return integerType
	}
	return fractionType
}

// valid reports whether v is valid for s.
func (c *compiler) valid(v *value, s *schema) (bool, error) {
	if err := c.check(s, 0); err != nil {
		return false, err
	}
	if ok, err := c.validPlain(v, s); !ok || err != nil {
		return false, err
	}
	for _, t := range s.all {
		if ok, err := c.valid(v, t); !ok || err != nil {
			return false, err
		}
	}
	for _, t := range s.none {
		annotated := c.annotated
		if ok, err := c.valid(v, t); ok || err != nil {
			return false, c.checkAsserted(annotated, t, err)
		}
	}
	for _, ch := range s.choices {
		if ch.optional {
			continue
		}
		holds, annotated := 0, c.annotated
		for _, list := range ch.lists {
			ok, err := c.validAll(v, list)
			if err != nil {
				return false, err
			}
			if ok {
				holds++
			}
		}
		if ch.exclusive && holds > 1 {
			return false, c.checkAsserted(annotated, ch.of, nil)
		}
		if holds == 0 {
			return false, nil
		}
	}
	return c.validRest(v, s)
}

// checkAsserted returns err, or an error if the count of annotated matches has grown since:
// then s may fail to hold only because of a format that nothing asserts.
func (c *compiler) checkAsserted(annotated int, s *schema, err error) error {
	if err == nil && c.annotated > annotated {
		return s.refuse("format", "the result depends on a format that is not enforced")
	}
	return err
}

func (c *compiler) validAll(v *value, list []*schema) (bool, error) {
	for _, s := range list {
		if ok, err := c.valid(v, s); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// validPlain reports whether v is valid for the keywords of s that apply no schema in place.
func (c *compiler) validPlain(v *value, s *schema) (bool, error) {
	if err := c.step(1); err != nil {
		return false, err
	}
	of := c.typeOf(v)
	if s.never || s.types&of == 0 {
		return false, nil
	}
	if s.refused != nil {
		return false, s.refused
	}
	for _, list := range s.enums {
		if ok, err := c.within(v, list); !ok || err != nil {
			return false, err
		}
	}
	if out, err := c.within(v, s.not); out || err != nil {
		return false, err
	}
	if of == objectType && s.some != nil {
		if ok, err := c.has(v, s.some); !ok || err != nil {
			return false, err
		}
	}
	switch {
	case of&numberType != 0 && s.number != nil:
		r, err := v.rational()
		return err == nil && s.number.holds(r), err
	case of == stringType:
		if s.formats != nil {
			c.annotated++
		}
		return c.validText(v.text, s)
	case of == arrayType && s.array != nil:
		return c.validArray(v, s)
	case of == objectType && s.object != nil:
		return c.validObject(v, s)
	}
	return true, nil
}

func (c *compiler) validText(text string, s *schema) (bool, error) {
	if s.text == nil {
		return true, nil
	}
	n := utf8.RuneCountInString(text)
	if n < s.text.min || s.text.max >= 0 && n > s.text.max {
		return false, nil
	}
	quoted := automaton.Quote(text)
	for _, l := range s.text.matches {
		if l.format && lesser(automaton.Longest(l.text), n) != n {
			return false, nil
		}
		if d, err := c.language(l, s); err != nil || !d.Match(quoted) {
			return false, err
		}
	}
	for _, l := range s.text.differs {
		if d, err := c.looseLanguage(l, s); err != nil || d.Match(quoted) {
			return false, err
		}
	}
	return true, nil
}

func (c *compiler) validArray(v *value, s *schema) (bool, error) {
	a := s.array
	if len(v.items) < a.min || a.max >= 0 && len(v.items) > a.max {
		return false, nil
	}
	seen := map[string]bool{}
	matches := 0
	for i, item := range v.items {
		if ok, err := c.validAll(item, itemSet([]*schema{s}, i)); !ok || err != nil {
			return false, err
		}
		if a.contains != nil && i >= a.from {
			ok, err := c.valid(item, a.contains)
			if err != nil {
				return false, err
			}
			if ok {
				matches++
			}
		}
		text, err := c.canonical(item)
		if err != nil || a.unique && seen[text] {
			return false, err
		}
		seen[text] = true
	}
	return a.contains == nil || matches >= a.minMatches && (a.maxMatch < 0 || matches <= a.maxMatch), nil
}

// has reports whether an object has a member that satisfies m.
func (c *compiler) has(v *value, m *member) (bool, error) {
	for i, name := range v.keys {
		ok, err := c.valid(&value{kind: stringKind, text: name}, m.key)
		if ok && err == nil {
			ok, err = c.valid(v.items[i], m.value)
		}
		if ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

func (c *compiler) validObject(v *value, s *schema) (bool, error) {
	o := s.object
	if len(v.keys) < o.min || o.max >= 0 && len(v.keys) > o.max {
		return false, nil
	}
	if o.lead != nil {
		if ok, err := c.has(v, o.lead); !ok || err != nil {
			return false, err
		}
	}
	for _, name := range o.required {
		if v.get(name) == nil {
			return false, nil
		}
	}
	for i, name := range v.keys {
		if o.keys != nil {
			if ok, err := c.valid(&value{kind: stringKind, text: name}, o.keys); !ok || err != nil {
				return false, err
			}
		}
		set, err := c.member([]*schema{s}, name)
		if err != nil {
			return false, err
		}
		if ok, err := c.validAll(v.items[i], set); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// candidates returns the values of a clause with an enum or a const.
func (c *compiler) candidates(cl *clause) (list []*value, ok bool, err error) {
	from := shortest(cl.atoms)
	if from == nil {
		return nil, false, nil
	}
	list, err = c.filter(from, func(v *value) (bool, error) {
		if c.typeOf(v)&cl.types == 0 {
			return false, nil
		}
		for _, s := range cl.atoms {
			if ok, err := c.validPlain(v, s); !ok || err != nil {
				return false, err
			}
		}
		return true, nil
	})
	return list, true, err
}

// shortest returns the shortest enum of atoms, nil if there is none.
func shortest(atoms []*schema) []*value {
	var from []*value
	for _, s := range atoms {
		for _, list := range s.enums {
			if from == nil || len(list) < len(from) {
				from = slices.Clip(list)
				if from == nil {
					from = []*value{}
				}
			}
		}
	}
	return from
}

// filter returns the distinct values for which want reports true, in order.
func (c *compiler) filter(from []*value, want func(*value) (bool, error)) (list []*value, err error) {
	seen := make(map[string]bool, len(from))
	for _, v := range from {
		text, err := c.canonical(v)
		if err == nil {
			err = c.step(1)
		}
		if err != nil {
			return nil, err
		}
		if seen[text] {
			continue
		}
		seen[text] = true
		ok, err := want(v)
		if err != nil {
			return nil, err
		}
		if ok {
			list = append(list, v)
		}
	}
	return list, nil
}
