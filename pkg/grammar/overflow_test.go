package grammar

import (
	"math/rand/v2"
	"testing"
)

// A grammar whose ways multiply with every byte closes in time, from wherever a text is.
func TestManyWaysEnd(t *testing.T) {
	for _, source := range []string{
		"root ::= p\np ::= \"a\" p? p? p? \"bbbbbb\" | \"a\" p? p? \"bb\" | \"a\"",
		"root ::= p\np ::= \"a\" p p? \"b\" | \"a\" p \"c\" | \"a\" p? p? \"bb\" | \"ac\"",
		"root ::= [abc]* x \"cb\"\nx ::= \"b\" | \"c\" (x \"a\" | root root?)",
		"root ::= w w*\nw ::= [abc] w? w? w? \"aa\" | [a-c] \"b\"",
	} {
		g, err := GBNF(source)
		if err != nil {
			t.Fatal(err)
		}
		c, err := g.Bind(NewVocabulary([]string{"a", "b", "c", "aa", "bb", "ab", "cb"}))
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(30) {
			dice := rand.New(rand.NewPCG(seed, 1))
			m, left := c.Start(), c.Min()+int(seed)
			for ; !m.Complete() && (left > 0 || !m.Accepts()); left-- {
				mask := m.Mask(left)
				if mask.Count == 0 {
					if m.Accepts() {
						break
					}
					t.Fatalf("%s: nothing may follow %q with %d left, cost %d", source, m.Text(), left, m.Cost())
				}
				token := dice.IntN(7)
				for token *= dice.IntN(2); !mask.Allows(token); token = (token + 1) % 7 { // often the first
				}
				if !m.Take(token) || m.Cost() > left-1 {
					t.Fatalf("%s: after %q, %d left, the cost is %d", source, m.Text(), left-1, m.Cost())
				}
			}
			if !m.Accepts() {
				t.Errorf("%s: %q", source, m.Text())
			}
		}
		m := c.Start()
		for range 24 {
			if m.Take(0) && m.Cost() > 0 && m.Mask(m.Cost()).Count == 0 {
				t.Errorf("%s: %q has cost %d and no token", source, m.Text(), m.Cost())
			}
		}
	}
}

// A text is read in many ways at once.
func TestManyWaysMatch(t *testing.T) {
	g, err := GBNF("root ::= [abc]* x \"cb\"\nx ::= \"b\" | \"c\" (x \"a\" | root root?)")
	if err != nil {
		t.Fatal(err)
	}
	if !g.Match("babcbcbcccbcbbcbbcbbcbaacb") {
		t.Error("it does not match")
	}
}
