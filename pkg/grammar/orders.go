package grammar

import (
	"maps"
	"slices"
	"strconv"

	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/pushdown"
)

// orders finds the orders in which a program may require the members of an object. The rule
// that reads an object is unknown, so every rule that declares one of the members counts.
type orders struct {
	rules     []pushdown.Rule
	declaring map[string][]pushdown.ID // rules of objects, by the names that they declare
	free      bool                     // some rule may spell objects as bytes, in any order
	cache     map[string][][]string    // by the sorted names
}

func newOrders(p *pushdown.Program) *orders {
	o := &orders{rules: p.Rules, declaring: map[string][]pushdown.ID{}, cache: map[string][][]string{}}
	for i, r := range p.Rules {
		switch {
		case r.Object != nil:
			o.free = o.free || r.Object.Lead != nil // any of its members may come first
			for _, prop := range r.Object.Props {
				o.declaring[prop.Name] = append(o.declaring[prop.Name], pushdown.ID(i))
			}
		case r.Text != nil:
			o.free = o.free || nests(r.Text.DFA.States[0].Edges)
		case r.Proc != nil:
			for _, s := range r.Proc.States {
				o.free = o.free || has(s.Edges, '{') // an array spelled as bytes may contain objects
			}
		}
	}
	return o
}

// nests reports whether an object or an array may begin with one of the edges.
func nests(edges []automaton.Edge) bool { return has(edges, '{') || has(edges, '[') }

func has(edges []automaton.Edge, b byte) bool {
	return slices.ContainsFunc(edges, func(e automaton.Edge) bool { return e.Lo <= b && b <= e.Hi })
}

// of returns the orders for an object. Rules that declare more of its members come first;
// the last order is by name.
func (o *orders) of(values map[string]any) [][]string {
	names := slices.Sorted(maps.Keys(values))
	key := listKey(names)
	if list, ok := o.cache[key]; ok {
		return list
	}
	shared := map[pushdown.ID]int{} // members that a rule declares
	for _, name := range names {
		for _, id := range o.declaring[name] {
			shared[id]++
		}
	}
	ids := slices.SortedFunc(maps.Keys(shared), func(a, b pushdown.ID) int {
		if shared[a] != shared[b] {
			return shared[b] - shared[a]
		}
		return int(a - b)
	})
	var list [][]string
	seen := map[string]bool{}
	add := func(order []string) {
		if text := listKey(order); !seen[text] {
			seen[text] = true
			list = append(list, order)
		}
	}
	for _, id := range ids {
		add(declared(o.rules[id].Object, values, names))
	}
	add(names)
	o.cache[key] = list
	return list
}

// listKey returns a key that no other list has: names may be empty or have any bytes.
func listKey(names []string) string {
	var key []byte
	for _, name := range names {
		key = append(strconv.AppendInt(key, int64(len(name)), 10), ':')
		key = append(key, name...)
	}
	return string(key)
}

// declared returns names in the rule's order, followed by the undeclared ones.
func declared(rule *pushdown.Object, values map[string]any, names []string) []string {
	order := make([]string, 0, len(names))
	first := make(map[string]bool, len(names))
	for _, p := range rule.Props {
		if _, ok := values[p.Name]; ok && !first[p.Name] {
			order, first[p.Name] = append(order, p.Name), true
		}
	}
	for _, name := range names {
		if !first[name] {
			order = append(order, name)
		}
	}
	return order
}
