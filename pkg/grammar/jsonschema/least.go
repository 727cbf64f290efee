package jsonschema

import (
	"slices"

	"glossa/pkg/grammar/fault"
	"glossa/pkg/grammar/pushdown"
)

// maxMinBytes bounds the shortest text of a schema, in bytes: no model writes more.
const maxMinBytes = 1 << 24

// maxUniqueItemBytes bounds the shortest text of an item of a unique array, in bytes: the search
// for a different text is byte by byte.
const maxUniqueItemBytes = 1 << 10

// unbounded is more bytes than any text has. Its product with any bound of a schema does not
// overflow.
const unbounded = 1 << 32

// checkMinBytes refuses a program whose shortest text is too long. The error names the schema
// at fault.
func (c *compiler) checkMinBytes(start pushdown.ID) error {
	least := make([]int, len(c.rules))
	for i := range least {
		least[i] = unbounded
	}
	for again := true; again; {
		if err := c.spend(2*(len(c.rules)+c.sizes), 0); err != nil {
			return err
		}
		again = false
		for i := len(least) - 1; i >= 0; i-- {
			if n := c.minBytes(&c.rules[i], least); n < least[i] {
				least[i], again = n, true
			}
		}
	}
	if least[start] <= maxMinBytes {
		return nil
	}
	at, keyword := c.tooLong(start, least)
	if keyword == "uniqueItems" && c.rules[at].Proc != nil {
		return fault.New(c.origins[at].of.pointer(), keyword, "next to contains: too few items may differ, or they have more than %d bytes", maxUniqueItemBytes)
	}
	if keyword == "uniqueItems" {
		return fault.New(c.origins[at].of.pointer(), keyword, "the shortest of its items that must differ exceeds the limit of %d bytes", maxUniqueItemBytes)
	}
	return fault.New(c.origins[at].of.pointer(), keyword, "its shortest value exceeds the limit of %d bytes", maxMinBytes)
}

// minBytes estimates the bytes of a rule's shortest text from the estimates of other rules.
func (c *compiler) minBytes(r *pushdown.Rule, of []int) int {
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
			n = unbounded
		}
		if hasLongUniqueItems(r.Array, of) {
			n = unbounded
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
			n += 4 + minBytesOfExtra(r.Object.Extra[lo:hi], of)
			members++
		}
		if missing := r.Object.Min - members; missing > 0 {
			lo, _ := r.Object.Kinds(len(r.Object.Lead))
			each := minBytesOfExtra(r.Object.Extra[lo:], of)
			for _, p := range r.Object.Props {
				if !p.Required {
					each = min(each, len(p.Name)+of[p.Value])
				}
			}
			n += missing * (4 + each)
		}
	case r.Proc != nil:
		n = c.minBytesOfProc(r.Proc, of)
	default:
		n = unbounded
		for _, id := range r.Any {
			n = min(n, of[id])
		}
	}
	return min(n, unbounded)
}

// hasLongUniqueItems reports whether an array has unique items above maxUniqueItemBytes.
func hasLongUniqueItems(a *pushdown.Array, of []int) bool {
	long := func(id pushdown.ID) bool { return maxUniqueItemBytes < of[id] && of[id] <= maxMinBytes }
	return a.Unique && a.Min > 1 && (slices.ContainsFunc(a.Prefix[:min(a.Min, len(a.Prefix))], long) ||
		a.Items >= 0 && len(a.Prefix) < a.Min && long(a.Items))
}

// minBytesOfExtra returns the bytes of the shortest value of an extra member of some kinds.
func minBytesOfExtra(kinds []pushdown.Extra, of []int) int {
	n := unbounded
	for _, x := range kinds {
		n = min(n, of[x.Value])
	}
	return n
}

// minBytesOfProc returns the bytes of the shortest text of a general rule.
func (c *compiler) minBytesOfProc(p *pushdown.Proc, of []int) int {
	least := slices.Repeat([]int{unbounded}, len(p.States))
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

// differs reports whether a call of a unique rule can read an item that differs from all
// earlier ones.
func (c *compiler) differs(call *pushdown.Call, of []int) bool {
	return call.Before < 0 || of[call.Rule] <= maxUniqueItemBytes && c.countTexts(call.Rule) > int(call.Before)
}

// tooLong returns the rule that is too long although its callees are not, and the keyword
// at fault.
func (c *compiler) tooLong(id pushdown.ID, least []int) (at pushdown.ID, keyword string) {
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
			if hasLongUniqueItems(r.Array, least) {
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
			if r.Proc.Unique && !slices.ContainsFunc(calls, func(id pushdown.ID) bool { return least[id] > maxMinBytes }) {
				return id, "uniqueItems"
			}
		default:
			calls, keyword = r.Any, ""
		}
		next := never
		for _, called := range calls {
			long := least[called] > maxMinBytes
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
