package pushdown

import "slices"

// order moves an element at which a cheapest way to the end begins to the front, drops the most
// expensive ones beyond the bound of elements, and returns the others and their least cost.
func (c *costs) order(r *run, now []element) ([]element, int32) {
	if len(now) < 2 {
		return now, c.leastCost(r, now)
	}
	type priced struct {
		element
		cost int32
	}
	list, first := make([]priced, len(now)), 0
	for i, e := range now {
		list[i] = priced{e, c.elementCost(r, &e)}
		if cost, least := list[i].cost, list[first].cost; cost < least || cost == least && i > 0 && !c.leads(&now[first]) && c.leads(&e) {
			first = i
		}
	}
	list[0], list[first] = list[first], list[0]
	if len(list) > c.m.maxElements {
		slices.SortStableFunc(list[1:], func(a, b priced) int { return int(a.cost - b.cost) })
	}
	now = now[:min(len(now), c.m.maxElements)]
	for i := range now {
		now[i] = list[i].element
	}
	return now, list[0].cost
}

// leads reports whether a cheapest way from an element to the end begins with a byte of its own.
func (c *costs) leads(e *element) bool {
	if e.rule == ended {
		return true
	}
	switch u := &c.m.rules[e.rule]; {
	case u.Text != nil:
		return !u.Text.DFA.States[e.state].Accept
	case u.Proc != nil:
		s := &u.Proc.States[e.state]
		return !s.Accept && c.cheapestCall(u.Proc, s, e) < 0
	}
	return true
}

// cheapestCall returns the index of the call at an element with which a cheapest way begins,
// or -1 if it begins with a byte.
func (c *costs) cheapestCall(p *Proc, s *ProcState, e *element) int {
	cost := c.procs[e.rule]
	return slices.IndexFunc(s.Calls, func(call Call) bool { return sum(c.callCost(p, &call), cost[call.Return]) == cost[e.state] })
}

// cheapestOf returns the cheapest of some rules.
func (c *costs) cheapestOf(any []ID) ID {
	return slices.MinFunc(any, func(a, b ID) int { return int(c.start[a] - c.start[b]) })
}
