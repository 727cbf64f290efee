package jsonschema

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/pushdown"
)

// A recogniser decides by exhaustive search whether a text is in a program, as the comments
// of package pushdown specify. It is slow and simple.
type recogniser struct {
	p    *pushdown.Program
	text string
	memo map[place]map[int]bool
}

type place struct {
	rule pushdown.ID
	at   int
}

func matches(p *pushdown.Program, text string) bool {
	r := recogniser{p, text, map[place]map[int]bool{}}
	return r.ends(p.Start, 0)[len(text)]
}

// ends returns the possible ends of the texts of a rule that begin at a place.
func (r *recogniser) ends(id pushdown.ID, at int) map[int]bool {
	if out, ok := r.memo[place{id, at}]; ok {
		return out
	}
	out := map[int]bool{}
	switch rule := r.p.Rules[id]; {
	case rule.Text != nil:
		for end := range r.run(rule.Text.DFA, at) {
			if inCount(rule.Text, r.text[at:end]) {
				out[end] = true
			}
		}
	case rule.Array != nil:
		if strings.HasPrefix(r.text[at:], "[") {
			r.items(rule.Array, at+1, nil, out)
		}
	case rule.Object != nil:
		if strings.HasPrefix(r.text[at:], "{") {
			r.members(rule.Object, at+1, 0, nil, out)
		}
	case rule.Proc != nil:
		r.proc(rule.Proc, 0, at, nil, out, map[[2]int]bool{})
	default:
		for _, id := range rule.Any {
			maps.Copy(out, r.ends(id, at))
		}
	}
	r.memo[place{id, at}] = out
	return out
}

// proc adds to out the ends of a general rule from a state on.
func (r *recogniser) proc(p *pushdown.Proc, state int32, at int, items []string, out map[int]bool, seen map[[2]int]bool) {
	if seen[[2]int{int(state), at}] && !p.Unique {
		return
	}
	seen[[2]int{int(state), at}] = true
	s := &p.States[state]
	if s.Accept {
		out[at] = true
	}
	if at < len(r.text) {
		if to := automaton.Next(s.Edges, r.text[at]); to >= 0 {
			r.proc(p, to, at+1, items, out, seen)
		}
	}
	for _, call := range s.Calls {
		for end := range r.ends(call.Rule, at) {
			items := items
			if p.Unique {
				v, _, err := decode([]byte(r.text[at:end]))
				if err != nil {
					panic(err)
				}
				item := canonicalText(v)
				if slices.Contains(items, item) {
					continue
				}
				items = append(slices.Clip(items), item)
			}
			r.proc(p, call.Return, end, items, out, seen)
		}
	}
}

func (r *recogniser) run(d *automaton.DFA, at int) map[int]bool {
	out := map[int]bool{}
	for state := int32(0); state >= 0; at++ {
		if d.States[state].Accept {
			out[at] = true
		}
		if at == len(r.text) {
			break
		}
		state = d.Next(state, r.text[at])
	}
	return out
}

func inCount(t *pushdown.Text, text string) bool {
	var s string
	if !t.Counted {
		return true
	}
	if json.Unmarshal([]byte(text), &s) != nil {
		return false
	}
	n := utf8.RuneCountInString(s)
	return n >= t.Min && (t.Max < 0 || n <= t.Max)
}

// canonicalText returns a text of a value; equal values have equal texts.
func canonicalText(v *value) string {
	text, err := newCompiler(automaton.Limits{}).canonical(v)
	if err != nil {
		panic(err)
	}
	return text
}

// items adds to out the ends of an array after some items.
func (r *recogniser) items(a *pushdown.Array, at int, items []string, out map[int]bool) {
	rest, n := r.text[at:], len(items)
	if strings.HasPrefix(rest, "]") && n >= a.Min {
		out[at+1] = true
	}
	if n > 0 {
		if !strings.HasPrefix(rest, ",") {
			return
		}
		at++
	}
	if id := a.Items; (n < len(a.Prefix) || id >= 0) && (a.Max < 0 || n < a.Max) {
		if n < len(a.Prefix) {
			id = a.Prefix[n]
		}
		for end := range r.ends(id, at) {
			item := ""
			if a.Unique {
				v, _, err := decode([]byte(r.text[at:end]))
				if err != nil {
					panic(err)
				}
				if item = canonicalText(v); slices.Contains(items, item) {
					continue
				}
			}
			r.items(a, end, append(slices.Clip(items), item), out)
		}
	}
}

// members adds to out the ends of an object after the keys in used; next is the index of the
// next of Props.
func (r *recogniser) members(o *pushdown.Object, at, next int, used []string, out map[int]bool) {
	rest := r.text[at:]
	required := func(props []pushdown.Prop) bool {
		return slices.ContainsFunc(props, func(p pushdown.Prop) bool { return p.Required })
	}
	extras := len(used)
	for _, p := range o.Props {
		if slices.Contains(used, automaton.Quote(p.Name)) {
			extras--
		}
	}
	if strings.HasPrefix(rest, "}") && len(used) >= o.Min && !required(o.Props[next:]) && extras >= len(o.Lead) {
		out[at+1] = true
	}
	if o.Max >= 0 && len(used) == o.Max {
		return
	}
	if len(used) > 0 {
		if !strings.HasPrefix(rest, ",") {
			return
		}
		at++
	}
	for i, p := range o.Props[next:] {
		key := automaton.Quote(p.Name) + ":"
		if strings.HasPrefix(r.text[at:], key) && !required(o.Props[next:next+i]) {
			for end := range r.ends(p.Value, at+len(key)) {
				r.members(o, end, next+i+1, append(slices.Clip(used), automaton.Quote(p.Name)), out)
			}
		}
	}
	if required(o.Props[next:]) {
		return
	}
	lo, hi := o.Kinds(extras)
	for _, x := range o.Extra[lo:hi] {
		for end := range r.ends(x.Key, at) {
			key := r.text[at:end]
			declared := slices.ContainsFunc(o.Props, func(p pushdown.Prop) bool { return automaton.Quote(p.Name) == key })
			if declared || slices.Contains(used, key) || !strings.HasPrefix(r.text[end:], ":") {
				continue
			}
			for end := range r.ends(x.Value, end+1) {
				r.members(o, end, len(o.Props), append(slices.Clip(used), key), out)
			}
		}
	}
}

// spell writes a value as a rule orders it.
func spell(p *pushdown.Program, id pushdown.ID, v *value) (string, bool) {
	switch rule := p.Rules[id]; {
	case rule.Text != nil:
		if v.kind == arrayKind || v.kind == objectKind {
			return "", false
		}
		text, err := newCompiler(automaton.Limits{}).canonical(v)
		return text, err == nil && rule.Text.DFA.Match(text) && inCount(rule.Text, text)
	case rule.Array != nil:
		return spellArray(p, rule.Array, v)
	case rule.Object != nil:
		return spellObject(p, rule.Object, v)
	case rule.Proc != nil:
		if v.kind != arrayKind || rule.Proc.Unique && !differ(v.items) {
			return "", false
		}
		return spellProc(p, rule.Proc, 0, v.items, "")
	default:
		for _, id := range rule.Any {
			if text, ok := spell(p, id, v); ok {
				return text, true
			}
		}
	}
	return "", false
}

// differ reports whether all values are distinct.
func differ(list []*value) bool {
	seen := map[string]bool{}
	for _, v := range list {
		text := canonicalText(v)
		if seen[text] {
			return false
		}
		seen[text] = true
	}
	return true
}

// spellProc writes the remaining items of an array from a state of a general rule on.
func spellProc(p *pushdown.Program, proc *pushdown.Proc, state int32, items []*value, text string) (string, bool) {
	s := &proc.States[state]
	if s.Accept {
		return text, len(items) == 0
	}
	for _, b := range []byte("[,]") {
		if to := automaton.Next(s.Edges, b); to >= 0 && (b != ']' || len(items) == 0) {
			if all, ok := spellProc(p, proc, to, items, text+string(b)); ok {
				return all, true
			}
		}
	}
	for _, call := range s.Calls {
		if len(items) == 0 {
			break
		}
		if item, ok := spell(p, call.Rule, items[0]); ok {
			if all, ok := spellProc(p, proc, call.Return, items[1:], text+item); ok {
				return all, true
			}
		}
	}
	return "", false
}

func spellArray(p *pushdown.Program, a *pushdown.Array, v *value) (string, bool) {
	if v.kind != arrayKind || len(v.items) < a.Min || a.Max >= 0 && len(v.items) > a.Max {
		return "", false
	}
	var parts, seen []string
	for i, item := range v.items {
		if a.Unique && slices.Contains(seen, canonicalText(item)) {
			return "", false
		}
		seen = append(seen, canonicalText(item))
		id := a.Items
		if i < len(a.Prefix) {
			id = a.Prefix[i]
		}
		if id < 0 {
			return "", false
		}
		text, ok := spell(p, id, item)
		if !ok {
			return "", false
		}
		parts = append(parts, text)
	}
	return "[" + strings.Join(parts, ",") + "]", true
}

func spellObject(p *pushdown.Program, o *pushdown.Object, v *value) (string, bool) {
	if v.kind != objectKind || len(v.items) < o.Min || o.Max >= 0 && len(v.items) > o.Max {
		return "", false
	}
	var parts []string
	add := func(name string, id pushdown.ID, item *value) bool {
		text, ok := spell(p, id, item)
		parts = append(parts, automaton.Quote(name)+":"+text)
		return ok
	}
	declared := map[string]bool{}
	for _, prop := range o.Props {
		declared[prop.Name] = true
		item := v.get(prop.Name)
		if item == nil && prop.Required || item != nil && !add(prop.Name, prop.Value, item) {
			return "", false
		}
	}
	spelled := func(i int, kinds []pushdown.Extra) bool {
		return slices.ContainsFunc(kinds, func(x pushdown.Extra) bool {
			key := p.Rules[x.Key].Text
			quoted := automaton.Quote(v.keys[i])
			if !key.DFA.Match(quoted) || !inCount(key, quoted) {
				return false
			}
			before := len(parts)
			if add(v.keys[i], x.Value, v.items[i]) {
				return true
			}
			parts = parts[:before]
			return false
		})
	}
	var extras []int
	for i, name := range v.keys {
		if !declared[name] {
			extras = append(extras, i)
		}
	}
	// Try each extra member as the next one: a program orders only a few.
	var next func(n int, left []int) bool
	next = func(n int, left []int) bool {
		if len(left) == 0 {
			return n >= len(o.Lead)
		}
		lo, hi := o.Kinds(n)
		for at, i := range left {
			if before := len(parts); spelled(i, o.Extra[lo:hi]) {
				if next(n+1, slices.Concat(left[:at], left[at+1:])) {
					return true
				}
				parts = parts[:before]
			}
			if n >= len(o.Lead) {
				return false
			}
		}
		return false
	}
	ok := next(0, extras)
	return "{" + strings.Join(parts, ",") + "}", ok
}

// accepts reports whether an instance, spelled in the program's order, is in the program.
func accepts(t *testing.T, p *pushdown.Program, instance string) bool {
	t.Helper()
	v, _, err := decode([]byte(instance))
	if err != nil {
		t.Fatal(err)
	}
	text, ok := spell(p, p.Start, v)
	if ok && !matches(p, text) {
		t.Errorf("%s is spelled %s, which is not in the program", instance, text)
	}
	return ok
}

// some reports whether a program has a text.
func some(p *pushdown.Program) bool {
	c := compiler{rules: p.Rules}
	return c.productive()[p.Start]
}
