package jsonschema

import (
	"encoding/binary"
	"slices"
	"strings"

	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/fault"
	"glossa/pkg/grammar/pushdown"
)

const (
	maxRules = 1 << 16
	maxSize  = 1 << 18 // members, items and alternatives of all rules

	// never is the rule without a text.
	never pushdown.ID = 0
)

// keyOf returns the same text for sets of the same schemas.
func keyOf(set []*schema) string {
	ids := make([]int32, len(set))
	for i, s := range set {
		ids[i] = s.id
	}
	slices.Sort(ids)
	key := make([]byte, 0, 4*len(ids))
	for _, id := range slices.Compact(ids) {
		key = binary.LittleEndian.AppendUint32(key, uint32(id))
	}
	return string(key)
}

// newRule adds a rule of some size.
func (c *compiler) newRule(r pushdown.Rule, size int) (pushdown.ID, error) {
	c.sizes += size
	if len(c.rules) >= maxRules || c.sizes > maxSize {
		return 0, fault.New(c.place.pointer(), c.keyword, "the schema has more than %d kinds of values, or %d members, items and alternatives of them", maxRules, maxSize)
	}
	if err := c.spend(16, 200+16*size); err != nil {
		return 0, err
	}
	c.rules, c.origins = append(c.rules, r), append(c.origins, origin{c.place, c.keyword})
	return pushdown.ID(len(c.rules) - 1), nil
}

// rule returns the rule of the values for which all of a set hold.
func (c *compiler) rule(set []*schema) (pushdown.ID, error) {
	if len(set) == 0 {
		set = []*schema{c.anything}
	}
	if len(set) == 1 {
		id, ok := c.byOne[set[0]]
		if ok {
			return id, nil
		}
		id, err := c.build(set)
		c.byOne[set[0]] = id
		return id, err
	}
	key := keyOf(set)
	id, ok := c.bySet[key]
	if ok {
		return id, nil
	}
	id, err := c.build(set)
	c.bySet[key] = id
	return id, err
}

func (c *compiler) build(set []*schema) (pushdown.ID, error) {
	c.at(set[0], "")
	cl, err := c.conjunction(set)
	if err != nil || cl.dead {
		return never, err
	}
	if from := shortest(cl.atoms); from != nil {
		// Enumerated values are validated directly.
		list, err := c.filter(from, func(v *value) (bool, error) { return c.validAll(v, set) })
		if err != nil {
			return never, err
		}
		ids, err := c.values(list)
		if err != nil {
			return never, err
		}
		return c.any(ids)
	}
	list, err := c.someWays(cl)
	if err != nil {
		return never, err
	}
	var ids []pushdown.ID
	var constants []*value
	for _, cl := range dropImplying(c.supported(list)) {
		if err := cl.unsupported(); err != nil {
			return never, err
		}
		some, ok, err := c.candidates(cl)
		constants = append(constants, some...)
		if err == nil && !ok {
			ids, err = c.lower(ids, cl)
		}
		if err != nil {
			return never, err
		}
	}
	more, err := c.values(constants)
	if err != nil {
		return never, err
	}
	return c.any(append(ids, more...))
}

// supported leaves out the clauses of a oneOf that need an unsupported exclusion of other
// alternatives, unless no other clause remains for values of their types. The program lacks
// the values that only such clauses accept. Clauses that exclude strings by a format that
// only annotates stay, unless other clauses remain and none has strings: if the format is an
// annotation, no string is valid there either.
func (c *compiler) supported(list []*clause) []*clause {
	if list = c.leaveOut(list, false); len(list) > 1 {
		list = c.leaveOut(list, true)
	}
	return list
}

// leaveOut leaves out clauses with unsupported exclusions: by a format, or others.
func (c *compiler) leaveOut(list []*clause, formats bool) []*clause {
	droppable := func(cl *clause) bool { return droppable(cl, formats) }
	first := slices.IndexFunc(list, droppable)
	if first < 0 {
		return list
	}
	kept, lost := types(0), types(0)
	for _, cl := range list {
		if droppable(cl) {
			lost |= c.possibleTypes(cl, maxProof)
		} else {
			kept |= c.possibleTypes(cl, maxProof)
		}
	}
	if formats && (kept&stringType != 0 || kept == 0 || lost&^stringType != 0) || !formats && lost&^kept != 0 {
		return list
	}
	if c.narrowed = list[first].because; c.narrowed == nil {
		c.narrowed = list[first].unsupported()
	}
	return slices.DeleteFunc(slices.Clone(list), droppable)
}

// droppable reports whether a clause of a oneOf excludes another alternative in an
// unsupported way: by a format or otherwise.
func droppable(cl *clause, formats bool) bool {
	return !formats && cl.because != nil && len(leadsOf(cl.atoms)) > maxLeads || slices.ContainsFunc(cl.atoms, func(s *schema) bool {
		return s.refused != nil && (s.refused.Keyword == "format") == formats && (cl.because != nil || s.excludes)
	})
}

// unsupported returns the first unsupported part of a clause as an error, or nil.
func (cl *clause) unsupported() error {
	for _, s := range cl.atoms {
		if s.refused != nil && cl.because != nil {
			return cl.because
		} else if s.refused != nil {
			return s.refused
		}
	}
	return nil
}

// dropImplying leaves out clauses that imply another clause of the list.
func dropImplying(list []*clause) []*clause {
	if len(list) == 1 || len(list) > 64 {
		return list
	}
	var out []*clause
	for i, cl := range list {
		implied := func(other *clause) bool {
			return other != cl && cl.types&^other.types == 0 && !slices.ContainsFunc(other.atoms, func(s *schema) bool { return !slices.Contains(cl.atoms, s) })
		}
		if !slices.ContainsFunc(out, implied) && !slices.ContainsFunc(list[i+1:], func(other *clause) bool {
			return implied(other) && len(other.atoms) < len(cl.atoms)
		}) {
			out = append(out, cl)
		}
	}
	return out
}

// any returns the rule of the values of several rules.
func (c *compiler) any(ids []pushdown.ID) (pushdown.ID, error) {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if len(ids) > 0 && ids[0] == never {
		ids = ids[1:]
	}
	switch len(ids) {
	case 0:
		return never, nil
	case 1:
		return ids[0], nil
	}
	key := make([]byte, 0, 4*len(ids))
	for _, id := range ids {
		key = binary.LittleEndian.AppendUint32(key, uint32(id))
	}
	if id, ok := c.byParts[string(key)]; ok {
		return id, nil
	}
	id, err := c.newRule(pushdown.Rule{Any: ids}, len(ids))
	c.byParts[string(key)] = id
	return id, err
}

// text returns the rule of a text.
func (c *compiler) text(t pushdown.Text) (pushdown.ID, error) {
	t.JSON = true
	if c.none(t) {
		return never, nil
	}
	if id, ok := c.byText[t]; ok {
		return id, nil
	}
	id, err := c.newRule(pushdown.Rule{Text: &t}, 1)
	c.byText[t] = id
	return id, err
}

// lower appends the rules of a clause without choices and constants, one for each type.
func (c *compiler) lower(ids []pushdown.ID, cl *clause) ([]pushdown.ID, error) {
	for _, part := range []struct {
		of   types
		make func(*clause) (pushdown.ID, error)
	}{
		{nullType, c.constants}, {booleanType, c.constants}, {numberType, c.numberRule}, {stringType, c.stringRule},
		{arrayType, c.arrayRule}, {objectType, c.objectRule},
	} {
		if cl.types&part.of == 0 {
			continue
		}
		one := *cl
		one.types &= part.of
		id, err := part.make(&one)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// constants returns the rule of null, or of true and false.
func (c *compiler) constants(cl *clause) (pushdown.ID, error) {
	excluded := c.excluded(cl)
	if len(excluded) == 0 {
		if cl.types == nullType {
			return c.text(pushdown.Text{DFA: automaton.Null()})
		}
		return c.text(pushdown.Text{DFA: automaton.Boolean()})
	}
	texts := []string{"true", "false"}
	if cl.types == nullType {
		texts = []string{"null"}
	}
	return c.literal(slices.DeleteFunc(texts, func(t string) bool {
		return slices.ContainsFunc(excluded, func(v *value) bool { s, _ := c.canonical(v); return s == t })
	}))
}

// excluded returns the values that a clause excludes by not, of its types.
func (c *compiler) excluded(cl *clause) (list []*value) {
	for _, s := range cl.atoms {
		for _, v := range s.not {
			if c.typeOf(v)&cl.types != 0 {
				list = append(list, v)
			}
		}
	}
	return list
}

// literal returns the rule of a list of texts.
func (c *compiler) literal(texts []string) (pushdown.ID, error) {
	if len(texts) == 0 {
		return never, nil
	}
	key := strings.Join(texts, "\n") // no JSON text contains a newline
	d, ok := c.literals[key]
	if !ok {
		if err := c.spend(8*len(key), 96*len(key)); err != nil {
			return never, err
		}
		d = automaton.Literals(texts)
		c.literals[key] = d
	}
	return c.text(pushdown.Text{DFA: d})
}

// values returns the rules of a list of values.
func (c *compiler) values(list []*value) (ids []pushdown.ID, err error) {
	var texts []string
	for _, v := range list {
		var id pushdown.ID
		switch v.kind {
		case arrayKind:
			id, err = c.arrayOf(v)
		case objectKind:
			id, err = c.objectOf(v)
		default:
			var text string
			if text, err = c.canonical(v); v.kind == numberKind && strings.ContainsAny(v.text, "eE") {
				text = automaton.Exponential(text)
			}
			texts = append(texts, text)
		}
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	id, err := c.literal(texts)
	return append(ids, id), err
}

// arrayOf returns the rule of one array, v.
func (c *compiler) arrayOf(v *value) (pushdown.ID, error) {
	a := &pushdown.Array{Items: -1, Min: len(v.items), Max: len(v.items)}
	for _, item := range v.items {
		ids, err := c.values([]*value{item})
		if err != nil {
			return never, err
		}
		id, err := c.any(ids)
		if err != nil {
			return never, err
		}
		a.Prefix = append(a.Prefix, id)
	}
	return c.newRule(pushdown.Rule{Array: a}, len(a.Prefix))
}

// objectOf returns the rule of one object, v, with its members in order.
func (c *compiler) objectOf(v *value) (pushdown.ID, error) {
	o := &pushdown.Object{Max: -1}
	for i, name := range v.keys {
		ids, err := c.values([]*value{v.items[i]})
		if err != nil {
			return never, err
		}
		id, err := c.any(ids)
		if err != nil {
			return never, err
		}
		o.Props = append(o.Props, pushdown.Prop{Name: name, Value: id, Required: true})
	}
	return c.newRule(pushdown.Rule{Object: o}, len(o.Props))
}
