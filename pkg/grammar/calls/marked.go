package calls

import (
	"cmp"
	"slices"
	"strings"

	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/pushdown"
)

// marked returns the rule of the values of a rule in the style [toolcall.Marked].
func (w *writer) marked(id pushdown.ID) (pushdown.ID, error) {
	if to, ok := w.known[id]; ok {
		return to, nil
	}
	if err := w.budget.Spend(16, 300); err != nil {
		return 0, err
	}
	to := w.rule(pushdown.Rule{})
	w.known[id] = to
	r := shift(&w.rules[id], 0)
	var err error
	switch {
	case r.Text != nil:
		r, err = w.markedText(r.Text)
	case r.Object != nil:
		r, err = w.markedObject(r.Object)
	default:
		eachCallee(&r, func(id *pushdown.ID) {
			if err == nil && *id >= 0 {
				*id, err = w.marked(*id)
			}
		})
	}
	w.rules[to] = r
	return to, err
}

// markedText returns the rule of a text in JSON: its strings between marks, others as they are.
func (w *writer) markedText(t *pushdown.Text) (pushdown.Rule, error) {
	edges := t.DFA.States[0].Edges
	others := slices.DeleteFunc(slices.Clone(edges), func(e automaton.Edge) bool { return e.Lo == '"' && e.Hi == '"' })
	if len(others) == len(edges) {
		return pushdown.Rule{Text: t}, nil
	}
	quote := w.syntax.Quote
	d, err := w.until(t, quote, quote)
	if err != nil {
		return pushdown.Rule{}, err
	}
	var list []pushdown.ID
	if !d.Empty() {
		text := pushdown.Text{DFA: d, Counted: t.Counted && t.Max >= 0, Max: -1}
		if text.Counted {
			text.Max = t.Max + automaton.Characters(quote)
		}
		if len(others) == 0 {
			return pushdown.Rule{Text: &text}, nil
		}
		list = append(list, w.rule(pushdown.Rule{Text: &text}))
	}
	if len(others) > 0 {
		text := *t
		text.DFA = &automaton.DFA{States: slices.Clone(t.DFA.States)}
		text.DFA.States[0].Edges = others
		list = append(list, w.rule(pushdown.Rule{Text: &text}))
	}
	return pushdown.Rule{Any: list}, nil
}

// markedObject returns the rule of the objects of o.
func (w *writer) markedObject(o *pushdown.Object) (pushdown.Rule, error) {
	members, err := w.object(o, o.Extra)
	return pushdown.Rule{Proc: &pushdown.Proc{States: []pushdown.ProcState{
		{Edges: []automaton.Edge{{Lo: '{', Hi: '{', To: 1}}},
		{Calls: []pushdown.Call{{Rule: members, Return: 2}}},
		{Edges: []automaton.Edge{{Lo: '}', Hi: '}', To: 3}}},
		{Accept: true},
	}}}, err
}

// sortProps returns members in the order of the style.
func (w *writer) sortProps(props []pushdown.Prop) []pushdown.Prop {
	return slices.SortedStableFunc(slices.Values(props), func(a, b pushdown.Prop) int {
		return cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	})
}

// An extra is a kind of members with keys that are not declared.
type extra struct{ first, later, value pushdown.ID }

// bareKey matches a key that needs no quotes.
const bareKey = `[^:{}\[\]<>,"\x00-\x20][^:{}\[\]<>,"\x00-\x1f]*`

// extras returns the kinds of members of o whose keys are not declared. A key may occur twice, so
// that they cannot fill a minimum.
func (w *writer) extras(o *pushdown.Object, kinds []pushdown.Extra) (list []extra, err error) {
	if len(kinds) == 0 || o.Min > 1 || len(o.Lead) > 0 {
		return nil, nil
	}
	bare, err := w.budget.Whole(bareKey)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, p := range o.Props {
		names = append(names, automaton.Quote(p.Name))
	}
	declared := automaton.Literals(names)
	for _, kind := range kinds {
		keys, err := w.budget.Subtract(w.rules[kind.Key].Text.DFA, declared)
		if err != nil {
			return nil, err
		}
		if keys.Empty() {
			continue
		}
		if keys, err = w.budget.Contents(keys); err == nil {
			keys, err = w.budget.Intersect(keys, bare)
		}
		if err != nil {
			return nil, err
		}
		if keys.Empty() {
			continue
		}
		if keys, err = w.budget.Until(keys, w.syntax.Middle); err != nil {
			return nil, err
		}
		value, err := w.marked(kind.Value)
		if err != nil {
			return nil, err
		}
		key := func(before string) pushdown.ID {
			return w.rule(pushdown.Rule{Text: &pushdown.Text{DFA: after(before, keys)}})
		}
		list = append(list, extra{key(""), key(w.syntax.Between), value})
	}
	return list, nil
}

// after returns the automaton of the texts of d, each after a text.
func after(before string, d *automaton.DFA) *automaton.DFA {
	if before == "" {
		return d
	}
	n := int32(len(before))
	states := slices.Clone(automaton.Literal(before).States[:n])
	for _, s := range d.States {
		s.Edges = slices.Clone(s.Edges)
		for i := range s.Edges {
			s.Edges[i].To += n
		}
		states = append(states, s)
	}
	return &automaton.DFA{States: states}
}
