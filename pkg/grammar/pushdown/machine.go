package pushdown

import (
	"errors"
	"fmt"
	"slices"

	"glossa/pkg/grammar/automaton"
)

// A Machine is a program prepared to run. It is safe for concurrent use.
type Machine struct {
	rules       []rule
	start       ID
	dead        []bool // by rule: it matches nothing
	maxElements int    // bound of the elements of a run
	json        bool   // see Program.JSON

	// Only during New:
	budget     *automaton.Budget
	quote      func(name string) string
	shortestOf map[*automaton.DFA]*shortest
	finiteOf   map[*automaton.DFA]bool
	size       int // of the rules: the calls and states of all
}

// A rule is a rule of the program with data prepared for its steps.
type rule struct {
	Rule
	object    *object   // if Object is set
	unbounded bool      // Text: without a longest text
	short     *shortest // Text: nil unless its characters are bounded
}

// New prepares a program. It returns an error for a program that matches nothing and for
// one with left recursion: a rule that calls itself before a byte is read.
func New(p *Program) (*Machine, error) { return NewWithin(nil, p) }

// NewWithin is [New] within a budget.
func NewWithin(budget *automaton.Budget, p *Program) (*Machine, error) {
	m := &Machine{budget: budget, rules: make([]rule, len(p.Rules)), start: p.Start, dead: make([]bool, len(p.Rules)), shortestOf: map[*automaton.DFA]*shortest{}, finiteOf: map[*automaton.DFA]bool{}, maxElements: maxElements, json: p.JSON, quote: p.quote}
	if m.quote == nil {
		m.quote = automaton.Quote
	}
	for i := range p.Rules {
		if err := m.add(ID(i), &p.Rules[i]); err != nil {
			return nil, &RuleError{ID(i), err}
		}
	}
	if p.Start < 0 || int(p.Start) >= len(p.Rules) {
		return nil, fmt.Errorf("no rule %d to start with", p.Start)
	}
	if err := m.checkRecursion(); err != nil {
		return nil, err
	}
	m.findDead()
	if err := budget.Err(); err != nil {
		return nil, err
	}
	if m.dead[p.Start] {
		return nil, errors.New("nothing matches it")
	}
	m.budget, m.quote, m.shortestOf, m.finiteOf = nil, nil, nil, nil
	return m, nil
}

// add checks a rule and prepares it.
func (m *Machine) add(id ID, r *Rule) error {
	prepared, set := &m.rules[id], 0
	prepared.Rule = *r
	for _, is := range []bool{r.Text != nil, r.Array != nil, r.Object != nil, r.Proc != nil} {
		if is {
			set++
		}
	}
	if set > 1 || set == 1 && r.Any != nil {
		return fmt.Errorf("rule %d is of two kinds", id)
	}
	m.maxElements = max(m.maxElements, maxElements+min(elementsPerChoice*len(r.Any), maxChoiceElements))
	called := calls(r)
	m.size += 1 + len(called)
	if r.Proc != nil {
		m.size += len(r.Proc.States)
	}
	if err := m.budget.Spend(4+4*len(called), 200+4*len(called)); err != nil {
		return err
	}
	for _, called := range called {
		if called < 0 || int(called) >= len(m.rules) {
			return fmt.Errorf("rule %d calls rule %d, which does not exist", id, called)
		}
	}
	switch {
	case r.Text != nil:
		if t := r.Text; t.Counted && (t.Max >= 0 || t.Min > 0) {
			prepared.short = m.shortest(t.DFA)
		}
		if t := r.Text; t.Counted && t.Min > 0 && !plain(t.DFA) {
			return fmt.Errorf("rule %d: at least %d characters of strings that are not plain", id, t.Min)
		}
		prepared.unbounded = !m.finite(r.Text.DFA) && (!r.Text.Counted || r.Text.Max < 0 || r.Text.Max > shortText)
	case r.Proc != nil && r.Proc.Unique:
		for _, s := range r.Proc.States {
			if slices.ContainsFunc(s.Calls, func(c Call) bool { return c.Before < -1 || c.Before > MaxUnique }) {
				return fmt.Errorf("rule %d: an array of more than %d different items at least is too large", id, MaxUnique)
			}
		}
	case r.Array != nil:
		if r.Array.Unique && r.Array.Min > MaxUnique {
			return fmt.Errorf("rule %d: an array of %d different items at least is too large", id, r.Array.Min)
		}
	case r.Object != nil:
		if r.Object.Min > 0 && r.Object.Min*(len(r.Object.Props)+1) > maxMissing {
			return fmt.Errorf("rule %d: an object of %d members at least is too large", id, r.Object.Min)
		}
		n := 0
		for i := range r.Object.Props {
			n += len(r.Object.Props[i].Name) + 8
		}
		if err := m.budget.Spend(8*n, 48*n); err != nil {
			return err
		}
		prepared.object = newObject(r.Object, m.quote)
	}
	return nil
}

// finite reports whether a DFA has no cycle. It caches the result.
func (m *Machine) finite(d *automaton.DFA) bool {
	is, ok := m.finiteOf[d]
	if !ok {
		_ = m.budget.Spend(4*len(d.States), 8*len(d.States)) // New reports it
		is = finite(d)
		m.finiteOf[d] = is
	}
	return is
}

// spendPass spends the cost of one pass over all rules, and reports whether the budget is
// not exhausted.
func (m *Machine) spendPass() bool { return m.budget.Spend(4*m.size, m.size) == nil }

// shortest returns the paths of fewest characters to the end of a DFA of strings.
func (m *Machine) shortest(d *automaton.DFA) *shortest {
	if m.shortestOf[d] == nil {
		_ = m.budget.Spend(100*len(d.States), 80*len(d.States)) // New reports it
		m.shortestOf[d] = newShortest(d, byteMoves(d, func(byte) bool { return true }))
	}
	return m.shortestOf[d]
}

// maxMissing bounds the table of the costs of missing members.
const maxMissing = 1 << 18

// shortText is the greatest bound of a string that gets no share of the token budget.
const shortText = 16

// calls lists the rules that r calls.
func calls(r *Rule) (list []ID) {
	switch {
	case r.Array != nil:
		list = slices.Clone(r.Array.Prefix)
		if r.Array.Items >= 0 {
			list = append(list, r.Array.Items)
		}
	case r.Object != nil:
		for _, p := range r.Object.Props {
			list = append(list, p.Value)
		}
		for _, e := range r.Object.Extra {
			list = append(list, e.Key, e.Value)
		}
	case r.Proc != nil:
		for i := range r.Proc.States {
			for _, c := range r.Proc.States[i].Calls {
				list = append(list, c.Rule)
			}
		}
	default:
		list = r.Any
	}
	return list
}

// finite reports whether a DFA has no cycle. All its states lead to acceptance.
func finite(d *automaton.DFA) bool {
	const (
		unseen = iota
		under
		done
	)
	mark := make([]uint8, len(d.States))
	type pathEntry struct{ state, edge int32 }
	path := []pathEntry{{0, 0}}
	mark[0] = under
	for len(path) > 0 {
		at := &path[len(path)-1]
		edges := d.States[at.state].Edges
		if int(at.edge) == len(edges) {
			mark[at.state] = done
			path = path[:len(path)-1]
			continue
		}
		to := edges[at.edge].To
		at.edge++
		switch mark[to] {
		case under:
			return false
		case unseen:
			mark[to] = under
			path = append(path, pathEntry{to, 0})
		}
	}
	return true
}

// checkRecursion returns an error for left recursion: a cycle of rules, each of which the
// one before enters before a byte is read.
func (m *Machine) checkRecursion() error {
	first, nullable := m.firstCalls(), m.nullable()
	state := make([]uint8, len(m.rules)) // 0 new, 1 on the path, 2 done
	type pathEntry struct {
		id   ID
		next int
	}
	for i := range m.rules {
		if state[i] != 0 {
			continue
		}
		state[i] = 1
		for path := []pathEntry{{ID(i), 0}}; len(path) > 0; {
			at := &path[len(path)-1]
			callees := first(at.id, nullable)
			if at.next == len(callees) {
				state[at.id] = 2
				path = path[:len(path)-1]
				continue
			}
			to := callees[at.next]
			at.next++
			switch state[to] {
			case 1:
				return fmt.Errorf("rule %d calls itself before a byte is read", to)
			case 0:
				state[to] = 1
				path = append(path, pathEntry{to, 0})
			}
		}
	}
	return nil
}

// firstCalls returns a memoized function that lists the rules that a rule enters before a
// byte is read.
func (m *Machine) firstCalls() func(id ID, nullable []bool) []ID {
	memo := make([][]ID, len(m.rules))
	known := make([]bool, len(m.rules))
	return func(id ID, nullable []bool) []ID {
		if !known[id] {
			known[id] = true
			switch r := &m.rules[id]; {
			case r.Proc != nil:
				memo[id], _ = firstCallsOf(r.Proc, nullable)
			case r.Text == nil && r.Array == nil && r.Object == nil:
				memo[id] = r.Any
			}
		}
		return memo[id]
	}
}

// firstCallsOf lists the rules that p enters before a byte is read, and reports whether p
// may return before one.
func firstCallsOf(p *Proc, nullable []bool) (list []ID, empty bool) {
	seen := make([]bool, len(p.States))
	for todo := []int32{0}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[at] {
			continue
		}
		seen[at] = true
		s := &p.States[at]
		empty = empty || s.Accept
		for _, c := range s.Calls {
			list = append(list, c.Rule)
			if nullable[c.Rule] {
				todo = append(todo, c.Return)
			}
		}
	}
	return list, empty
}

// nullable reports, by rule, whether it matches the empty text.
func (m *Machine) nullable() []bool {
	nullable := make([]bool, len(m.rules))
	for changed := true; changed && m.spendPass(); {
		changed = false
		for i := range m.rules {
			if nullable[i] {
				continue
			}
			switch r := &m.rules[i]; {
			case r.Text != nil:
				nullable[i] = r.Text.DFA.States[0].Accept
			case r.Proc != nil:
				_, nullable[i] = firstCallsOf(r.Proc, nullable)
			case r.Array == nil && r.Object == nil:
				nullable[i] = slices.ContainsFunc(r.Any, func(id ID) bool { return nullable[id] })
			}
			changed = changed || nullable[i]
		}
	}
	return nullable
}
