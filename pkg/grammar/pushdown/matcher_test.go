package pushdown

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/grammar/automaton"
)

// id returns a token's id.
func (v *Vocabulary) id(t testing.TB, token string) int {
	t.Helper()
	id := slices.Index(v.tokens, token)
	if id < 0 {
		t.Fatalf("no token %q", token)
	}
	return id
}

func bind(t testing.TB, machine, vocabulary string) *Constraint {
	t.Helper()
	c, err := Bind(machines(t)[machine], vocabularies()[vocabulary])
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (m *Matcher) takeAll(t testing.TB, tokens ...string) {
	t.Helper()
	for _, token := range tokens {
		if !m.Take(m.c.v.id(t, token)) {
			t.Fatalf("after %q: %q is not taken", m.Text(), token)
		}
	}
}

func TestForced(t *testing.T) {
	m := bind(t, "answer", "words").Start()
	for _, step := range []struct{ forced, take string }{
		{`{"answer":"`, `{"`},
		{`answer":"`, "answer"},
		{`":"`, `":"`},
		{"", " the"},
		{"", `"`},
		{`,"age":`, `,"age":`},
		{"", "12"},
		{"", ","},
		{`"units":"`, `"`},
	} {
		if got := m.Forced(); got != step.forced {
			t.Errorf("after %q: %q is forced, want %q", m.Text(), got, step.forced)
		}
		m.takeAll(t, step.take)
	}
	if m.Take(m.c.v.id(t, "ab")) || m.Forced() != `units":"` {
		t.Error("what does not fit was taken")
	}
}

// Forced text never ends within a character.
func TestForcedWholeRunes(t *testing.T) {
	p := &rules{}
	m := p.machine(t, p.literals(`"日本"`, `"日木"`))
	c, err := Bind(m, vocabularies()["bytes"])
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Start().Forced(); got != `"日` {
		t.Errorf("%q is forced", got)
	}
}

func TestFree(t *testing.T) {
	m := bind(t, "answer", "words").Start()
	for _, step := range []struct {
		take string
		free bool
	}{{`{"`, false}, {"answer", false}, {`":"`, false}, {" the", true}, {" cat", true}, {`\\"`, false}} {
		m.takeAll(t, step.take)
		if m.Free() != step.free {
			t.Errorf("after %q: free %t", m.Text(), m.Free())
		}
	}
}

// A token that ends a string and begins another is not content.
func TestFreeAcross(t *testing.T) {
	m := bind(t, "array", "words").Start()
	for _, step := range []struct {
		take string
		free bool
	}{{`["`, false}, {"red", false}, {`"`, false}, {",", false}, {`"`, false}, {" the", true}, {`","`, false}, {" cat", true}, {`"]`, false}} {
		m.takeAll(t, step.take)
		if m.Free() != step.free {
			t.Errorf("after %q: free %t", m.Text(), m.Free())
		}
	}
}

// Min is exact: no text has fewer tokens.
func TestMin(t *testing.T) {
	for _, test := range []struct {
		machine, vocabulary string
		min                 int
	}{
		{"answer", "bytes", len(`{"answer":"","age":0,"units":""}`)},
		{"answer", "words", 12}, // {" answer ": "" ,"age": 0 , " units ": "" }
		{"array", "bytes", len(`[null,""]`)},
		{"extra", "bytes", len(`{"a":0,"b":0,"":0,"c":0}`)},
		{"integer", "ascii", 1},
	} {
		c := bind(t, test.machine, test.vocabulary)
		if test.vocabulary != "bytes" {
			if c.Min() > test.min {
				t.Errorf("%s over %s: %d tokens, want %d at most", test.machine, test.vocabulary, c.Min(), test.min)
			}
		} else if c.Min() < test.min {
			t.Errorf("%s over %s: %d tokens, want %d at least", test.machine, test.vocabulary, c.Min(), test.min)
		}
		if mask := c.Start().Mask(c.Min() - 1); mask.Count != 0 || !mask.Cut {
			t.Errorf("%s over %s: %d tokens are allowed of %d", test.machine, test.vocabulary, mask.Count, c.Min()-1)
		}
	}
}

func TestUnspelled(t *testing.T) {
	v := NewVocabulary(strings.Split(`{ } " : , a b 1`, " "))
	p := &rules{}
	o := p.add(Rule{Object: &Object{Props: []Prop{{"née", p.text(integer(t)), true}}, Max: -1}})
	if _, err := Bind(p.machine(t, o), v); err == nil || !strings.Contains(err.Error(), "'n'") {
		t.Errorf("got %v", err)
	}
	q := &rules{}
	if _, err := Bind(q.machine(t, q.literals("11", "ba")), v); err != nil {
		t.Error(err)
	}
}

func TestRefusedPrograms(t *testing.T) {
	for name, build := range map[string]func(p *rules) ID{
		"nothing matches":            func(p *rules) ID { return p.add(Rule{}) },
		"calls itself before a byte": func(p *rules) ID { return p.add(Rule{Any: []ID{0}}) },
		"which does not exist":       func(p *rules) ID { return p.add(Rule{Any: []ID{7}}) },
		"calls itself before a byte ": func(p *rules) ID { // a = b? a "x"
			empty := p.text(automaton.Literals([]string{"", "y"}))
			return p.add(Rule{Proc: &Proc{States: []ProcState{
				{Calls: []Call{{Rule: empty, Return: 1}}}, {Calls: []Call{{Rule: 1, Return: 2}}}, {Edges: []edge{{Lo: 'x', Hi: 'x', To: 3}}}, {Accept: true},
			}}})
		},
	} {
		p := &rules{}
		p.Start = build(p)
		if _, err := New(&p.Program); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(name)) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A string that would never end leaves tokens for the strings after it, and is pulled to
// its end.
func TestShare(t *testing.T) {
	c, limit := bind(t, "answer", "ascii"), 120
	m, pulled := c.Start(), 0
	for left := limit; !m.Complete(); left-- {
		mask := m.Mask(left)
		if mask.Closers != nil {
			pulled++
			quote := c.v.id(t, `"`)
			if mask.Pull <= 0 || mask.Closers[quote>>6]>>(quote&63)&1 == 0 {
				t.Fatalf("after %q: pulled by %v, not to the quote", m.Text(), mask.Pull)
			}
		}
		a := c.v.id(t, "a")
		if mask.Bits[a>>6]>>(a&63)&1 == 0 {
			a = slices.IndexFunc(c.v.tokens, func(s string) bool {
				id := c.v.id(t, s)
				return mask.Bits[id>>6]>>(id&63)&1 != 0
			})
		}
		m.takeAll(t, c.v.tokens[a])
	}
	var got struct{ Answer, Units string }
	if err := json.Unmarshal(m.Text(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Answer) < 20 || len(got.Units) < 15 || pulled == 0 {
		t.Errorf("%s; pulled %d times", m.Text(), pulled)
	}
}

// A token across two items is not content of either. The second item has its own share,
// though both are called from the same state.
func TestItemsApart(t *testing.T) {
	p := &rules{}
	m := p.machine(t, p.add(Rule{Array: &Array{Items: p.text(automaton.String()), Max: -1}}))
	c, err := Bind(m, vocabularies()["words"])
	if err != nil {
		t.Fatal(err)
	}
	matcher := c.Start()
	for _, token := range []string{`["`, " the"} {
		matcher.Mask(100)
		matcher.takeAll(t, token)
	}
	began := matcher.share.start
	matcher.Mask(98)
	matcher.takeAll(t, `","`)
	if matcher.Free() || matcher.share.active {
		t.Errorf("after %q: free %t, share %+v", matcher.Text(), matcher.Free(), matcher.share)
	}
	matcher.Mask(97)
	if matcher.share.start != 3 || began == 3 {
		t.Errorf("the share of the next began after %d tokens, that before after %d", matcher.share.start, began)
	}
}
