package pushdown

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"glossa/pkg/grammar/automaton"
)

var (
	randomPrograms = flag.Int("programs", 400, "how many random programs to try")
	randomFrom     = flag.Uint64("from", 0, "the first of them")
)

// For random programs and vocabularies of all kinds, a mask has the tokens that Take accepts
// and after which ending fits in the budget, some token always reduces the cost, no text
// exceeds its limit, and each text matches the program by the definitions of its rules.
func TestRandomPrograms(t *testing.T) {
	bound := 0
	for seed := range uint64(*randomPrograms) {
		done, err := checkRandom(seed + *randomFrom)
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

func checkRandom(seed uint64) (done bool, err error) {
	dice := rand.New(rand.NewPCG(seed, 7))
	return checkProgram(randomProgram(dice), dice)
}

func checkProgram(p *Program, dice *rand.Rand) (done bool, err error) {
	m, err := New(p)
	if err != nil {
		return false, nil // left recursion, or nothing matches
	}
	v, whole := randomVocabulary(m, dice)
	c, err := Bind(m, v)
	if err != nil {
		return false, nil // it lacks a byte
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, p.show())
		}
	}()
	for limit := c.Min(); limit < c.Min()+6; limit++ {
		for hand := range uint64(3) {
			if err := writeRandom(c, p, whole, limit, hand, dice); err != nil {
				return true, fmt.Errorf("limit %d, hand %d: %w", limit, hand, err)
			}
		}
	}
	return true, writeRandom(c, p, whole, c.Min()+30, 0, dice)
}

// writeRandom writes a text of at most limit tokens. It chooses them at random, or so that
// ending costs most, or so that it costs least.
func writeRandom(c *Constraint, p *Program, whole bool, limit int, hand uint64, dice *rand.Rand) error {
	m, reader := c.Start(), c.m.Begin()
	for left := limit; !m.Complete() && (left > 0 || !m.Accepts()); left-- {
		if len(m.now) > 40 || len(reader.now) > 100 { // soon there are too many to follow them all
			return nil
		}
		costs := probe(m)
		if err := checkFills(m, costs, dice); err != nil {
			return fmt.Errorf("after %q, %d left: %w", m.Text(), left, err)
		}
		mask := m.Mask(left)
		if mask.Count == 0 {
			if m.Accepts() {
				break
			}
			return fmt.Errorf("nothing may follow %q with %d left, cost %d", m.Text(), left, m.Cost())
		}
		id := choose(mask.Bits, dice)
		for range 6 {
			if other := choose(mask.Bits, dice); hand == 1 && costs[other] > costs[id] || hand == 2 && costs[other] < costs[id] {
				id = other
			}
		}
		if costs[id] > int32(left)-1 {
			return fmt.Errorf("after %q: %q costs %d, left %d", m.Text(), c.v.Token(id), costs[id], left-1)
		}
		if !m.Take(id) {
			return fmt.Errorf("%q: %q not taken", m.Text(), c.v.Token(id))
		}
		for _, b := range []byte(c.v.Token(id)) {
			if !reader.Read(b) {
				return fmt.Errorf("the reader does not follow to %q", m.Text())
			}
			if len(reader.now) > 200 {
				return nil
			}
		}
		if reader.Accepts() != m.Accepts() && (whole || m.Accepts()) { // else a way may lack a byte
			return fmt.Errorf("%q: reader accepts %t, matcher %t", m.Text(), reader.Accepts(), m.Accepts())
		}
		if text := string(m.Text()); p.matches(text) != reader.Accepts() {
			return fmt.Errorf("%q: recogniser accepts %t, reader %t", text, p.matches(text), reader.Accepts())
		}
	}
	return nil
}

// probe returns, by token, the cost of ending after it, or never if it is rejected.
func probe(m *Matcher) []int32 {
	costs := make([]int32, m.c.v.Size())
	length, frames, used := len(m.run.text), len(m.run.frames), len(m.run.used)
	for id := range costs {
		p := &Matcher{c: m.c, run: m.run, now: m.now, cost: m.cost}
		if costs[id] = never; p.Take(id) {
			costs[id] = p.cost
		}
		m.run.text = m.run.text[:length]
		m.run.forget(frames, used)
	}
	return costs
}

// checkFills compares masks for some budgets with the costs of tokens.
func checkFills(m *Matcher, costs []int32, dice *rand.Rand) error {
	if least := slices.Min(costs); m.cost > 0 && least >= m.cost {
		return fmt.Errorf("ending costs %d, and %d after any token", m.cost, least)
	}
	for _, budget := range []int32{-1, 0, m.cost - 1, m.cost + int32(dice.IntN(6)), never - 1} {
		m.fill(budget)
		for id, cost := range costs {
			if got := m.mask.Bits[id>>6]>>(id&63)&1 != 0; got != (cost <= budget) {
				return fmt.Errorf("budget %d: %q costs %d, in the mask %t", budget, m.c.v.Token(id), cost, got)
			}
			if over := m.cut && (m.over[id>>6]&^m.mask.Bits[id>>6])>>(id&63)&1 != 0; over != (cost > budget && cost < never) {
				return fmt.Errorf("budget %d: %q costs %d, over the budget %t", budget, m.c.v.Token(id), cost, over)
			}
		}
	}
	return nil
}

// show lists the rules of a program.
func (p *Program) show() (s string) {
	for i := range p.Rules {
		switch r := &p.Rules[i]; {
		case r.Text != nil:
			s += fmt.Sprintf("%d: text of %d states, plain %t, counted %t %d %d\n", i, len(r.Text.DFA.States), plain(r.Text.DFA), r.Text.Counted, r.Text.Min, r.Text.Max)
		case r.Array != nil:
			s += fmt.Sprintf("%d: array %+v\n", i, *r.Array)
		case r.Object != nil:
			s += fmt.Sprintf("%d: object %+v\n", i, *r.Object)
		case r.Proc != nil:
			s += fmt.Sprintf("%d: proc %+v\n", i, *r.Proc)
		default:
			s += fmt.Sprintf("%d: any %v\n", i, r.Any)
		}
	}
	return s
}

// --- random programs ---

func randomProgram(dice *rand.Rand) *Program {
	p := &Program{Rules: make([]Rule, 2+dice.IntN(7))}
	var shared []*Text
	for i := range p.Rules {
		one := func() ID { // mostly a later rule: recursion is rare enough to end
			if dice.IntN(6) == 0 {
				return ID(dice.IntN(len(p.Rules)))
			}
			return ID(min(i+1+dice.IntN(3), len(p.Rules)-1))
		}
		switch kind := dice.IntN(9); {
		case i == len(p.Rules)-1 || kind < 2:
			t := randomText(dice)
			if len(shared) > 0 && dice.IntN(3) == 0 {
				t = shared[dice.IntN(len(shared))]
			}
			shared = append(shared, t)
			p.Rules[i].Text = t
		case kind < 4:
			p.Rules[i].Array = randomArray(dice, one)
		case kind < 6:
			p.Rules[i].Object = randomObject(p, dice, one)
		case kind < 7:
			for range 1 + dice.IntN(3) {
				p.Rules[i].Any = append(p.Rules[i].Any, one())
			}
		default:
			p.Rules[i].Proc = randomProc(dice, one)
		}
	}
	return p
}

func randomText(dice *rand.Rand) *Text {
	word := func() string {
		b := make([]byte, dice.IntN(4))
		for i := range b {
			b[i] = `ab01,]}"`[dice.IntN(8)]
		}
		return string(b)
	}
	t := &Text{Max: -1}
	switch dice.IntN(8) {
	case 0:
		t.DFA = automaton.String()
	case 1:
		t.DFA = automaton.Key()
	case 2, 3:
		t.DFA, t.Counted = []*automaton.DFA{automaton.String(), automaton.Key()}[dice.IntN(2)], true
		t.Min = dice.IntN(4)
		t.Max = []int{-1, t.Min, t.Min + dice.IntN(5), 30}[dice.IntN(4)]
	case 4:
		t.DFA = randomPattern(dice)
		t.Counted = dice.IntN(2) == 0
		t.Max = []int{-1, 1, 3, 6, 30}[dice.IntN(5)]
	case 5:
		t.DFA, _ = automaton.Integers(automaton.Range{}, automaton.Limits{Integer: 1 + dice.IntN(4)})
	case 6:
		t.DFA = automaton.Literals([]string{word(), word(), `"` + []string{"a", "b", "ab", ""}[dice.IntN(4)] + `"`})
	default:
		e := automaton.Alternate(automaton.Bytes(word()), automaton.Repeat(automaton.Bytes("a"+word()), dice.IntN(2), dice.IntN(4)-1), automaton.Bytes("x"))
		t.DFA, _ = automaton.Compile(e)
	}
	if t.DFA == nil {
		t.DFA = automaton.Boolean()
	}
	return t
}

func randomPattern(dice *rand.Rand) *automaton.DFA {
	all := []string{"^a+$", "^(ab|b)*$", "^[ab]{2,5}$", "^a", "^(x|xy|z)$", "b$", "^[^a]*$", "^é?b?$", "^(a|b|ab|aa)$", "^\"?a\\n*$"}
	d, err := automaton.Pattern(all[dice.IntN(len(all))])
	if err != nil {
		panic(err)
	}
	return d
}

func randomArray(dice *rand.Rand, one func() ID) *Array {
	a := &Array{Items: -1, Min: dice.IntN(4), Max: -1}
	for range dice.IntN(3) {
		a.Prefix = append(a.Prefix, one())
	}
	if dice.IntN(4) > 0 {
		a.Items = one()
	}
	if dice.IntN(2) == 0 {
		a.Max = a.Min + dice.IntN(4)
	}
	return a
}

func randomObject(p *Program, dice *rand.Rand, one func() ID) *Object {
	o := &Object{Max: -1}
	names := []string{"a", "b", "ab", "", "x", "aa", "é", "\"", "z"}
	dice.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names[:dice.IntN(5)] {
		o.Props = append(o.Props, Prop{name, one(), dice.IntN(3) == 0})
	}
	for range dice.IntN(3) {
		d := randomPattern(dice)
		if dice.IntN(2) == 0 {
			d = []*automaton.DFA{automaton.Key(), automaton.Literals([]string{`"a"`, `"b"`, `"ab"`, `"c"`})}[dice.IntN(2)]
		}
		p.Rules = append(p.Rules, Rule{Text: &Text{DFA: d, Max: -1}})
		o.Extra = append(o.Extra, Extra{ID(len(p.Rules) - 1), one()})
	}
	if dice.IntN(3) == 0 {
		o.Min = dice.IntN(5)
	}
	if dice.IntN(3) == 0 {
		if n := dice.IntN(len(o.Extra) + 1); n > 0 {
			o.Lead = []int{n}
		}
		if left := len(o.Extra) - len(o.Lead); o.Lead != nil && left > 0 && len(p.Rules)%2 == 0 {
			o.Lead = []int{1, left} // of two members, and there may be no others
		}
	}
	if dice.IntN(2) == 0 {
		o.Max = o.Min + dice.IntN(4)
	}
	return o
}

func randomProc(dice *rand.Rand, one func() ID) *Proc {
	p := &Proc{States: make([]ProcState, 1+dice.IntN(4))}
	state := func() int32 { return int32(dice.IntN(len(p.States))) }
	for i := range p.States {
		s := &p.States[i]
		s.Accept = dice.IntN(3) == 0 || i == len(p.States)-1
		for _, b := range []byte("(+ab") {
			if dice.IntN(4) == 0 {
				s.Edges = append(s.Edges, edge{Lo: b, Hi: b, To: state()})
			}
		}
		for range dice.IntN(3) {
			s.Calls = append(s.Calls, Call{Rule: one(), Return: state()})
		}
	}
	return p
}

// randomVocabulary returns all or some bytes, and pieces of texts of m.
func randomVocabulary(m *Machine, dice *rand.Rand) (v *Vocabulary, whole bool) {
	var tokens []string
	lack := dice.IntN(3) == 0
	for _, b := range []byte("{}[]\":,\\uanbfrtxyz01289-+(e. \xc3\xa9\xe6\x97\xa5") {
		if !lack || dice.IntN(8) > 0 {
			tokens = append(tokens, string([]byte{b}))
		}
	}
	if c, err := Bind(m, NewVocabulary(tokens)); err == nil {
		for range 6 {
			w := c.Start()
			for left := c.Min() + 12; left > 0 && !w.Complete() && len(w.now) < 40; left-- {
				mask := w.Mask(left)
				if mask.Count == 0 {
					break
				}
				w.Take(choose(mask.Bits, dice))
			}
			for text := w.Text(); len(text) > 0; {
				n := 1 + dice.IntN(min(len(text), 7))
				tokens = append(tokens, string(text[:n]))
				text = text[n:]
			}
		}
	}
	tokens = append(tokens, `":`, `","`, `"}`, `""`, `aaaa`, `a"`, `b":`, `,"`, `"a":`, `{"`, `]]`, "", "a", `"]`, `},{`, `\u00`)
	return NewVocabulary(tokens), !lack
}
