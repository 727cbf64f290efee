package jsonschema

import (
	"slices"

	"glossa/pkg/grammar/fault"
	"glossa/pkg/grammar/pushdown"
)

// maxLeast is how many bytes the shortest text of a schema may have: no model writes as
// many.
const maxLeast = 1 << 24

// maxDiffering is how many bytes the shortest text of an item may have that must differ
// from others: texts that do are searched for byte by byte.
const maxDiffering = 1 << 10

// endless is more bytes than any text has. So many times as may be asked for of anything
// are no overflow.
const endless = 1 << 32

// checkLeast refuses a program whose shortest text is too long, with the schema that
// makes it so.
func (c *compiler) checkLeast(start pushdown.ID) error {
	least := make([]int, len(c.rules))
	for i := range least {
		least[i] = endless
	}
	for again := true; again; {
		if err := c.spend(2*(len(c.rules)+c.sizes), 0); err != nil {
			return err
		}
		again = false
		for i := len(least) - 1; i >= 0; i-- {
			if n := c.least(&c.rules[i], least); n < least[i] {
				least[i], again = n, true
			}
		}
	}
	if least[start] <= maxLeast {
		return nil
	}
	at, keyword := c.longest(start, least)
	if keyword == "uniqueItems" && c.rules[at].Proc != nil {
		return fault.New(c.origins[at].of.pointer(), keyword, "next to contains: enough items may not differ, or have more than %d bytes", maxDiffering)
	}
	if keyword == "uniqueItems" {
		return fault.New(c.origins[at].of.pointer(), keyword, "the shortest of its items that must differ has more than %d bytes, which is the bound", maxDiffering)
	}
	return fault.New(c.origins[at].of.pointer(), keyword, "its shortest value has more than %d bytes, which is the bound", maxLeast)
}

// least returns how few bytes a text of a rule has, about, by what is known of others.
func (c *compiler) least(r *pushdown.Rule, of []int) int {
	n := 2
	switch {
	case r.Text != nil:
		characters, _ := c.extent(r.Text.DFA)
		n = max(1, characters, r.Text.Min)
	case r.Array != nil:
		for i := range min(r.Array.Min, len(r.Array.Prefix)) {
			n += 1 + of[r.Array.Prefix[i]]
		}
		if more := r.Array.Min - len(r.Array.Prefix); more > 0 && r.Array.Items >= 0 {
			n += more * (1 + of[r.Array.Items])
		} else if more > 0 {
			n = endless
		}
		if hardToTell(r.Array, of) {
			n = endless
		}
	case r.Object != nil:
		members := 0
		for _, p := range r.Object.Props {
			if p.Required {
				n += len(p.Name) + 4 + of[p.Value]
				members++
			}
		}
		for i := range r.Object.Lead {
			lo, hi := r.Object.Kinds(i)
			n += 4 + leastExtra(r.Object.Extra[lo:hi], of)
			members++
		}
		if missing := r.Object.Min - members; missing > 0 {
			lo, _ := r.Object.Kinds(len(r.Object.Lead))
			each := leastExtra(r.Object.Extra[lo:], of)
			for _, p := range r.Object.Props {
				if !p.Required {
					each = min(each, len(p.Name)+of[p.Value])
				}
			}
			n += missing * (4 + each)
		}
	case r.Proc != nil:
		n = c.leastOfProc(r.Proc, of)
	default:
		n = endless
		for _, id := range r.Any {
			n = min(n, of[id])
		}
	}
	return min(n, endless)
}

// hardToTell reports whether items of an array must differ that are too long for that.
func hardToTell(a *pushdown.Array, of []int) bool {
	long := func(id pushdown.ID) bool { return maxDiffering < of[id] && of[id] <= maxLeast }
	return a.Unique && a.Min > 1 && (slices.ContainsFunc(a.Prefix[:min(a.Min, len(a.Prefix))], long) ||
		a.Items >= 0 && len(a.Prefix) < a.Min && long(a.Items))
}

// leastExtra returns how few bytes the value of an extra member of some kinds has.
func leastExtra(kinds []pushdown.Extra, of []int) int {
	n := endless
	for _, x := range kinds {
		n = min(n, of[x.Value])
	}
	return n
}

// leastOfProc returns how few bytes lead through a general rule.
func (c *compiler) leastOfProc(p *pushdown.Proc, of []int) int {
	least := slices.Repeat([]int{endless}, len(p.States))
	for again := true; again; {
		again = false
		for i := len(least) - 1; i >= 0; i-- {
			s, n := &p.States[i], least[i]
			if s.Accept {
				n = 0
			}
			for _, e := range s.Edges {
				n = min(n, 1+least[e.To])
			}
			for _, call := range s.Calls {
				if !p.Unique || c.differs(&call, of) {
					n = min(n, of[call.Rule]+least[call.Return])
				}
			}
			if n < least[i] {
				least[i], again = n, true
			}
		}
	}
	return least[0]
}

// differs reports whether a call of a unique rule can read an item that differs from those
// before it.
func (c *compiler) differs(call *pushdown.Call, of []int) bool {
	return call.Before < 0 || of[call.Rule] <= maxDiffering && c.countTexts(call.Rule) > int(call.Before)
}

// longest returns the rule that is too long though those that it calls are not, and the
// keyword that makes it so.
func (c *compiler) longest(id pushdown.ID, least []int) (at pushdown.ID, keyword string) {
	for range c.rules {
		r := &c.rules[id]
		var calls []pushdown.ID
		switch {
		case r.Text != nil:
			return id, "minLength"
		case r.Array != nil:
			keyword = "minItems"
			calls = append(calls, r.Array.Prefix[:min(r.Array.Min, len(r.Array.Prefix))]...)
			if r.Array.Items >= 0 && r.Array.Min > len(r.Array.Prefix) {
				calls = append(calls, r.Array.Items)
			}
			if hardToTell(r.Array, least) {
				return id, "uniqueItems"
			}
		case r.Object != nil:
			keyword = "required"
			for _, p := range r.Object.Props {
				if p.Required {
					calls = append(calls, p.Value)
				}
			}
			if r.Object.Min > len(calls) {
				keyword = "minProperties"
			}
			for _, x := range r.Object.Extra {
				calls = append(calls, x.Value)
			}
		case r.Proc != nil:
			calls, keyword = partsOf(*r), "contains"
			if r.Proc.Unique && !slices.ContainsFunc(calls, func(id pushdown.ID) bool { return least[id] > maxLeast }) {
				return id, "uniqueItems"
			}
		default:
			calls, keyword = r.Any, ""
		}
		next := never
		for _, called := range calls {
			long := least[called] > maxLeast
			if long && next == never || next != never && least[called] < least[next] && r.Any != nil {
				next = called
			}
		}
		if next == never {
			break
		}
		id = next
	}
	return id, keyword
}
