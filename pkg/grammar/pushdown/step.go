package pushdown

import (
	"strings"

	"glossa/pkg/grammar/automaton"
)

// stepAll sets r.out to the elements that a list leads to by a byte. If costs are known, the
// first one is at the beginning of a cheapest way to the end: it is read first, and the
// elements on that way are never dropped.
func (r *run) stepAll(now []element, b byte) {
	r.resetOut()
	for i := range now {
		r.cheapest = i == 0 && r.costs != nil
		r.step(&now[i], b)
	}
	r.cheapest = false
}

// step appends to r.out the elements that e leads to by a byte. The byte is not in r.text
// yet.
func (r *run) step(e *element, b byte) {
	if e.rule == ended {
		return
	}
	r.byte = b
	switch u := &r.m.rules[e.rule]; {
	case u.Text != nil:
		r.stepText(u, *e, b)
	case u.Proc != nil:
		if to := automaton.Next(u.Proc.States[e.state].Edges, b); to >= 0 {
			moved := *e
			moved.state = to
			r.arrive(moved)
		}
	case u.Array != nil:
		r.stepArray(u.Array, *e, b)
	default:
		r.stepObject(u, *e, b)
	}
}

func (r *run) stepText(u *rule, e element, b byte) {
	d := u.Text.DFA
	to := d.Next(e.state, b)
	if to < 0 {
		return
	}
	if s := &d.States[e.state]; u.Text.Counted && s.Content {
		if !s.Begins(b) {
			if int(e.reg) < u.Text.Min {
				return
			}
		} else if !u.Text.count(&e.reg) {
			return
		}
	}
	if u.short != nil && u.Text.Max >= 0 && int(e.reg+u.short.chars[to]) > u.Text.Max {
		return
	}
	e.state = to
	if e.from >= 0 && d.States[to].Accept {
		r.endKey(e, b)
		return
	}
	r.arrive(e)
}

// count counts a character. It returns false if there are too many.
func (t *Text) count(n *int32) bool {
	if t.Max >= 0 && int(*n) >= t.Max {
		return false
	}
	*n = min(*n+1, int32(max(t.Min, t.Max)))
	return true
}

// endKey continues after an extra key, unless the object has a member with that key.
func (r *run) endKey(e element, b byte) {
	back := r.frames[e.stack].element
	key := string(append(r.text[e.from:len(r.text):len(r.text)], b))
	if r.taken(&back, key) {
		return
	}
	back.used = r.use(key, back.used)
	r.add(back)
}

// taken reports whether an object has an extra member with the quoted key, or one of Props
// has it.
func (r *run) taken(object *element, key string) bool {
	for i := object.used; i != 0; i = r.used[i].previous {
		if r.used[i].key == key {
			return true
		}
	}
	t := r.m.rules[object.rule].object
	node := int32(0)
	for i := 0; i < len(key) && node >= 0; i++ {
		node = t.descend(node, key[i])
	}
	return node >= 0
}

func (r *run) stepArray(a *Array, e element, b byte) {
	switch {
	case e.state == atStart && b == '[':
		e.state = atFirst
		r.arrive(e)
	case e.state == atFirst && b == ']' && a.Min <= 0, e.state == afterOne && b == ']' && int(e.reg) >= a.Min:
		r.leave(e.stack)
	case e.state == afterOne && b == ',':
		e.state = afterComma
		r.arrive(e)
	}
}

func (r *run) stepObject(u *rule, e element, b byte) {
	switch {
	case e.state < 0:
		if x := &u.Object.Extra[afterExtra-e.state]; b == ':' {
			e.state = afterOne
			r.enter(x.Value, r.push(e))
		}
	case e.state == atStart:
		if b == '{' {
			e.state = atFirst
			r.arrive(e)
		}
	case b == '}' && (e.state == atFirst || e.state == afterOne):
		if r.mayEnd(u, &e) {
			r.leave(e.stack)
		}
	case e.state == afterOne:
		if b == ',' && (r.mayAny(u, &e, 0) || u.object.mayExtra(u.Object, e.reg, e.count)) {
			e.state = afterComma
			r.arrive(e)
		}
	default:
		r.stepKey(u, e, b)
	}
}

// stepKey reads a byte of a key of Props.
func (r *run) stepKey(u *rule, e element, b byte) {
	node := int32(0)
	if e.state >= inKey {
		node = e.state - inKey
	}
	node = u.object.descend(node, b)
	if node < 0 || !r.mayAny(u, &e, node) {
		return
	}
	member := u.object.nodes[node].member
	if member < 0 {
		e.state = inKey + node
		r.add(e)
		return
	}
	e.state, e.reg, e.count = afterOne, member+1, u.Object.countMember(e.count)
	r.enter(u.Object.Props[member].Value, r.push(e))
}

// takenSuffixes lists the suffixes with which the extra key being read would become a taken
// key. The list is valid until the next call.
func (r *run) takenSuffixes(e *element) []string {
	object, key := &r.frames[e.stack].element, r.text[e.from:]
	r.suffixes = r.suffixes[:0]
	for i := object.used; i != 0; i = r.used[i].previous {
		if rest, ok := strings.CutPrefix(r.used[i].key, string(key)); ok {
			r.suffixes = append(r.suffixes, rest)
		}
	}
	t := r.m.rules[object.rule].object
	node := int32(0)
	for i := 0; i < len(key) && node >= 0; i++ {
		node = t.descend(node, key[i])
	}
	if node >= 0 {
		for _, i := range t.order[t.nodes[node].lo:t.nodes[node].hi] {
			r.suffixes = append(r.suffixes, t.keys[i][len(key):len(t.keys[i])-1])
		}
	}
	return r.suffixes
}
