package calls

import (
	"encoding/json"
	"slices"
	"strings"

	"glossa/pkg/grammar/pushdown"
)

// A matcher computes the possible ends of a program's rules in a text: the semantics of
// [pushdown.Program], implemented without regard for time.
type matcher struct {
	*pushdown.Program
	text string
}

func matches(p *pushdown.Program, text string) bool {
	m := matcher{p, text}
	return slices.Contains(m.ends(p.Start, 0), len(text))
}

// ends returns the possible ends of a rule that begins at a byte.
func (m matcher) ends(id pushdown.ID, at int) (ends []int) {
	switch r := m.Rules[id]; {
	case r.Text != nil:
		state, chars := int32(0), 0
		for ; state >= 0; at++ {
			s := &r.Text.DFA.States[state]
			if s.Accept && (!r.Text.Counted || chars >= r.Text.Min && (r.Text.Max < 0 || chars <= r.Text.Max)) {
				ends = append(ends, at)
			}
			if at == len(m.text) {
				break
			}
			if s.Begins(m.text[at]) {
				chars++
			}
			state = r.Text.DFA.Next(state, m.text[at])
		}
	case r.Array != nil:
		return m.items(r.Array, 0, m.literal("[", []int{at}))
	case r.Object != nil:
		return m.members(r.Object, 0, 0, m.literal("{", []int{at}))
	case r.Proc != nil:
		return m.proc(r.Proc, 0, at)
	default:
		for _, one := range r.Any {
			ends = append(ends, m.ends(one, at)...)
		}
	}
	return ends
}

func (m matcher) each(id pushdown.ID, from []int) (ends []int) {
	for _, at := range from {
		ends = append(ends, m.ends(id, at)...)
	}
	return ends
}

func (m matcher) literal(text string, from []int) (ends []int) {
	for _, at := range from {
		if strings.HasPrefix(m.text[at:], text) {
			ends = append(ends, at+len(text))
		}
	}
	return ends
}

func (m matcher) items(a *pushdown.Array, n int, from []int) (ends []int) {
	if len(from) == 0 {
		return nil
	}
	if n >= a.Min {
		ends = m.literal("]", from)
	}
	if n > 0 {
		from = m.literal(",", from)
	}
	switch {
	case a.Max >= 0 && n >= a.Max:
	case n < len(a.Prefix):
		ends = append(ends, m.items(a, n+1, m.each(a.Prefix[n], from))...)
	case a.Items >= 0:
		ends = append(ends, m.items(a, n+1, m.each(a.Items, from))...)
	}
	return ends
}

// members continues in an object after n members; prop is the next declared one. It does not
// detect duplicate keys.
func (m matcher) members(o *pushdown.Object, prop, n int, from []int) (ends []int) {
	if len(from) == 0 {
		return nil
	}
	next := from
	if n > 0 {
		next = m.literal(",", from)
	}
	if prop < len(o.Props) {
		p := o.Props[prop]
		key, _ := json.Marshal(p.Name)
		ends = m.members(o, prop+1, n+1, m.each(p.Value, m.literal(string(key)+":", next)))
		if !p.Required {
			ends = append(ends, m.members(o, prop+1, n, from)...)
		}
		return ends
	}
	if n >= o.Min {
		ends = m.literal("}", from)
	}
	for _, e := range o.Extra {
		ends = append(ends, m.members(o, prop, n+1, m.each(e.Value, m.literal(":", m.each(e.Key, next))))...)
	}
	return ends
}

func (m matcher) proc(p *pushdown.Proc, state int32, at int) (ends []int) {
	s := p.States[state]
	if s.Accept {
		ends = append(ends, at)
	}
	for _, c := range s.Calls {
		for _, end := range m.ends(c.Rule, at) {
			ends = append(ends, m.proc(p, c.Return, end)...)
		}
	}
	if at < len(m.text) {
		for _, e := range s.Edges {
			if e.Lo <= m.text[at] && m.text[at] <= e.Hi {
				ends = append(ends, m.proc(p, e.To, at+1)...)
			}
		}
	}
	return ends
}
