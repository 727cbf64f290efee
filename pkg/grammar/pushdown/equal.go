package pushdown

import (
	"slices"

	"glossa/pkg/grammar/automaton"
)

// countEqual returns, by required item of a unique array, how many of the items before it may
// be equal to it.
func (c *costs) countEqual(a *Array) []int32 {
	equal := make([]int32, max(0, a.Min))
	for i := range equal {
		for j := range i {
			if c.mayEqual(a.item(int32(i)), a.item(int32(j))) {
				equal[i]++
			}
		}
	}
	return equal
}

// mayEqual reports whether a value of one rule may be equal to a value of another. False is
// certain.
func (c *costs) mayEqual(a, b ID) bool {
	if a == b || a < 0 || b < 0 {
		return true
	}
	for _, x := range c.kindsOf(a) {
		for _, y := range c.kindsOf(b) {
			if c.mayEqualKinds(x, y) {
				return true
			}
		}
	}
	return false
}

// kindsOf lists the alternatives of a rule that are not choices themselves.
func (c *costs) kindsOf(id ID) (list []ID) {
	seen := map[ID]bool{id: true}
	for todo := []ID{id}; len(todo) > 0; {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		u := &c.m.rules[id]
		_ = c.budget.Spend(8+8*len(u.Any), 32+32*len(u.Any)) // newCosts reports it
		if u.Text != nil || u.Array != nil || u.Object != nil || u.Proc != nil {
			list = append(list, id)
		}
		for _, one := range u.Any {
			if !seen[one] && !c.m.dead[one] {
				seen[one] = true
				todo = append(todo, one)
			}
		}
	}
	return list
}

// mayEqualKinds is mayEqual of two rules that are not choices.
func (c *costs) mayEqualKinds(a, b ID) bool {
	x, y := c.m.rules[a].Text, c.m.rules[b].Text
	if a == b || x != nil && y != nil && c.intersect(x.DFA, y.DFA) {
		return true
	}
	both := c.firstBytes(a)
	for i, w := range c.firstBytes(b) {
		both[i] &= w
	}
	different := true // texts of different values
	for _, begin := range []byte("[{-0123456789") {
		different = different && !both.has(begin)
	}
	if different || x != nil && y != nil && c.integers(x.DFA) && c.integers(y.DFA) {
		return false
	}
	if x == nil || y == nil {
		return true
	}
	these, all := c.textsOf(x.DFA)
	those, every := c.textsOf(y.DFA)
	_ = c.budget.Spend(40*len(these)*len(those), 0) // newCosts reports it
	return !all || !every || slices.ContainsFunc(these, func(text string) bool {
		return slices.ContainsFunc(those, func(other string) bool { return equalTexts(text, readValue(other)) })
	})
}

// intersect is [intersect] at the cost of the budget.
func (c *costs) intersect(a, b *automaton.DFA) bool {
	common, looked := intersect(a, b)
	_ = c.budget.Spend(40*looked, 40*looked) // newCosts reports it
	return common
}

// firstBytes returns the bytes with which a rule that is not a choice may begin.
func (c *costs) firstBytes(id ID) byteSet {
	_ = c.budget.Spend(200, 500) // newCosts reports it
	r := newRun(c.m, nil)
	r.enter(id, 0)
	return r.nextBytes(r.out)
}

// integers reports whether the numbers of d are integers, each with one spelling, and its
// other texts are scalars.
func (c *costs) integers(d *automaton.DFA) bool {
	if d.Match("-0") || d.Next(0, '[') >= 0 || d.Next(0, '{') >= 0 {
		return false
	}
	seen, todo := map[int32]bool{}, []int32{}
	for _, b := range []byte("-0123456789") {
		todo = append(todo, d.Next(0, b))
	}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		if todo = todo[:len(todo)-1]; at < 0 || seen[at] {
			continue
		}
		seen[at] = true
		for _, e := range d.States[at].Edges {
			if e.Lo < '0' || e.Hi > '9' {
				return false
			}
			todo = append(todo, e.To)
		}
	}
	_ = c.budget.Spend(20*len(seen), 0) // newCosts reports it
	return true
}

// maxTexts bounds the texts that textsOf lists.
const maxTexts = 16

// textsOf lists the texts of d. It returns false if there may be more.
func (c *costs) textsOf(d *automaton.DFA) (texts []string, all bool) {
	if _ = c.budget.Spend(4*len(d.States), 16*len(d.States)); !finite(d) { // newCosts reports it
		return nil, false
	}
	type prefix struct {
		text  string
		state int32
	}
	for todo := []prefix{{}}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		_ = c.budget.Spend(40, 40+len(at.text)) // newCosts reports it
		s := &d.States[at.state]
		if s.Accept {
			texts = append(texts, at.text)
		}
		for _, e := range s.Edges {
			for b := int(e.Lo); b <= int(e.Hi); b++ {
				todo = append(todo, prefix{at.text + string([]byte{byte(b)}), e.To})
			}
		}
		if len(todo)+len(texts) > maxTexts { // each of todo leads to another text
			return nil, false
		}
	}
	return texts, true
}
