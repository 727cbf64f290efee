package automaton

// Whole returns the automaton of the texts that a regular expression matches as a whole. They
// are UTF-8, without quotes or escapes. The syntax and its readings are those of [Pattern].
func Whole(regexp string) (*DFA, error) { return (*Budget)(nil).Whole(regexp) }

// Whole is [Whole] within a budget.
func (budget *Budget) Whole(regexp string) (*DFA, error) {
	e, err := parse(budget, regexp, false)
	if err != nil {
		return nil, err
	}
	d, err := budget.Compile(search(Concat(Expr{&node{op: opBegin}}, e, Expr{&node{op: opEnd}})))
	if err != nil {
		return nil, err
	}
	return budget.unquote(d)
}

// unquote returns the automaton of the contents of the strings of d, which must be in
// canonical form: there each character has one spelling.
func (budget *Budget) unquote(d *DFA) (*DFA, error) {
	if d.Empty() {
		return d, nil
	}
	old := []int32{d.Next(0, '"')} // by state of the result
	of := map[int32]int32{old[0]: 0}
	var states []State
	for len(states) < len(old) {
		at := old[len(states)]
		state := State{Accept: d.Next(at, '"') >= 0}
		for b := range rune(1 << 8) {
			to := d.content(at, byte(b))
			if to < 0 {
				continue
			}
			n, ok := of[to]
			if !ok {
				n = int32(len(old))
				of[to], old = n, append(old, to)
			}
			state.Edges = join(state.Edges, b, b, n)
		}
		states = append(states, state)
		if err := budget.Spend(1<<9, 64+16*len(state.Edges)); err != nil {
			return nil, err
		}
	}
	return &DFA{states}, nil
}

// content returns the state after a byte of a string's content, or -1.
func (d *DFA) content(state int32, b byte) int32 {
	if b >= 0x80 {
		return d.Next(state, b)
	}
	spelling := Quote(string(rune(b)))
	for i := 1; i < len(spelling)-1 && state >= 0; i++ {
		state = d.Next(state, spelling[i])
	}
	return state
}
