package pushdown

import (
	"math/rand/v2"
	"testing"

	"glossa/pkg/grammar/automaton"
)

// Unique arrays of JSON values of all kinds satisfy the checks of TestRandomPrograms.
func TestRandomUnique(t *testing.T) {
	bound := 0
	for seed := range uint64(*randomPrograms) {
		dice := rand.New(rand.NewPCG(seed+*randomFrom, 11))
		done, err := checkProgram(randomUnique(dice), dice)
		if err != nil {
			t.Fatalf("program %d: %v", seed+*randomFrom, err)
		}
		if done {
			bound++
		}
	}
	if bound < *randomPrograms/3 {
		t.Errorf("%d programs of %d could be used", bound, *randomPrograms)
	}
}

// randomUnique returns a program of JSON values whose strings are canonical, an array first.
func randomUnique(dice *rand.Rand) *Program {
	p := &Program{Rules: make([]Rule, 2+dice.IntN(5))}
	for i := range p.Rules {
		one := func() ID { return ID(min(i+1+dice.IntN(2), len(p.Rules)-1)) }
		switch kind := dice.IntN(6); {
		case i == 0 || i < len(p.Rules)-1 && kind < 2:
			a := randomArray(dice, one)
			a.Unique = i == 0 || dice.IntN(3) > 0
			p.Rules[i].Array = a
		case i < len(p.Rules)-1 && kind < 4:
			p.Rules[i].Object = randomObject(p, dice, one)
		case i < len(p.Rules)-1 && kind < 5:
			p.Rules[i].Any = []ID{one(), one()}
		default:
			p.Rules[i].Text = randomScalar(dice)
		}
	}
	return p
}

// uniqueProc returns a general rule with the meaning of an array of unique items, up to some items.
func uniqueProc(a *Array, items int) *Proc {
	p := &Proc{States: []ProcState{{Edges: []edge{{Lo: '[', Hi: '[', To: 2}}}, {Accept: true}}, Unique: true}
	for i := range items {
		at, end := int32(len(p.States)), edge{Lo: ']', Hi: ']', To: 1}
		var before, after ProcState
		if id := a.item(int32(i)); id >= 0 && (a.Max < 0 || i < a.Max) {
			before.Calls = []Call{{Rule: id, Return: at + 1, Before: int32(i)}}
			if i == 0 {
				before.Calls[0].Before = -1
			}
			after.Edges = []edge{{Lo: ',', Hi: ',', To: at + 2}}
		}
		if i == 0 && a.Min <= 0 {
			before.Edges = []edge{end}
		}
		if i+1 >= a.Min {
			after.Edges = append(after.Edges, end)
		}
		p.States = append(p.States, before, after)
	}
	p.States = append(p.States, ProcState{})
	return p
}

// Unique general rules satisfy the checks of TestRandomPrograms.
func TestRandomUniqueProcs(t *testing.T) {
	bound := 0
	for seed := range uint64(*randomPrograms) {
		dice := rand.New(rand.NewPCG(seed+*randomFrom, 12))
		p := randomUnique(dice)
		for i := range p.Rules {
			if a := p.Rules[i].Array; a != nil && a.Unique && a.Min < 5 && (i == 0 || dice.IntN(2) == 0) {
				p.Rules[i] = Rule{Proc: uniqueProc(a, 6)}
			}
		}
		done, err := checkProgram(p, dice)
		if err != nil {
			t.Fatalf("program %d: %v", seed+*randomFrom, err)
		}
		if done {
			bound++
		}
	}
	if bound < *randomPrograms/3 {
		t.Errorf("%d programs of %d could be used", bound, *randomPrograms)
	}
}

func randomScalar(dice *rand.Rand) *Text {
	t := &Text{Max: -1, DFA: automaton.Key()}
	switch dice.IntN(7) {
	case 0:
		t.DFA = automaton.Literals([]string{`"a"`, `"ab"`, `1`, `10`, `null`, `""`}[:1+dice.IntN(6)])
	case 1:
		t.DFA = automaton.Boolean()
	case 2:
		t.DFA, _ = automaton.Integers(automaton.Range{}, automaton.Limits{Integer: 1 + dice.IntN(4)})
	case 3:
		t.DFA, _ = automaton.Numbers(automaton.Range{}, automaton.Limits{Integer: 2, Significant: 3, Exponent: 1})
	case 4:
		t.Counted, t.Min = true, dice.IntN(3)
		t.Max = []int{-1, t.Min, t.Min + dice.IntN(4)}[dice.IntN(3)]
	case 5:
		t.DFA = randomPattern(dice)
	}
	return t
}

// Items are compared as values: however numbers are written and members are ordered.
func TestUnique(t *testing.T) {
	p := &Program{Rules: []Rule{
		{Array: &Array{Items: 1, Max: -1, Unique: true}},
		{Any: []ID{2, 3, 4, 5}},
		{Text: &Text{DFA: automaton.Key(), Max: -1}},
		{Text: &Text{DFA: must(automaton.Numbers(automaton.Range{}, automaton.Limits{})), Max: -1}},
		{Object: &Object{Extra: []Extra{{2, 1}}, Max: -1}},
		{Array: &Array{Items: 1, Max: -1}},
	}}
	m, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		`[]`: true, `["a","b","ab",""]`: true, `["a","b","a"]`: false, `[1,10,100]`: true, `[1,1.0]`: false, `[100,1e2]`: false,
		`[0,-0]`: false, `[1.50,1.5]`: false, `[{"a":1,"b":[2]},{"b":[2],"a":1}]`: false, `[{"a":1,"b":2},{"a":1}]`: true,
		`[{"a":1},{"a":1,"b":2}]`: true, `[[1,2],[2,1]]`: true, `[[1,2],[1,2]]`: false, `[["a","a"]]`: true, `["1",1]`: true,
		`[{},[]]`: true, `[[],[]]`: false, `[{"a":{"x":1,"y":2}},{"a":{"y":2,"x":1.0}}]`: false,
	} {
		if m.Match(text) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
}

// An item that cannot be equal to those before it needs one value.
func TestUniqueKinds(t *testing.T) {
	numbers := must(automaton.Numbers(automaton.Range{}, automaton.Generating()))
	integers := must(automaton.Integers(automaton.Range{}, automaton.Generating()))
	for _, x := range []struct {
		items []*automaton.DFA
		ok    bool
	}{
		{[]*automaton.DFA{integers, automaton.Literals([]string{`"a"`})}, true},
		{[]*automaton.DFA{numbers, automaton.Key(), automaton.Boolean(), automaton.Null()}, true},
		{[]*automaton.DFA{automaton.Literals([]string{`"x"`}), automaton.Literals([]string{`"a"`})}, true},
		{[]*automaton.DFA{automaton.Literals([]string{`1.5`}), automaton.Literals([]string{`2.5`})}, true},
		{[]*automaton.DFA{automaton.Literals([]string{`{"a":1,"b":2}`}), automaton.Literals([]string{`{"a":1}`})}, true},
		{[]*automaton.DFA{automaton.Literals([]string{`{"a":1,"b":2}`}), automaton.Literals([]string{`{"b":2.0,"a":1}`})}, false},
		{[]*automaton.DFA{automaton.Literals([]string{`1.0`}), automaton.Literals([]string{`1`})}, false},
		{[]*automaton.DFA{numbers, automaton.Literals([]string{`1`})}, false},
		{[]*automaton.DFA{automaton.Literals([]string{`[1]`}), automaton.Literals([]string{`[1.0]`})}, false},
		{[]*automaton.DFA{automaton.Key(), automaton.Literals([]string{`"a"`})}, false},
		{[]*automaton.DFA{automaton.Boolean(), automaton.Boolean(), automaton.Boolean()}, false},
	} {
		p := &rules{}
		a := &Array{Items: -1, Min: len(x.items), Max: len(x.items), Unique: true}
		for _, d := range x.items {
			a.Prefix = append(a.Prefix, p.add(Rule{Any: []ID{p.add(Rule{Text: &Text{DFA: d, Max: -1}})}}))
		}
		c, err := Bind(p.machine(t, p.add(Rule{Array: a})), vocabularies()["bytes"])
		if (err == nil) != x.ok {
			t.Errorf("%d items: %v", len(x.items), err)
		} else if x.ok {
			if text, err := c.Start().end(); err != nil || !c.m.Match(text) {
				t.Errorf("%q: %v", text, err)
			}
		}
	}
}

func must(d *automaton.DFA, err error) *automaton.DFA {
	if err != nil {
		panic(err)
	}
	return d
}

// Every beginning of a number may become equal to what is equal to the number, and one with other digits may not.
func TestMayBecome(t *testing.T) {
	dice := rand.New(rand.NewPCG(5, 6))
	number := func() string {
		text := []string{"", "-"}[dice.IntN(2)] + []string{"0", "1", "10", "100", "12", "7"}[dice.IntN(6)] + []string{"", "", ".0", ".5", ".05", ".50"}[dice.IntN(6)]
		return text + []string{"", "", "e1", "E-2", "e+02", "e99999999999999999999"}[dice.IntN(6)]
	}
	equal := 0
	for range 20000 {
		a, b := number(), number()
		if normalNumber(a) != normalNumber(b) {
			continue
		}
		equal++
		for n := 1; n <= len(a); n++ {
			if !mayBecome([]byte(a[:n]), normalNumber(b)) {
				t.Errorf("%s of %s cannot become %s", a[:n], a, b)
			}
		}
	}
	if equal < 100 {
		t.Errorf("%d pairs are equal", equal)
	}
	for _, pair := range [][2]string{{"5", "123"}, {"-1", "123"}, {"1", "-123"}, {"13", "123"}, {"1230", "12"}, {"12e", "123"}, {"0.4", "123"}, {"1", "0"}, {"0e", "1"}} {
		if mayBecome([]byte(pair[0]), normalNumber(pair[1])) {
			t.Errorf("%s may become %s", pair[0], pair[1])
		}
	}
}
