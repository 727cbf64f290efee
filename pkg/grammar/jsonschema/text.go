package jsonschema

import (
	"fmt"
	"slices"
	"strings"

	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/pushdown"
)

// stringRule returns the rule of the strings of a clause.
func (c *compiler) stringRule(cl *clause) (pushdown.ID, error) {
	t, err := c.stringText(cl, false)
	if err != nil {
		return never, err
	}
	return c.text(t)
}

// none reports whether a text has no strings.
func (c *compiler) none(t pushdown.Text) bool {
	least, _ := c.extent(t.DFA)
	return t.DFA.Empty() || t.Counted && t.Max >= 0 && max(t.Min, least) > t.Max
}

// stringText returns the strings of a clause. Keys are in canonical form, without counted
// characters.
func (c *compiler) stringText(cl *clause, keys bool) (pushdown.Text, error) {
	c.atFirst(cl.atoms, "")
	least, most := 0, -1
	var place *schema
	var matches, differs []language
	for _, s := range cl.atoms {
		t := s.text
		if t == nil {
			continue
		}
		least, most = max(least, t.min), lesser(most, t.max)
		differs = union(differs, t.differs)
		for _, l := range t.matches {
			if l.format {
				most = lesser(most, automaton.Longest(l.text))
			}
			if d, err := c.language(l, s); err != nil {
				return pushdown.Text{}, err
			} else if d != automaton.Key() {
				matches = union(matches, []language{l})
			}
		}
		if place == nil || len(t.matches)+len(t.differs) > 0 {
			place = s
		}
	}
	excluded := c.excluded(&clause{types: stringType, atoms: cl.atoms})
	if least == 0 && most < 0 && len(matches)+len(differs)+len(excluded) == 0 {
		if keys {
			return pushdown.Text{DFA: automaton.Key()}, nil
		}
		return pushdown.Text{DFA: automaton.String()}, nil
	}
	if most >= 0 && least > most {
		return pushdown.Text{DFA: automaton.Literals(nil)}, nil
	}
	if !keys && len(matches)+len(differs)+len(excluded) == 0 {
		return pushdown.Text{DFA: automaton.String(), Counted: true, Min: least, Max: most}, nil
	}
	if place == nil {
		place = cl.atoms[0] // one of the excluding schemas
	}
	if keys {
		d, err := c.stringDFA(place, matches, differs, excluded, least, most)
		return pushdown.Text{DFA: d}, err
	}
	d, err := c.stringDFA(place, matches, differs, excluded, least, -1)
	t := pushdown.Text{DFA: d, Counted: most >= 0, Max: most}
	if err != nil {
		return pushdown.Text{}, err
	}
	if t.Counted {
		_, longest := c.extent(d)
		t.Counted = lesser(longest, most) != longest
	}
	if c.none(t) {
		t = pushdown.Text{DFA: automaton.Literals(nil)}
	}
	return t, nil
}

func union(a, b []language) []language {
	for _, l := range b {
		if !slices.Contains(a, l) {
			a = append(a, l)
		}
	}
	return a
}

// stringDFA returns the strings in canonical form of least to most characters that are in
// all of matches, in none of differs and not excluded.
func (c *compiler) stringDFA(s *schema, matches, differs []language, excluded []*value, least, most int) (d *automaton.DFA, err error) {
	var texts []string
	for _, v := range excluded {
		texts = append(texts, automaton.Quote(v.text))
	}
	key := fmt.Sprintf("%v %v %q %d %d", quoted(matches), quoted(differs), texts, least, most)
	if d, ok := c.strings[key]; ok {
		return d, nil
	}
	keyword := "maxLength"
	if len(matches) > 0 {
		keyword = matches[0].keyword()
	}
	d = automaton.Key()
	for i, l := range matches {
		next, err := c.language(l, s)
		if err == nil && i > 0 {
			next, err = c.combine(c.budget.Intersect, d, next, s, keyword)
		}
		if err != nil {
			return nil, err
		}
		d = next
	}
	for _, l := range differs {
		next, err := c.looseLanguage(l, s)
		if err != nil {
			return nil, err
		}
		if d, err = c.combine(c.budget.Subtract, d, next, s, "not"); err != nil {
			return nil, err
		}
	}
	if len(texts) > 0 {
		if d, err = c.combine(c.budget.Subtract, d, automaton.Literals(texts), s, "not"); err != nil {
			return nil, err
		}
	}
	if d, err = c.bounded(d, least, most, s, keyword); err == nil {
		c.strings[key] = d
	}
	return d, err
}

// bounded returns the strings of d with least to most characters.
func (c *compiler) bounded(d *automaton.DFA, least, most int, s *schema, keyword string) (*automaton.DFA, error) {
	shortest, longest := c.extent(d)
	if least <= shortest && lesser(longest, most) == longest {
		return d, nil
	}
	d, err := c.budget.Lengths(d, least, most)
	return c.built(d, err, s, keyword)
}

func (l language) keyword() string {
	if l.format {
		return "format"
	}
	return "pattern"
}

func quoted(list []language) string {
	var b strings.Builder
	for _, l := range list {
		fmt.Fprintf(&b, "%q%t", l.text, l.format)
	}
	return b.String()
}

// languages caches the automata of languages in one reading.
type languages struct {
	format  func(name string) (*automaton.DFA, bool)
	pattern func(budget *automaton.Budget, regexp string) (*automaton.DFA, error)
	known   map[language]*automaton.DFA
	unknown map[language]error // languages without an automaton
}

func newLanguages(format func(string) (*automaton.DFA, bool), pattern func(*automaton.Budget, string) (*automaton.DFA, error)) *languages {
	return &languages{format, pattern, map[language]*automaton.DFA{}, map[language]error{}}
}

// language returns the automaton of the strings that are in a language in all readings. s
// is the schema that requires it.
func (c *compiler) language(l language, s *schema) (*automaton.DFA, error) {
	return c.languageAs(c.strict, l, s)
}

// looseLanguage returns the automaton of the strings that are in a language in some reading.
// s is the schema that excludes it.
func (c *compiler) looseLanguage(l language, s *schema) (*automaton.DFA, error) {
	return c.languageAs(c.loose, l, s)
}

// languageAs returns the automaton of a language in one reading.
func (c *compiler) languageAs(r *languages, l language, s *schema) (*automaton.DFA, error) {
	if d, ok := r.known[l]; ok {
		return d, nil
	}
	if err := r.unknown[l]; err != nil {
		return nil, err
	}
	var d *automaton.DFA
	var err error
	switch {
	case l.format:
		d, _ = r.format(l.text)
	default:
		if d, err = r.pattern(c.budget, l.text); err == nil && allKeys(d) {
			d = automaton.Key()
		}
	}
	if d, err = c.built(d, err, s, l.keyword()); err == nil {
		r.known[l] = d
	} else {
		r.unknown[l] = err // the same error every time
	}
	return d, err
}
