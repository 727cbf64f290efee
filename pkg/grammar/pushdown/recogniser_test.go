package pushdown

import (
	"encoding/json"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"

	"glossa/pkg/grammar/automaton"
)

// A recogniser finds, by the definitions of rules alone, where their texts end in text.
type recogniser struct {
	p    *Program
	text string
	memo map[[2]int]map[int]bool
}

// matches reports whether text matches the program.
func (p *Program) matches(text string) bool {
	r := &recogniser{p, text, map[[2]int]map[int]bool{}}
	return r.ends(p.Start, 0)[len(text)]
}

// ends returns where the texts of a rule that begin at a position end.
func (r *recogniser) ends(id ID, at int) map[int]bool {
	key := [2]int{int(id), at}
	if known, ok := r.memo[key]; ok {
		return known
	}
	found := map[int]bool{}
	switch u := &r.p.Rules[id]; {
	case u.Text != nil:
		r.ofText(u.Text, at, found)
	case u.Array != nil:
		if r.has(at, "[") {
			r.ofArray(u.Array, at+1, nil, found)
		}
	case u.Object != nil:
		if r.has(at, "{") {
			r.ofObject(u.Object, at+1, 0, nil, found)
		}
	case u.Proc != nil:
		r.ofProc(u.Proc, 0, at, nil, found, map[[2]int]bool{})
	default:
		for _, one := range u.Any {
			maps.Copy(found, r.ends(one, at))
		}
	}
	r.memo[key] = found
	return found
}

func (r *recogniser) has(at int, text string) bool { return strings.HasPrefix(r.text[at:], text) }

func (r *recogniser) ofText(t *Text, at int, found map[int]bool) {
	state, chars := int32(0), 0
	for {
		s := &t.DFA.States[state]
		if s.Accept && (!t.Counted || chars >= t.Min && (t.Max < 0 || chars <= t.Max)) {
			found[at] = true
		}
		if at == len(r.text) {
			return
		}
		b := r.text[at]
		if s.Begins(b) {
			chars++
		}
		if state = t.DFA.Next(state, b); state < 0 {
			return
		}
		at++
	}
}

// ofArray finds the ends of an array after some items, and after a comma if there are any.
func (r *recogniser) ofArray(a *Array, at int, items []any, found map[int]bool) {
	n := len(items)
	if n == 0 && a.Min <= 0 && r.has(at, "]") {
		found[at+1] = true
	}
	item := a.Items
	if n < len(a.Prefix) {
		item = a.Prefix[n]
	}
	if item < 0 || a.Max >= 0 && n >= a.Max {
		return
	}
	for end := range r.ends(item, at) {
		items := items
		if items = append(slices.Clip(items), nil); a.Unique {
			if items[n] = decoded(r.text[at:end]); slices.ContainsFunc(items[:n], func(other any) bool { return reflect.DeepEqual(other, items[n]) }) {
				continue
			}
		}
		if n+1 >= a.Min && r.has(end, "]") {
			found[end+1] = true
		}
		if r.has(end, ",") {
			r.ofArray(a, end+1, items, found)
		}
	}
}

// decoded returns a JSON value, numbers as fractions in lowest terms.
func decoded(text string) any {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return text
	}
	return rational(v)
}

func rational(v any) any {
	switch v := v.(type) {
	case json.Number:
		r, _ := new(big.Rat).SetString(v.String())
		return r.RatString()
	case string:
		return "\"" + v
	case []any:
		for i := range v {
			v[i] = rational(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = rational(v[k])
		}
	}
	return v
}

// ofObject finds the ends of an object with some keys. Its next member of Props is the
// given one or a later one.
func (r *recogniser) ofObject(o *Object, at, prop int, keys []string, found map[int]bool) {
	missing := func(from, to int) bool {
		return slices.ContainsFunc(o.Props[from:to], func(p Prop) bool { return p.Required })
	}
	extras := 0
	for _, key := range keys {
		if !slices.ContainsFunc(o.Props, func(p Prop) bool { return automaton.Quote(p.Name) == key }) {
			extras++
		}
	}
	end := func(at int, prop, extras int, keys []string) {
		if r.has(at, "}") && extras >= len(o.Lead) && len(keys) >= o.Min && (o.Max < 0 || len(keys) <= o.Max) && !missing(prop, len(o.Props)) {
			found[at+1] = true
		}
	}
	if len(keys) == 0 {
		end(at, prop, extras, keys)
	}
	member := func(key string, value ID, prop, extras int) {
		if !r.has(at, key+":") || slices.Contains(keys, key) {
			return
		}
		keys := append(slices.Clip(keys), key)
		for after := range r.ends(value, at+len(key)+1) {
			end(after, prop, extras, keys)
			if r.has(after, ",") {
				r.ofObject(o, after+1, prop, keys, found)
			}
		}
	}
	for i := prop; i < len(o.Props) && !missing(prop, i); i++ {
		member(automaton.Quote(o.Props[i].Name), o.Props[i].Value, i+1, extras)
	}
	if missing(prop, len(o.Props)) {
		return
	}
	kinds := o.Extra
	for i, n := range o.Lead {
		if extras == i {
			kinds = kinds[:n]
			break
		}
		kinds = kinds[n:]
	}
	for _, x := range kinds {
		for after := range r.ends(x.Key, at) {
			key := r.text[at:after]
			if !slices.ContainsFunc(o.Props, func(p Prop) bool { return automaton.Quote(p.Name) == key }) {
				member(key, x.Value, len(o.Props), extras+1)
			}
		}
	}
}

func (r *recogniser) ofProc(p *Proc, state int32, at int, items []any, found map[int]bool, seen map[[2]int]bool) {
	key := [2]int{int(state), at}
	if seen[key] && !p.Unique { // of unique items it matters which they are
		return
	}
	seen[key] = true
	s := &p.States[state]
	if s.Accept {
		found[at] = true
	}
	if at < len(r.text) {
		if to := automaton.Next(s.Edges, r.text[at]); to >= 0 {
			r.ofProc(p, to, at+1, items, found, seen)
		}
	}
	for _, c := range s.Calls {
		for end := range r.ends(c.Rule, at) {
			items := items
			if p.Unique {
				item := decoded(r.text[at:end])
				if slices.ContainsFunc(items, func(other any) bool { return reflect.DeepEqual(other, item) }) {
					continue
				}
				items = append(slices.Clip(items), item)
			}
			r.ofProc(p, c.Return, end, items, found, seen)
		}
	}
}
