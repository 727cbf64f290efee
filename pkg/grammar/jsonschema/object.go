package jsonschema

import (
	"errors"
	"slices"

	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/fault"
	"glossa/pkg/grammar/pushdown"
)

const (
	maxKinds         = 64   // kinds of keys that patterns distinguish
	maxMinProperties = 1000 // largest minProperties
)

// member returns the schemas of the member name of an object for which all of atoms hold.
func (c *compiler) member(atoms []*schema, name string) (set []*schema, err error) {
	for _, s := range atoms {
		o := s.object
		if o == nil {
			continue
		}
		declared := false
		if p := o.property(name); p != nil {
			set, declared = include(set, p), true
		}
		for _, p := range o.patterns {
			d, err := c.language(language{p.text, false}, s)
			if err == nil {
				err = c.spend(stepSteps+4*len(name), len(name))
			}
			if err != nil {
				return nil, inPatterns(err)
			}
			if d.Match(automaton.Quote(name)) {
				set, declared = include(set, p.value), true
			}
		}
		if !declared && o.others != nil {
			set = include(set, o.others)
		}
	}
	return set, nil
}

// membersOf returns the required members and the bounds of the number of members.
func membersOf(atoms []*schema) (required []string, least, most int) {
	var of distinct
	most = -1
	for _, s := range atoms {
		if o := s.object; o != nil {
			least, most = max(least, o.min), lesser(most, o.max)
			of.add(o.required)
		}
	}
	return of.names, least, most
}

// A distinct is a list of distinct names.
type distinct struct {
	names []string
	seen  map[string]bool // if there are many
}

func (d *distinct) add(names []string) {
	if d.names == nil && len(names) <= 1 {
		d.names = slices.Clip(names)
		return
	}
	for _, name := range names {
		if d.seen != nil && d.seen[name] || d.seen == nil && slices.Contains(d.names, name) {
			continue
		}
		d.names = append(d.names, name)
		if d.seen != nil {
			d.seen[name] = true
		} else if len(d.names) > few {
			d.seen = make(map[string]bool, 2*len(names))
			for _, n := range d.names {
				d.seen[n] = true
			}
		}
	}
}

// objectRule returns the rule of the objects of a clause.
func (c *compiler) objectRule(cl *clause) (pushdown.ID, error) {
	atoms, key := relevant('o', cl.atoms, func(s *schema) bool { return s.object != nil })
	_, least, most := membersOf(atoms)
	if id, ok := c.byAtoms[key]; ok {
		return id, nil
	}
	for _, s := range atoms {
		if s.object.min > maxMinProperties {
			return never, s.refuse("minProperties", "at most %d members can be required", maxMinProperties)
		}
	}
	c.atFirst(atoms, "")
	o := &pushdown.Object{Min: least, Max: most}
	id, err := c.newRule(pushdown.Rule{Object: o}, 1)
	if err != nil {
		return never, err
	}
	c.byAtoms[key] = id
	c.queue = append(c.queue, func() error { return c.objectBody(o, atoms) })
	return id, nil
}

// objectBody writes the members of an object.
func (c *compiler) objectBody(o *pushdown.Object, atoms []*schema) error {
	keys, err := c.keys(atoms)
	if err != nil {
		return err
	}
	c.atFirst(atoms, "properties")
	required, _, _ := membersOf(atoms)
	needed := make(map[string]bool, len(required))
	for _, name := range required {
		needed[name] = true
	}
	for _, name := range namesOf(atoms, required) {
		if err := c.spend(stepSteps*len(atoms)+len(name), 64+8*len(name)); err != nil {
			return err
		}
		p := pushdown.Prop{Name: name, Required: needed[name]}
		if keys == nil || keys.Match(automaton.Quote(name)) {
			set, err := c.member(atoms, name)
			if err == nil {
				err = c.spend(0, stepBytes*len(set))
			}
			if err != nil {
				return err
			}
			if p.Value, err = c.rule(set); err != nil {
				return err
			}
			c.atFirst(atoms, "properties")
		}
		o.Props = append(o.Props, p)
	}
	c.sizes += len(o.Props)
	return c.extra(o, atoms, keys)
}

// namesOf returns the declared and the required names of an object.
func namesOf(atoms []*schema, required []string) []string {
	var of distinct
	for _, s := range atoms {
		of.add(s.object.names)
	}
	of.add(required)
	return of.names
}

// keys returns the keys that propertyNames allows, nil if it allows all.
func (c *compiler) keys(atoms []*schema) (*automaton.DFA, error) {
	var set []*schema
	var place *schema
	for _, s := range atoms {
		if k := s.object.keys; k != nil {
			set, place = include(set, k), s
		}
	}
	if len(set) == 0 {
		return nil, nil
	}
	return c.keysFor(set, place)
}

// keysFor returns the keys for which all of a set hold.
func (c *compiler) keysFor(set []*schema, place *schema) (*automaton.DFA, error) {
	list, err := c.clauses(set)
	if err == errWays {
		return nil, place.refuse("propertyNames", "%v", err)
	}
	if err != nil {
		return nil, err
	}
	var of []*automaton.DFA
	for _, cl := range list {
		d, err := c.keysOf(cl)
		if err != nil {
			return nil, err
		}
		of = append(of, d)
	}
	if len(of) == 1 {
		return of[0], nil
	}
	d, err := c.budget.Union(of...)
	return c.built(d, err, place, "propertyNames")
}

// keysOf returns the keys of a clause.
func (c *compiler) keysOf(cl *clause) (*automaton.DFA, error) {
	for _, s := range cl.atoms {
		if s.refused != nil {
			return nil, s.refused
		}
	}
	list, ok, err := c.candidates(cl)
	if err != nil {
		return nil, err
	}
	if ok || cl.types&stringType == 0 {
		var texts []string
		for _, v := range list {
			if v.kind == stringKind {
				texts = append(texts, automaton.Quote(v.text))
			}
		}
		return automaton.Literals(texts), nil
	}
	t, err := c.stringText(cl, true)
	return t.DFA, err
}

// A keyKind is a set of keys that match the same patterns.
type keyKind struct {
	keys    *automaton.DFA
	matches []string
}

// extra writes the undeclared members of an object.
func (c *compiler) extra(o *pushdown.Object, atoms []*schema, keys *automaton.DFA) error {
	if keys == nil {
		keys = automaton.Key()
	}
	kinds := []keyKind{{keys: keys}}
	var seen []string
	for _, s := range atoms {
		for _, p := range s.object.patterns {
			c.at(s, "patternProperties")
			if err := c.step(1 + len(seen)/16); err != nil {
				return err
			}
			if slices.Contains(seen, p.text) {
				continue
			}
			seen = append(seen, p.text)
			var err error
			if kinds, err = c.divide(kinds, s, p.text); err != nil {
				return inPatterns(err)
			}
		}
	}
	if err := c.leads(o, atoms, kinds); err != nil {
		return err
	}
	for _, kind := range kinds {
		set := ofKind(atoms, kind.matches)
		if forbids(set) {
			continue
		}
		value, err := c.rule(set)
		if err != nil {
			return err
		}
		key, err := c.text(pushdown.Text{DFA: kind.keys})
		if err != nil {
			return err
		}
		if value != never && key != never {
			o.Extra = append(o.Extra, pushdown.Extra{Key: key, Value: value})
		}
	}
	return nil
}

// maxLeads bounds the undeclared members that negations of additionalProperties,
// patternProperties and propertyNames ask for.
const maxLeads = 4

// A lead is one undeclared member that some schemas ask for.
type lead struct {
	of   *schema // the first that asks
	asks []*member
}

// leadsOf returns the undeclared members that atoms ask for.
func leadsOf(atoms []*schema) (list []lead) {
	for _, s := range atoms {
		if s.object != nil && s.object.lead != nil && s.object.with == nil {
			list = append(list, lead{s, []*member{s.object.lead}})
		}
	}
	for _, s := range atoms {
		for i := range list {
			if s.object != nil && s.object.with == list[i].of.object.lead {
				list[i].asks = append(list[i].asks, s.object.lead)
			}
		}
	}
	return list
}

// leads writes the kinds of the undeclared members that atoms ask for, which come first.
func (c *compiler) leads(o *pushdown.Object, atoms []*schema, kinds []keyKind) error {
	list := leadsOf(atoms)
	if len(list) > maxLeads {
		return list[maxLeads].of.refuse(list[maxLeads].asks[0].keyword, "its negation is required here (by not, if or oneOf) next to those of more than %d others, which is not supported", maxLeads-1)
	}
	for _, l := range list {
		before := len(o.Extra)
		if err := c.lead(o, atoms, kinds, l); err != nil {
			return err
		}
		if o.Lead = append(o.Lead, len(o.Extra)-before); len(o.Extra) == before {
			o.Min, o.Max = 1, 0 // no member satisfies it
		}
	}
	return nil
}

// lead writes the kinds of one of these members.
func (c *compiler) lead(o *pushdown.Object, atoms []*schema, kinds []keyKind, l lead) error {
	var of, values []*schema
	for _, m := range l.asks {
		of, values = include(of, m.key), include(values, m.value)
	}
	keyword := l.asks[0].keyword
	keys := automaton.Key()
	if len(of) > 0 {
		var err error
		if keys, err = c.keysFor(of, l.of); err != nil {
			return err
		}
	}
	for _, kind := range kinds {
		set := ofKind(atoms, kind.matches)
		for _, s := range values {
			set = include(set, s)
		}
		if forbids(set) {
			continue
		}
		d, err := c.combine(c.budget.Intersect, kind.keys, keys, l.of, keyword)
		if err != nil {
			return err
		}
		value, err := c.rule(set)
		if err != nil {
			return err
		}
		key, err := c.text(pushdown.Text{DFA: d})
		if err != nil {
			return err
		}
		if value != never && key != never {
			o.Extra = append(o.Extra, pushdown.Extra{Key: key, Value: value})
		}
	}
	return nil
}

// divide splits kinds of keys into those that match a pattern of s and those that do not. It
// drops keys on which readings of the pattern differ.
func (c *compiler) divide(kinds []keyKind, s *schema, text string) ([]keyKind, error) {
	d, err := c.language(language{text, false}, s)
	if err != nil {
		return nil, err
	}
	loose, err := c.looseLanguage(language{text, false}, s)
	if err != nil {
		return nil, err
	}
	var out []keyKind
	for _, kind := range kinds {
		in, rest := d, automaton.Literals(nil)
		if kind.keys != automaton.Key() {
			if in, err = c.combine(c.budget.Intersect, kind.keys, d, s, "patternProperties"); err != nil {
				return nil, err
			}
		}
		if d != automaton.Key() {
			if rest, err = c.combine(c.budget.Subtract, kind.keys, loose, s, "patternProperties"); err != nil {
				return nil, err
			}
		} else {
			in = kind.keys
		}
		if !rest.Empty() {
			out = append(out, keyKind{rest, kind.matches})
		}
		if !in.Empty() {
			out = append(out, keyKind{in, append(slices.Clip(kind.matches), text)})
		}
	}
	if len(out) > maxKinds {
		return nil, s.refuse("patternProperties", "the patterns overlap in more than %d ways", maxKinds)
	}
	return out, nil
}

// ofKind returns the schemas of undeclared members whose keys match some patterns. A name
// that one of atoms declares counts as declared in all.
func ofKind(atoms []*schema, matches []string) (set []*schema) {
	for _, s := range atoms {
		declared := false
		for _, p := range s.object.patterns {
			if slices.Contains(matches, p.text) {
				set, declared = include(set, p.value), true
			}
		}
		if !declared && s.object.others != nil {
			set = include(set, s.object.others)
		}
	}
	return set
}

// inPatterns attributes the error of a pattern to patternProperties.
func inPatterns(err error) error {
	var f *fault.Error
	if errors.As(err, &f) && f.Keyword == "pattern" {
		return fault.New(f.Pointer, "patternProperties", "%s", f.Message)
	}
	return err
}
