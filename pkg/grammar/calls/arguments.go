package calls

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/pushdown"
	"glossa/pkg/toolcall"
)

// A writer makes rules of arguments in other notations than JSON from those of objects in
// JSON. It writes declared parameters only, in their order: nothing else has a name that a
// model could have read.
type writer struct {
	*builder
	syntax  *toolcall.Arguments
	strings map[string]bool // parameters whose strings are written as they are

	known map[pushdown.ID]pushdown.ID // rules in the notation of the style by those in JSON
}

// object returns the rule of the members of o, and of those of extra kinds.
func (w *writer) object(o *pushdown.Object, kinds []pushdown.Extra) (pushdown.ID, error) {
	var props []pushdown.Prop
	for _, p := range o.Props {
		if r := w.rules[p.Value]; r.Text != nil || r.Array != nil || r.Object != nil || r.Proc != nil || len(r.Any) > 0 {
			props = append(props, p)
		}
	}
	more, err := w.extras(o, kinds)
	if err != nil {
		return 0, err
	}
	if len(o.Lead) > 0 || len(more) == 0 && o.Min > len(props) {
		return 0, errors.New("every required parameter must be among the properties: this model's calls write no others")
	}
	if w.syntax.Style == toolcall.Marked {
		props = w.sortProps(props)
	}
	values := make([]value, len(props))
	for i, p := range props {
		if err := w.checkParameter(p.Name); err != nil {
			return 0, err
		}
		if values[i], err = w.value(p); err != nil {
			return 0, fmt.Errorf("%q: %w", p.Name, err)
		}
	}
	outer := w.states
	defer func() { w.states = outer }()
	w.states = nil
	if err := w.members(o, props, values, more); err != nil {
		return 0, err
	}
	return w.rule(pushdown.Rule{Proc: &pushdown.Proc{States: w.states}}), nil
}

// checkParameter reports an error if a parameter's name cannot be told from what follows it.
func (w *writer) checkParameter(name string) error {
	ok := name != ""
	for i, c := range name {
		if w.syntax.Style == toolcall.Python {
			ok = ok && (c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9')
		}
		if w.syntax.Style == toolcall.Marked {
			ok = ok && !strings.ContainsRune(`{}[],"`, c)
		}
		ok = ok && c >= ' ' && !strings.ContainsRune("<>", c) && !strings.HasPrefix(w.syntax.Middle, string(c))
	}
	if !ok {
		return fmt.Errorf("this model's calls cannot write a parameter with the name %.70q", name)
	}
	return nil
}

// A value is the rule of a value; if it reads Close too, closed is set.
type value struct {
	rule   pushdown.ID
	closed bool
}

// members adds the states of the arguments: those before parameter i with n arguments read,
// counted as far as it matters. Those of extra kinds follow all others.
func (w *writer) members(o *pushdown.Object, props []pushdown.Prop, values []value, more []extra) error {
	counted := max(o.Min, o.Max, 1)
	if len(more) == 0 {
		counted = min(counted, len(props)+1)
	}
	states, queue := map[place]int32{}, []place{{}}
	at := func(p place) int32 {
		p.n = min(p.n, counted)
		if _, ok := states[p]; !ok {
			states[p] = w.state()
			queue = append(queue, p)
		}
		return states[p]
	}
	at(place{})
	queue = queue[1:]
	keys := map[place]pushdown.ID{} // by the parameter, and whether another is before it
	opened := map[int32]int32{}     // the state before a declared value, by the one after it
	for ; len(queue) > 0; queue = queue[1:] {
		p := queue[0]
		if err := w.spendPlace(len(props) - p.i + len(more)); err != nil {
			return err
		}
		from, full := states[p], o.Max >= 0 && p.n >= o.Max
		for i := p.i; i < len(props) && !full; i++ {
			after := at(place{i + 1, p.n + 1})
			if _, ok := opened[after]; !ok {
				opened[after] = w.before(values[i], after)
			}
			key := place{i, min(p.n, 1)}
			if _, ok := keys[key]; !ok {
				keys[key] = w.key(props[i].Name, p.n > 0)
			}
			w.states[from].Calls = append(w.states[from].Calls, pushdown.Call{Rule: keys[key], Return: opened[after]})
			if props[i].Required {
				break
			}
		}
		required := slices.ContainsFunc(props[p.i:], func(p pushdown.Prop) bool { return p.Required })
		w.states[from].Accept = !required && p.n >= o.Min
		if !required && !full {
			for _, x := range more {
				key := x.first
				if p.n > 0 {
					key = x.later
				}
				first := w.before(value{rule: x.value, closed: true}, at(place{len(props), p.n + 1}))
				w.states[from].Calls = append(w.states[from].Calls, pushdown.Call{Rule: key, Return: first})
			}
		}
	}
	return nil
}

// A place is before parameter i with n arguments read.
type place struct{ i, n int }

// spendPlace spends the budget of a place that n parameters or kinds of them may follow.
func (w *writer) spendPlace(n int) error {
	marks := len(w.syntax.Close)
	return w.budget.Spend(16*(n+1)+4*marks, 64*(n+8)+150*marks)
}

// before adds the states before a value and what closes it, which lead to another, and returns the first.
func (w *writer) before(v value, after int32) int32 {
	if closing := w.syntax.Close; closing != "" && !v.closed {
		end := w.state()
		w.join(end, closing, after)
		after = end
	}
	opened := w.state()
	w.states[opened].Calls = []pushdown.Call{{Rule: v.rule, Return: after}}
	return opened
}

// key returns the rule of what comes before a value.
func (w *writer) key(name string, another bool) pushdown.ID {
	middle := w.syntax.Middle
	if w.syntax.Typed != "" && !w.strings[name] {
		middle = w.syntax.Typed
	}
	text := w.syntax.Open + name + middle
	if another {
		text = w.syntax.Between + text
	}
	return w.rule(pushdown.Rule{Text: &pushdown.Text{DFA: automaton.Literal(text)}})
}

// value returns the rule of a parameter's values.
func (w *writer) value(p pushdown.Prop) (value, error) {
	switch w.syntax.Style {
	case toolcall.Python:
		id, err := w.python(p.Value)
		return value{rule: id}, err
	case toolcall.Marked:
		id, err := w.marked(p.Value)
		return value{rule: id}, err
	}
	if !w.strings[p.Name] {
		return value{rule: p.Value}, nil
	}
	texts, err := w.texts(p.Value, nil)
	switch {
	case err != nil:
		return value{}, err
	case len(texts) == 0:
		return value{}, errors.New("this model's calls cannot write such a string")
	case len(texts) == 1:
		return value{texts[0], true}, nil
	}
	return value{w.rule(pushdown.Rule{Any: texts}), true}, nil
}

// texts appends the rules of the strings that a rule matches, written as they are up to Close.
func (w *writer) texts(id pushdown.ID, list []pushdown.ID) ([]pushdown.ID, error) {
	r := w.rules[id]
	if r.Text == nil && r.Any == nil {
		return nil, errors.New("must be a string")
	}
	for _, one := range r.Any {
		var err error
		if list, err = w.texts(one, list); err != nil {
			return nil, err
		}
	}
	if r.Text == nil {
		return list, nil
	}
	d, err := w.until(r.Text, "", w.syntax.Close)
	if err != nil || d.Empty() {
		return list, err
	}
	text := pushdown.Text{DFA: d, Counted: r.Text.Counted && r.Text.Max >= 0, Max: -1}
	if text.Counted {
		text.Max = r.Text.Max + automaton.Characters(w.syntax.Close)
	}
	return append(list, w.rule(pushdown.Rule{Text: &text})), nil
}

// A stringText is an automaton of strings with the fewest characters that they have, and the mark
// that ends them.
type stringText struct {
	d    *automaton.DFA
	min  int
	mark string
}

// until returns the automaton of a text's strings without their quotes, each after a text and
// followed by a mark. It does not bound their length, so that many parameters share it.
func (w *writer) until(t *pushdown.Text, before, mark string) (*automaton.DFA, error) {
	key := stringText{d: t.DFA, mark: mark}
	if t.Counted {
		key.min = t.Min
	}
	if d, ok := w.untils[key]; ok {
		return d, nil
	}
	d, err := w.budget.Lengths(t.DFA, key.min, -1)
	if err != nil {
		return nil, err
	}
	content, err := w.budget.Contents(d)
	if err != nil {
		return nil, err
	}
	until, err := w.budget.Until(content, mark)
	if err != nil || until.Empty() {
		return until, err
	}
	until = after(before, until)
	w.untils[key] = until
	return until, nil
}

// python returns the rule of the literals in Python that stand for the values of a rule.
func (w *writer) python(id pushdown.ID) (pushdown.ID, error) {
	if to, ok := w.known[id]; ok {
		return to, nil
	}
	if err := w.budget.Spend(16, 300); err != nil {
		return 0, err
	}
	to := w.rule(pushdown.Rule{})
	w.known[id] = to
	r := shift(&w.rules[id], 0)
	if r.Text != nil {
		text := *r.Text
		text.DFA = literals(text.DFA)
		r.Text = &text
	}
	var err error
	each := func(id *pushdown.ID) {
		if err == nil && *id >= 0 {
			*id, err = w.python(*id)
		}
	}
	eachCallee(&r, each)
	w.rules[to] = r
	return to, err
}

// eachCallee calls f with the values that a rule calls, but not with the keys of objects.
func eachCallee(r *pushdown.Rule, f func(*pushdown.ID)) {
	for i := range r.Any {
		f(&r.Any[i])
	}
	switch {
	case r.Array != nil:
		for i := range r.Array.Prefix {
			f(&r.Array.Prefix[i])
		}
		f(&r.Array.Items)
	case r.Object != nil:
		for i := range r.Object.Props {
			f(&r.Object.Props[i].Value)
		}
		for i := range r.Object.Extra {
			f(&r.Object.Extra[i].Value)
		}
	case r.Proc != nil:
		for i := range r.Proc.States {
			for c := range r.Proc.States[i].Calls {
				f(&r.Proc.States[i].Calls[c].Rule)
			}
		}
	}
}

// literals returns the automaton of texts of JSON, but for true, false and null, which it
// writes as Python does. A text that is not one of these is the same in both.
func literals(d *automaton.DFA) *automaton.DFA {
	var edges []automaton.Edge
	states := slices.Clone(d.States)
	for _, e := range d.States[0].Edges {
		switch {
		case e.Lo != e.Hi || !strings.ContainsRune("tfn", rune(e.Lo)):
		case e.Lo == 'n':
			const rest = "one"
			e.To = int32(len(states))
			for i := range len(rest) {
				states = append(states, automaton.State{Edges: []automaton.Edge{{Lo: rest[i], Hi: rest[i], To: int32(len(states) + 1)}}})
			}
			states = append(states, automaton.State{Accept: true})
			e.Lo, e.Hi = 'N', 'N'
		default:
			e.Lo -= 'a' - 'A'
			e.Hi = e.Lo
		}
		edges = append(edges, e)
	}
	if slices.Equal(edges, d.States[0].Edges) {
		return d
	}
	slices.SortFunc(edges, func(a, b automaton.Edge) int { return int(a.Lo) - int(b.Lo) })
	states[0].Edges = edges
	return &automaton.DFA{States: states}
}
