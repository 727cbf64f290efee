package pushdown

import (
	"strings"
	"testing"

	"glossa/pkg/grammar/automaton"
)

// A token that would end a string early, or have too many characters, is not what
// finishing a character costs.
func TestBoundedCharacters(t *testing.T) {
	bytes := vocabularies()["bytes"].tokens
	for name, test := range map[string]struct {
		lo, hi int
		tokens []string // besides bytes
		taken  []string
	}{
		"an escaped quote and the end":  {2, -1, []string{`""`}, []string{`"`, `\`}},
		"an escape and more characters": {0, 1, []string{"0000aaa"}, []string{`"`, `\`, "u"}},
		"a character and more":          {0, 2, []string{"\x97\xa5aaa"}, []string{`"`, "\xe6"}},
	} {
		p := &rules{}
		c, err := Bind(p.machine(t, p.counted(test.lo, test.hi)), NewVocabulary(append(bytes, test.tokens...)))
		if err != nil {
			t.Fatal(err)
		}
		m := c.Start()
		m.takeAll(t, test.taken...)
		for left := m.Cost(); !m.Accepts(); left-- {
			mask := m.Mask(left)
			if mask.Count == 0 {
				t.Errorf("%s: nothing may follow %q with %d left, cost %d", name, m.Text(), left, m.Cost())
				break
			}
			m.Take(c.v.id(t, c.v.tokens[firstBit(mask.Bits)]))
		}
	}
}

func firstBit(bits []uint64) int {
	for i, w := range bits {
		if w != 0 {
			return i*64 + lowest(w)
		}
	}
	return -1
}

// A token that ends a string and extends past it may be the only one of its length.
func TestBoundBeforeExit(t *testing.T) {
	p := &rules{}
	m := p.machine(t, p.add(Rule{Array: &Array{Items: p.counted(0, 2), Max: -1}}))
	c, err := Bind(m, NewVocabulary(append(vocabularies()["bytes"].tokens, `aaa",`)))
	if err != nil {
		t.Fatal(err)
	}
	w := c.Start()
	w.takeAll(t, "[", `"`)
	if id := c.v.id(t, `aaa",`); w.Mask(100).Bits[id>>6]>>(id&63)&1 != 0 {
		t.Error("three characters of two are allowed")
	}
}

// A call of a rule that nothing matches has no finite cost.
func TestDeadCostsNever(t *testing.T) {
	p := &rules{}
	n := p.literals("1")
	dead := p.add(Rule{Object: &Object{Props: []Prop{{"a", n, true}}, Max: 0}})
	start := p.add(Rule{Proc: &Proc{States: []ProcState{
		{Calls: []Call{{Rule: dead, Return: 1}}, Edges: []edge{{Lo: 'x', Hi: 'x', To: 2}}}, {Accept: true}, {Edges: []edge{{Lo: 'y', Hi: 'y', To: 1}}},
	}}})
	m := p.machine(t, start)
	if _, err := Bind(m, NewVocabulary(strings.Split(`{ } " : a 1 x`, " "))); err == nil {
		t.Error("it can be written without y")
	}
}

// Elements that grow with every byte, or with every rule, take bounded time and memory.
func TestManyWays(t *testing.T) {
	for name, build := range map[string]func(p *rules) ID{
		"by bytes": func(p *rules) ID { // one = "a" one one "b" | "a"
			one := p.add(Rule{})
			p.Rules[one] = Rule{Proc: &Proc{States: []ProcState{
				{Edges: []edge{{Lo: 'a', Hi: 'a', To: 1}}}, {Calls: []Call{{Rule: one, Return: 2}}, Accept: true}, {Calls: []Call{{Rule: one, Return: 3}}},
				{Edges: []edge{{Lo: 'b', Hi: 'b', To: 4}}}, {Accept: true},
			}}}
			return one
		},
		"by rules": func(p *rules) ID { // one = two "x" | two "y"; two = three "x" | ...
			last := p.literals("a")
			for range 40 {
				last = p.add(Rule{Proc: &Proc{States: []ProcState{
					{Calls: []Call{{Rule: last, Return: 1}, {Rule: last, Return: 2}}}, {Edges: []edge{{Lo: 'x', Hi: 'x', To: 3}}}, {Edges: []edge{{Lo: 'y', Hi: 'y', To: 3}}}, {Accept: true},
				}}})
			}
			return last
		},
		"by choices": func(p *rules) ID {
			last := p.literals("a")
			for range 40 {
				last = p.add(Rule{Any: []ID{last, last}})
			}
			return last
		},
	} {
		p := &rules{}
		m := p.machine(t, build(p))
		c, err := Bind(m, vocabularies()["words"])
		if err != nil {
			t.Fatal(err)
		}
		w := c.Start()
		for range 60 {
			frames, used := len(w.run.frames), len(w.run.used)
			mask := w.Mask(1 << 20)
			if len(w.run.frames) != frames || len(w.run.used) != used {
				t.Fatalf("%s: a mask left %d frames", name, len(w.run.frames)-frames)
			}
			if mask.Count == 0 || !w.Take(c.v.id(t, "a")) {
				break
			}
			if len(w.now) > maxElements || len(w.run.frames) > 2*minCollectFrames+maxElements {
				t.Fatalf("%s: %d ways, %d frames", name, len(w.now), len(w.run.frames))
			}
		}
		m.Match(strings.Repeat("a", 60))
	}
}

// The table that counts the keys of each length is bounded.
func TestLongKeys(t *testing.T) {
	p := &rules{}
	d, err := automaton.Pattern("^[ab]{3000}$")
	if err != nil {
		t.Fatal(err)
	}
	k, n := p.text(d), p.literals("1")
	m := p.machine(t, p.add(Rule{Object: &Object{Extra: []Extra{{k, n}}, Min: 2, Max: -1}}))
	v := vocabularies()["bytes"]
	if _, err := Bind(m, v); err == nil || err.Error() != "names of members that the schema does not list, or unique items, are too long" {
		t.Errorf("two keys of 3000 characters are free for sure: %v", err)
	}
	if got := len(v.textIndex(textKey{d: d}).textCounts); got*len(d.States) > 2*maxCountEntries {
		t.Errorf("a table of %d lengths and %d states", got, len(d.States))
	}
}

// Costs above 16 bits have their own buckets.
func TestManyBuckets(t *testing.T) {
	d, err := automaton.Pattern("^[a-z]{33000}$")
	if err != nil {
		t.Fatal(err)
	}
	index := vocabularies()["bytes"].textIndex(textKey{d: d})
	first := d.Next(0, '"')
	second := d.Next(first, 'a')
	for state, to := range map[int32]int32{0: first, first: second} {
		if l := index.tokenSets(state); len(l.buckets) != 1 || l.buckets[0].cost != index.cost[to] {
			t.Errorf("after state %d: %+v, want the cost %d", state, l.buckets, index.cost[to])
		}
	}
}
