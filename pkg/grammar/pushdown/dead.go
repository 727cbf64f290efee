package pushdown

import "slices"

// findDead finds the rules that match nothing: the complement of the least fixed point of
// lives.
func (m *Machine) findDead() {
	for i := range m.dead {
		m.dead[i] = true
	}
	order, cyclic := m.postorder()
	for changed := true; changed && m.spendPass(); {
		changed = false
		for _, id := range order {
			if m.dead[id] && m.lives(&m.rules[id]) {
				m.dead[id], changed = false, cyclic
			}
		}
	}
}

// lives reports whether a rule matches some text, given the rules found alive so far.
func (m *Machine) lives(r *rule) bool {
	alive := func(id ID) bool { return id >= 0 && !m.dead[id] }
	switch {
	case r.Text != nil:
		return !r.Text.DFA.Empty() && (!r.Text.Counted || r.Text.Max < 0 || r.Text.Min <= r.Text.Max && (r.short == nil || r.short.chars[0] <= int32(r.Text.Max)))
	case r.Array != nil:
		return m.livesArray(r.Array, alive)
	case r.Object != nil:
		return m.livesObject(r, alive)
	case r.Proc != nil:
		return r.Proc.Ends(alive)
	}
	return slices.ContainsFunc(r.Any, alive)
}

func (m *Machine) livesArray(a *Array, alive func(ID) bool) bool {
	if a.Max >= 0 && a.Min > a.Max {
		return false
	}
	for i := 0; i < a.Min; i++ {
		if !alive(a.item(int32(i))) {
			return false
		}
		if i >= len(a.Prefix) {
			break
		}
	}
	return true
}

func (m *Machine) livesObject(r *rule, alive func(ID) bool) bool {
	living := func(x Extra) bool { return alive(x.Key) && alive(x.Value) }
	most, leads := len(r.Object.Lead), len(r.Object.Lead)
	for i := range r.Object.Lead {
		if lo, hi := r.Object.Kinds(i); !slices.ContainsFunc(r.Object.Extra[lo:hi], living) {
			return false
		}
	}
	lo, _ := r.Object.Kinds(leads)
	extra := slices.ContainsFunc(r.Object.Extra[lo:], living)
	for _, p := range r.Object.Props {
		if alive(p.Value) {
			most++
		} else if p.Required {
			return false
		}
	}
	if max := r.Object.Max; max >= 0 && (r.Object.Min > max || int(r.object.needs[0])+leads > max) {
		return false
	}
	return extra || most >= r.Object.Min
}

// Ends reports whether p can reach an accepting state by calling only rules that are alive.
func (p *Proc) Ends(alive func(ID) bool) bool {
	seen := make([]bool, len(p.States))
	for todo := []int32{0}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if at >= int32(len(p.States)) || seen[at] {
			continue
		}
		seen[at] = true
		s := &p.States[at]
		if s.Accept {
			return true
		}
		for _, e := range s.Edges {
			todo = append(todo, e.To)
		}
		for _, c := range s.Calls {
			if alive(c.Rule) {
				todo = append(todo, c.Return)
			}
		}
	}
	return false
}
