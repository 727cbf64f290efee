package pushdown

import "glossa/pkg/grammar/automaton"

// objectCosts holds the costs of the parts of an object.
type objectCosts struct {
	keys              [][]int32 // (member, byte): from that byte through the colon
	firstKey, nextKey []int32   // by member: its key with the bracket or comma before it
	extra             []int32   // by kind of Extra: at most, an unused key and its colon
	afterMember       [][]int32 // (members missing to Min, next of Props): after a value, before any extra member
	afterExtra        [][]int32 // (extra members for Lead, members missing to Min): after an extra member
}

// spellKeys computes the costs of the keys.
func (c *costs) spellKeys(u *rule) *objectCosts {
	n, t := len(u.Object.Props), u.object
	bytes, rest := 0, (1+max(0, u.Object.Min))*(n+1)
	for _, key := range t.keys {
		bytes += len(key)
	}
	if c.budget.Spend(16*bytes+rest, 8*bytes+64*n+4*rest) != nil {
		return nil // newCosts reports it
	}
	o := &objectCosts{keys: make([][]int32, n), firstKey: make([]int32, n), nextKey: make([]int32, n)}
	for i, key := range t.keys {
		o.keys[i] = c.v.spell(key)
		o.firstKey[i] = c.prefixedKeyCost("{"+key, o.keys[i])
		o.nextKey[i] = c.prefixedKeyCost(","+key, o.keys[i])
	}
	o.afterMember = make([][]int32, 1+max(0, u.Object.Min))
	for d := range o.afterMember {
		o.afterMember[d] = make([]int32, n+1)
	}
	o.afterExtra = make([][]int32, 1+len(u.Object.Lead))
	for i := range o.afterExtra {
		o.afterExtra[i] = make([]int32, len(o.afterMember))
	}
	o.extra = make([]int32, len(u.Object.Extra))
	for i, x := range u.Object.Extra {
		o.extra[i] = never
		need := u.Object.Min // extra members up to and including it
		if lo, _ := u.Object.Kinds(len(u.Object.Lead)); i < lo {
			need = 1 + u.Object.Shared(i, func(id ID) *automaton.DFA { return c.m.rules[id].Text.DFA })
		}
		if need > 0 { // otherwise it is never required
			t := c.v.textIndexWithin(c.budget, textKey{d: c.m.rules[x.Key].Text.DFA})
			o.extra[i] = sum(t.nthLength(c.budget, u.ownKeys(t)+need), c.byteCost(':'))
		}
	}
	return o
}

// ownKeys returns how many of the object's Props have a key among some texts.
func (u *rule) ownKeys(t *textIndex) (n int) {
	for _, key := range u.object.keys {
		if t.matches(0, key[:len(key)-1]) {
			n++
		}
	}
	return n
}

// prefixedKeyCost returns the cost of a key with a byte before it.
func (c *costs) prefixedKeyCost(text string, key []int32) int32 {
	return c.v.spellOne(text, append([]int32{never}, key...))
}

// objectStart sets the cost after each member, from the last one backwards, and returns
// the cost of the whole object.
func (c *costs) objectStart(u *rule, o *objectCosts) int32 {
	n := int32(len(u.Object.Props))
	leads := len(u.Object.Lead)
	for n := leads; n >= 0; n-- {
		for d := range o.afterExtra[n] {
			if o.afterExtra[n][d] = c.byteCost('}'); d > 0 || n < leads {
				o.afterExtra[n][d] = c.anyExtra(u, o, d, n, c.byteCost(','))
			}
		}
	}
	for d := range o.afterMember {
		member := never // of the next of Props
		for i := n; i >= 0; i-- {
			least := never
			if d == 0 && u.object.needs[i] == 0 && leads == 0 {
				least = c.byteCost('}')
			}
			member = c.nextMember(u, o, i, d, member)
			o.afterMember[d][i] = min(least, member, c.nextExtra(u, o, i, d, c.byteCost(',')))
		}
	}
	missing := len(o.afterMember) - 1
	least := min(c.firstMember(u, o, missing), c.nextExtra(u, o, 0, missing, c.byteCost('{')))
	if missing == 0 && u.object.needs[0] == 0 && leads == 0 {
		least = min(least, c.empty.object, sum(c.byteCost('{'), c.byteCost('}')))
	}
	return least
}

// firstMember returns the cost of an object that begins with one of Props, if it needs
// at least missing members.
func (c *costs) firstMember(u *rule, o *objectCosts, missing int) int32 {
	least, first, last := never, int32(0), u.object.required[0]
	if missing == 0 {
		first = last // optional members before it are not needed, and may not fit
	}
	for i := first; i <= last && int(i) < len(o.firstKey); i++ {
		least = min(least, c.member(u, o, i, missing, o.firstKey))
	}
	return least
}

// nextMember returns the cost, after a value, of one of Props from i on and everything after
// it. later is the cost from i+1 on, and missing is how many members are still needed.
func (c *costs) nextMember(u *rule, o *objectCosts, i int32, missing int, later int32) int32 {
	switch n, required := int32(len(o.nextKey)), u.object.required[i]; {
	case i == n || missing == 0 && required == n:
		return never // optional members are not needed
	case i == required:
		return c.member(u, o, i, missing, o.nextKey)
	case missing == 0:
		return later
	}
	return min(later, c.member(u, o, i, missing, o.nextKey))
}

// member returns the cost of member i of Props and everything after it. lead has the costs
// of the keys with the byte before them.
func (c *costs) member(u *rule, o *objectCosts, i int32, missing int, lead []int32) int32 {
	return sum(lead[i], c.start[u.Object.Props[i].Value], o.afterMember[max(0, missing-1)][i+1])
}

// nextExtra returns the cost of an extra member and everything after it.
func (c *costs) nextExtra(u *rule, o *objectCosts, i int32, missing int, lead int32) int32 {
	if missing == 0 && u.Object.Lead == nil || u.object.needs[i] > 0 {
		return never
	}
	return c.anyExtra(u, o, missing, 0, lead)
}

// anyExtra returns the cost of an extra member after leading ones of Lead, and everything
// after it.
func (c *costs) anyExtra(u *rule, o *objectCosts, missing, leading int, lead int32) int32 {
	least := never
	lo, hi := u.Object.Kinds(leading)
	after := o.afterExtra[min(leading+1, len(u.Object.Lead))][max(0, missing-1)]
	for k, x := range u.Object.Extra[lo:hi] {
		least = min(least, sum(lead, o.extra[lo+k], c.start[x.Value], after))
	}
	return least
}

// inObject returns the cost of an element in an object.
func (c *costs) inObject(r *run, u *rule, e *element) int32 {
	o, missing := c.objects[e.rule], max(0, u.Object.Min-int(e.count))
	switch {
	case e.state < 0:
		kind := int(afterExtra - e.state)
		return sum(c.byteCost(':'), c.start[u.Object.Extra[kind].Value], o.afterExtra[u.Object.leadsThrough(kind)][missing])
	case e.state == atStart:
		return c.start[e.rule]
	case e.state == afterOne && e.used != 0:
		return o.afterExtra[r.leadCount(u.Object, e.used)][missing]
	case e.state == afterOne:
		return o.afterMember[missing][e.reg]
	case e.state == atFirst || e.state == afterComma:
		least := c.inKey(r, u, o, e, 0, missing)
		if e.state == atFirst && missing == 0 && u.object.needs[0] == 0 && u.Object.Lead == nil {
			least = min(least, c.byteCost('}'))
		}
		return least
	}
	return c.inKey(r, u, o, e, e.state-inKey, missing)
}

// inKey returns the cost at a node of the trie of keys.
func (c *costs) inKey(r *run, u *rule, o *objectCosts, e *element, node int32, missing int) int32 {
	n, least := &u.object.nodes[node], never
	for _, i := range u.object.order[n.lo:n.hi] {
		if r.mayMember(u, e, i) {
			least = min(least, sum(o.keys[i][n.depth], c.start[u.Object.Props[i].Value], o.afterMember[max(0, missing-1)][i+1]))
		}
	}
	return least
}

// --- open values ---

// openValuesOf returns how many values without a longest text a rule must have, given the
// counts of the rules that it calls.
func (c *costs) openValuesOf(id ID) (n int32) {
	switch r := &c.m.rules[id]; {
	case r.Text != nil:
		if r.unbounded {
			n = 1
		}
	case r.Array != nil:
		n = c.openInArray(r.Array, 0)
	case r.Object != nil:
		n = c.openInObject(r, 0)
	case r.Proc == nil && len(r.Any) > 0:
		n = c.openValues[r.Any[0]]
		for _, one := range r.Any {
			n = min(n, c.openValues[one])
		}
	}
	return min(n, maxOpenValues)
}

// maxOpenValues caps the count of open values.
const maxOpenValues = 1 << 10

func (c *costs) openInArray(a *Array, from int32) (n int32) {
	for i := from; int(i) < a.Min && n < maxOpenValues; i++ {
		id := a.item(i)
		if id < 0 || c.openValues[id] == 0 && int(i) >= len(a.Prefix) {
			break
		}
		n += c.openValues[id]
	}
	return n
}

func (c *costs) openInObject(u *rule, from int32) (n int32) {
	for i := int(from); i < len(u.Object.Props); i++ {
		if p := &u.Object.Props[i]; p.Required {
			n += c.openValues[p.Value]
		}
	}
	return n
}

// openValuesAfter returns how many open values must still come in the rule of an element
// after the called rule returns to it.
func (c *costs) openValuesAfter(e *element) int32 {
	switch u := &c.m.rules[e.rule]; {
	case u.Array != nil:
		return min(maxOpenValues, c.openInArray(u.Array, e.reg))
	case u.Object != nil:
		n := c.openInObject(u, e.reg)
		if e.state < 0 {
			n += c.openValues[u.Object.Extra[afterExtra-e.state].Value]
		}
		return min(maxOpenValues, n)
	}
	return 0
}
