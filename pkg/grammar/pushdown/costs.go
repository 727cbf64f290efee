package pushdown

import (
	"slices"

	"glossa/pkg/grammar/automaton"
)

// never is the cost of an impossible continuation. The sum of two does not overflow.
const never int32 = 1 << 29

// costs holds how many tokens suffice to end, from every state of a machine. They are
// upper bounds with one invariant: wherever the cost c is positive and less than never,
// some token leads to a cost less than c. A caller that takes only tokens after which the
// cost fits in the remaining tokens therefore always has one to take, and ends in time.
type costs struct {
	budget     *automaton.Budget // only during newCosts
	m          *Machine
	v          *Vocabulary
	start      []int32 // by rule: from its beginning to its end
	texts      []*textIndex
	objects    []*objectCosts
	procs      [][]int32          // by state
	openValues []int32            // by rule: values without a longest text that it must have
	sampling   int                // work: elements looked at for samples
	samples    map[ID][]string    // by rule of a unique array's items: different texts, the shortest first
	equals     map[*Array][]int32 // of unique arrays, by required item: how many of those before it may be equal to it
	empty      struct{ array, object int32 }
}

func newCosts(budget *automaton.Budget, m *Machine, v *Vocabulary) (*costs, error) {
	c := &costs{
		budget: budget, m: m, v: v, start: slices.Repeat([]int32{never}, len(m.rules)), texts: make([]*textIndex, len(m.rules)),
		samples: map[ID][]string{}, equals: map[*Array][]int32{}, objects: make([]*objectCosts, len(m.rules)), procs: make([][]int32, len(m.rules)), openValues: make([]int32, len(m.rules)),
	}
	c.empty.array, c.empty.object = v.spell("[]")[0], v.spell("{}")[0]
	size := 0 // of all rules
	for i := range m.rules {
		size += 2 + sizeOf(&m.rules[i].Rule)
		if err := budget.Spend(8, 64); err != nil {
			return nil, &RuleError{ID(max(0, i-1)), err} // the rule before exhausted it
		}
		switch r := &m.rules[i]; {
		case r.Text != nil:
			c.texts[i] = v.textIndexWithin(budget, textKey{r.Text.DFA, r.short != nil})
		case r.Object != nil:
			c.objects[i] = c.spellKeys(r)
		case r.Proc != nil:
			c.procs[i] = slices.Repeat([]int32{never}, len(r.Proc.States))
		}
	}
	order, cyclic := m.postorder()
	for changed := true; changed; {
		if err := budget.Spend(8*size, 0); err != nil {
			return nil, err
		}
		changed = false
		for _, id := range order {
			if m.dead[id] {
				continue // members have costs even if the object's bounds forbid them
			}
			if cost := c.rule(id); cost < c.start[id] {
				c.start[id], changed = cost, cyclic
			}
			if err := budget.Err(); err != nil {
				return nil, &RuleError{id, err}
			}
		}
	}
	for _, id := range order {
		c.openValues[id] = c.openValuesOf(id)
	}
	c.budget = nil
	return c, budget.Err()
}

// sizeOf estimates the steps to compute the cost of a rule.
func sizeOf(r *Rule) int {
	switch {
	case r.Array != nil:
		return len(r.Array.Prefix)
	case r.Object != nil:
		return (1 + len(r.Object.Props)) * (1 + max(0, r.Object.Min)) * (1 + len(r.Object.Extra))
	}
	return len(r.Any)
}

// postorder lists the rules, each after the rules that it calls, except within cycles.
func (m *Machine) postorder() (order []ID, cyclic bool) {
	state := make([]uint8, len(m.rules)) // 0 new, 1 on the path, 2 done
	type pathEntry struct {
		id      ID
		callees []ID
	}
	for i := range m.rules {
		if state[i] != 0 {
			continue
		}
		state[i] = 1
		for path := []pathEntry{{ID(i), calls(&m.rules[i].Rule)}}; len(path) > 0; {
			at := &path[len(path)-1]
			if len(at.callees) == 0 {
				state[at.id] = 2
				order = append(order, at.id)
				path = path[:len(path)-1]
				continue
			}
			to := at.callees[0]
			at.callees = at.callees[1:]
			switch state[to] {
			case 1:
				cyclic = true
			case 0:
				state[to] = 1
				path = append(path, pathEntry{to, calls(&m.rules[to].Rule)})
			}
		}
	}
	return order, cyclic
}

// rule returns the cost of a rule, given the costs so far of the rules that it calls.
func (c *costs) rule(id ID) int32 {
	switch r := &c.m.rules[id]; {
	case r.Text != nil:
		return c.textStart(r, c.texts[id])
	case r.Array != nil:
		return c.arrayStart(r.Array)
	case r.Object != nil:
		return c.objectStart(r, c.objects[id])
	case r.Proc != nil:
		return c.procStart(r.Proc, c.procs[id])
	default:
		least := never
		for _, one := range r.Any {
			least = min(least, c.start[one])
		}
		return least
	}
}

// elementCost returns the cost from an element to the end of the text.
func (c *costs) elementCost(r *run, e *element) int32 {
	if e.rule == ended {
		return 0
	}
	if r.frames[e.stack].itemFrame != 0 {
		return c.itemCost(r, e)
	}
	return min(never, c.costToRuleEnd(r, e)+r.frames[e.stack].cost)
}

// leastCost returns the least cost of elements.
func (c *costs) leastCost(r *run, elements []element) int32 {
	least := never
	for i := range elements {
		least = min(least, c.elementCost(r, &elements[i]))
	}
	return least
}

// costToRuleEnd returns the cost from an element to the end of its rule.
func (c *costs) costToRuleEnd(r *run, e *element) int32 {
	switch u := &c.m.rules[e.rule]; {
	case u.Text != nil:
		return c.inText(r, u, e)
	case u.Array != nil:
		return c.inArray(u.Array, e)
	case u.Proc != nil:
		return c.procs[e.rule][e.state]
	default:
		return c.inObject(r, u, e)
	}
}

func (c *costs) byteCost(b byte) int32 {
	if c.v.isToken[b] {
		return 1
	}
	return never
}

// --- arrays ---

func (c *costs) arrayStart(a *Array) int32 {
	if a.Unique && c.equals[a] == nil {
		c.equals[a] = c.countEqual(a)
	}
	for i := int32(1); a.Unique && int(i) < a.Min && a.item(i) >= 0; i++ {
		c.sample(a.item(i), a.Min)
	}
	if a.Min > 0 {
		return sum(c.byteCost('['), c.arrayItemCost(a, 0), c.arrayTailCost(a, 1))
	}
	return min(c.empty.array, sum(c.byteCost('['), c.byteCost(']')))
}

// arrayTailCost returns the cost of an array after n items.
func (c *costs) arrayTailCost(a *Array, n int32) int32 {
	total := c.byteCost(']')
	each := min(a.Min, len(a.Prefix))
	if a.Unique {
		each = a.Min
	}
	for ; int(n) < each; n++ {
		total = sum(total, c.byteCost(','), c.arrayItemCost(a, n))
	}
	if more := int64(a.Min) - int64(n); more > 0 {
		each := int64(sum(c.byteCost(','), c.arrayItemCost(a, n)))
		total = sum(total, int32(min(int64(never), more*each)))
	}
	return total
}

func (c *costs) inArray(a *Array, e *element) int32 {
	switch {
	case e.state == atStart:
		return c.start[e.rule]
	case e.state == afterOne:
		return c.arrayTailCost(a, e.reg)
	case a.Min <= 0:
		return c.byteCost(']')
	}
	return never // its items are separate elements
}

// sum adds costs.
func sum(of ...int32) (total int32) {
	for _, x := range of {
		total = min(never, total+x)
	}
	return total
}

// --- general rules ---

// procStart sets the costs of the states by shortest paths: a token along edges costs
// one, and a call costs what its rule does.
func (c *costs) procStart(p *Proc, cost []int32) int32 {
	for i := 0; p.Unique && i < len(p.States); i++ {
		for _, call := range p.States[i].Calls {
			if call.Before >= 0 && call.Before < MaxUnique {
				c.sample(call.Rule, int(call.Before)+1)
			}
		}
	}
	for changed := true; changed && c.budget.Spend(8*len(p.States), 0) == nil; {
		changed = false
		for i := len(p.States) - 1; i >= 0; i-- {
			if least := c.procState(p, int32(i), cost); least < cost[i] {
				cost[i], changed = least, true
			}
		}
	}
	return cost[0]
}

// callCost returns the cost of the text that a call reads.
func (c *costs) callCost(p *Proc, call *Call) int32 {
	switch {
	case !p.Unique || call.Before < 0:
		return c.start[call.Rule]
	case call.Before == MaxUnique || len(c.samples[call.Rule]) <= int(call.Before):
		return never
	}
	return int32(len(c.samples[call.Rule][call.Before]))
}

func (c *costs) procState(p *Proc, i int32, cost []int32) int32 {
	s := &p.States[i]
	if s.Accept {
		return 0
	}
	least := never
	for _, call := range s.Calls {
		least = min(least, sum(c.callCost(p, &call), cost[call.Return]))
	}
	looked := c.v.tokensFrom(i, func(at int32) []edge { return p.States[at].Edges }, func(to, _ int32) {
		least = min(least, sum(1, cost[to]))
	})
	_ = c.budget.Spend(2*looked, 0) // newCosts reports it
	return least
}
