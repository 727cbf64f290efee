package pushdown

import "testing"

// The way of least cost is kept where there are more than can be followed.
func TestCheapestRules(t *testing.T) {
	p := &rules{}
	last := p.literals("a")
	for range 600 { // one = two "xx" | two "y"; two = three "xx" | ...
		last = p.add(Rule{Proc: &Proc{States: []ProcState{
			{Calls: []Call{{Rule: last, Return: 1}, {Rule: last, Return: 3}}},
			{Edges: []edge{{Lo: 'x', Hi: 'x', To: 2}}}, {Edges: []edge{{Lo: 'x', Hi: 'x', To: 4}}},
			{Edges: []edge{{Lo: 'y', Hi: 'y', To: 4}}}, {Accept: true},
		}}})
	}
	c, err := Bind(p.machine(t, last), NewVocabulary([]string{"a", "x", "y"}))
	if err != nil {
		t.Fatal(err)
	}
	m := c.Start()
	for left := c.Min(); left > 0; left-- {
		if m.Cost() != left {
			t.Fatalf("after %q the cost is %d, not %d", m.Text(), m.Cost(), left)
		}
		m.Take(firstBit(m.Mask(left).Bits))
	}
	if !m.Accepts() {
		t.Errorf("%q", m.Text())
	}
}

// The tokens that end the text come after more than a mask looks at.
func TestCheapestTokens(t *testing.T) {
	p := &rules{}
	w := p.add(Rule{}) // w = [ab] w? w? "zz"
	z := edge{Lo: 'z', Hi: 'z', To: 4}
	p.Rules[w] = Rule{Proc: &Proc{States: []ProcState{
		{Edges: []edge{{Lo: 'a', Hi: 'b', To: 1}}},
		{Calls: []Call{{Rule: w, Return: 2}, {Rule: w, Return: 3}}, Edges: []edge{z}},
		{Calls: []Call{{Rule: w, Return: 3}}, Edges: []edge{z}},
		{Edges: []edge{z}}, {Edges: []edge{{Lo: 'z', Hi: 'z', To: 5}}}, {Accept: true},
	}}}
	tokens := []string{"a", "b", "z"}
	for begin := 0; len(tokens) < 4000; begin++ {
		tokens = append(tokens, tokens[begin]+"a", tokens[begin]+"b")
	}
	c, err := Bind(p.machine(t, w), NewVocabulary(tokens))
	if err != nil {
		t.Fatal(err)
	}
	m := c.Start()
	m.takeAll(t, "a")
	if mask := m.Mask(m.Cost()); !mask.Allows(2) {
		t.Errorf("%d tokens", mask.Count)
	}
}
