package pushdown

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/grammar/automaton"
)

// rules builds programs in tests.
type rules struct{ Program }

func (p *rules) add(r Rule) ID {
	p.Rules = append(p.Rules, r)
	return ID(len(p.Rules) - 1)
}

func (p *rules) text(d *automaton.DFA) ID { return p.add(Rule{Text: &Text{DFA: d}}) }

func (p *rules) literals(of ...string) ID { return p.text(automaton.Literals(of)) }

func (p *rules) counted(lo, hi int) ID {
	return p.add(Rule{Text: &Text{DFA: automaton.String(), Counted: true, Min: lo, Max: hi}})
}

func (p *rules) machine(t testing.TB, start ID) *Machine {
	t.Helper()
	p.Start = start
	m, err := New(&p.Program)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func integer(t testing.TB) *automaton.DFA {
	t.Helper()
	d, err := automaton.Integers(automaton.Range{}, automaton.Generating())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// machines returns the programs of the tests of masks and ends.
func machines(t testing.TB) map[string]*Machine {
	all := map[string]*Machine{}
	make := func(name string, build func(p *rules) ID) {
		p := &rules{}
		id := build(p)
		all[name] = p.machine(t, id)
	}
	make("string", func(p *rules) ID { return p.text(automaton.String()) })
	make("integer", func(p *rules) ID { return p.text(integer(t)) })
	make("counted", func(p *rules) ID { return p.counted(2, 4) })
	for name, pattern := range map[string]string{"limited list": "^[a-c]+(-[a-c]+)*$", "limited end": "^(ab|c|é)*the$", "limited, many bytes": "^[a-m]*the$"} {
		make(name, func(p *rules) ID {
			d, err := automaton.Pattern(pattern)
			if err != nil {
				t.Fatal(err)
			}
			s := p.add(Rule{Text: &Text{DFA: d, Counted: true, Max: 7}})
			return p.add(Rule{Object: &Object{Props: []Prop{{"a", s, true}, {"b", s, true}}, Max: -1}})
		})
	}
	make("answer", func(p *rules) ID {
		s, n := p.text(automaton.String()), p.text(integer(t))
		return p.add(Rule{Object: &Object{Props: []Prop{{"answer", s, true}, {"age", n, true}, {"units", s, true}}, Max: -1}})
	})
	make("optional", func(p *rules) ID {
		s, n := p.counted(1, -1), p.text(integer(t))
		return p.add(Rule{Object: &Object{Props: []Prop{{"a", s, false}, {"ab", n, true}, {"b\"", n, false}, {"c", s, false}}, Max: 3}})
	})
	make("extra", func(p *rules) ID {
		k, n := p.text(automaton.Key()), p.text(integer(t))
		return p.add(Rule{Object: &Object{Props: []Prop{{"a", n, false}, {"b", n, true}}, Extra: []Extra{{k, n}}, Min: 4, Max: 6}})
	})
	make("pattern keys", func(p *rules) ID {
		k, n := p.literals(`"x"`, `"xy"`, `"z"`), p.literals("0", "1")
		return p.add(Rule{Object: &Object{Props: []Prop{{"x", n, false}}, Extra: []Extra{{k, n}}, Max: -1}})
	})
	make("array", func(p *rules) ID {
		s, w := p.text(automaton.String()), p.literals(`"red"`, `"green"`, `"blue"`, "null")
		return p.add(Rule{Array: &Array{Prefix: []ID{w}, Items: s, Min: 2, Max: 5}})
	})
	make("few items", func(p *rules) ID { return p.add(Rule{Array: &Array{Items: p.literals("0", "1"), Min: 2, Max: 3}}) })
	make("few members", func(p *rules) ID {
		n := p.literals("0")
		return p.add(Rule{Object: &Object{Props: []Prop{{"a", n, false}, {"b", n, false}, {"c", n, true}}, Max: 2}})
	})
	make("counted, then another", func(p *rules) ID {
		return p.add(Rule{Object: &Object{Props: []Prop{{"a", p.counted(2, 3), true}, {"x", p.text(integer(t)), true}}, Max: -1}})
	})
	make("almost any string", func(p *rules) ID {
		d, err := automaton.Pattern(`^[^\x7f]*$`)
		if err != nil {
			t.Fatal(err)
		}
		return p.text(d)
	})
	make("any of", func(p *rules) ID {
		s, n := p.text(automaton.String()), p.text(integer(t))
		a := p.add(Rule{Object: &Object{Props: []Prop{{"kind", p.literals(`"a"`), true}, {"x", n, true}}, Max: -1}})
		b := p.add(Rule{Object: &Object{Props: []Prop{{"kind", p.literals(`"b"`), true}, {"y", s, true}}, Max: -1}})
		k := p.text(automaton.Key())
		c := p.add(Rule{Object: &Object{Extra: []Extra{{k, n}}, Max: 2}})
		return p.add(Rule{Any: []ID{a, b, c, n}})
	})
	make("recursive", func(p *rules) ID {
		tree := p.add(Rule{})
		n := p.text(integer(t))
		list := p.add(Rule{Array: &Array{Items: tree, Max: -1}})
		p.Rules[tree] = Rule{Object: &Object{Props: []Prop{{"v", n, true}, {"sons", list, false}}, Max: -1}}
		return tree
	})
	make("sums", func(p *rules) ID { // sum = one ("+" one)*; one = digit+ | "(" sum ")"
		digits := p.text(integer(t))
		one, sum := p.add(Rule{}), p.add(Rule{})
		p.Rules[one] = Rule{Proc: &Proc{States: []ProcState{
			{Edges: []edge{{Lo: '(', Hi: '(', To: 1}}, Calls: []Call{{Rule: digits, Return: 3}}},
			{Calls: []Call{{Rule: sum, Return: 2}}},
			{Edges: []edge{{Lo: ')', Hi: ')', To: 3}}},
			{Accept: true},
		}}}
		p.Rules[sum] = Rule{Proc: &Proc{States: []ProcState{
			{Calls: []Call{{Rule: one, Return: 1}}},
			{Edges: []edge{{Lo: '+', Hi: '+', To: 0}}, Accept: true},
		}}}
		return sum
	})
	return all
}

// vocabularies returns a byte alphabet, one with longer tokens, and one that lacks bytes.
func vocabularies() map[string]*Vocabulary {
	var bytes []string
	for b := range 256 {
		bytes = append(bytes, string([]byte{byte(b)}))
	}
	words := slices.Clone(bytes)
	words = append(words,
		`{"`, `":`, `":"`, `","`, `"}`, `"},{"`, `"]`, `[]`, `{}`, `""`, "answer", "age", "units", `,"age":`, "ab", "12", "345", "67890", " the", " cat",
		`a"`, `ab"`, `x":`, `"a":1`, `b":`, `red`, `gre`, `en"`, `["`, `","green`, `kind`, `"kind":"`, `a","x":`, "\\u", "\\n", "é", "日本", "\xe6\x97", "ä\"", `"v":`, `sons`,
		`,"sons":[`, `{"v":`, `)+(`, `((`, `1+`, `))`, `y":0`, `"xy":`, `z"`, `aa`, `aaaaaaaa`, `\\"`, `:1,"`, `":1,"a":`, `":0,"x":0}`,
	)
	words = append(words, "a", "", "ab") // ids with the same bytes, and none
	var ascii []string
	for b := ' '; b <= '~'; b++ {
		ascii = append(ascii, string(b))
	}
	return map[string]*Vocabulary{"bytes": NewVocabulary(bytes), "words": NewVocabulary(words), "ascii": NewVocabulary(append(ascii, "the ", `":`, "\n"))}
}

// A mask without a budget has exactly the tokens that a reader can read.
func TestMaskMatchesReader(t *testing.T) {
	for vname, v := range vocabularies() {
		for name, m := range machines(t) {
			t.Run(vname+"/"+name, func(t *testing.T) {
				c, err := Bind(m, v)
				if err != nil {
					t.Fatal(err)
				}
				for seed := range uint64(12) {
					checkMasks(t, c, rand.New(rand.NewPCG(seed, 1)))
				}
			})
		}
	}
}

func checkMasks(t *testing.T, c *Constraint, dice *rand.Rand) {
	costs, err := newCosts(nil, c.m, everyByte())
	if err != nil {
		t.Fatal(err)
	}
	run := newRun(c.m, costs)
	matcher, reader := c.Start(), &Reader{run: run, now: run.begin()}
	for step := 0; step < 40 && !matcher.Complete(); step++ {
		mask := matcher.Mask(1 << 20)
		for id := range c.v.Size() {
			want := follows(reader, c.v.Token(id))
			if got := mask.Bits[id>>6]>>(id&63)&1 != 0; got != want {
				t.Fatalf("after %q: token %q: mask %t, reader %t", matcher.Text(), c.v.Token(id), got, want)
			}
		}
		id := choose(mask.Bits, dice)
		if !matcher.Take(id) {
			t.Fatalf("after %q: %q is in the mask and not taken", matcher.Text(), c.v.Token(id))
		}
		for _, b := range []byte(c.v.Token(id)) {
			if !reader.Read(b) {
				t.Fatalf("the reader does not follow to %q", matcher.Text())
			}
		}
		if reader.Accepts() != matcher.Accepts() {
			t.Fatalf("%q: reader accepts %t, matcher %t", matcher.Text(), reader.Accepts(), matcher.Accepts())
		}
	}
}

// follows reports whether a text may continue with a token and still end. The reader has
// the costs over bytes.
func follows(r *Reader, token string) bool {
	r = r.Clone()
	for i := range len(token) {
		if !r.Read(token[i]) {
			return false
		}
	}
	r.run.text = r.text
	return token != "" && r.run.costs.leastCost(r.run, r.now) < never
}

func choose(bits []uint64, dice *rand.Rand) int {
	var ids []int
	for i, w := range bits {
		for ; w != 0; w &= w - 1 {
			ids = append(ids, i*64+lowest(w))
		}
	}
	return ids[dice.IntN(len(ids))]
}

// Any choice among the allowed tokens ends within the limit, however low it is.
func TestEnds(t *testing.T) {
	for vname, v := range vocabularies() {
		for name, m := range machines(t) {
			t.Run(vname+"/"+name, func(t *testing.T) {
				c, err := Bind(m, v)
				if err != nil {
					t.Fatal(err)
				}
				for limit := c.Min(); limit < c.Min()+30; limit++ {
					for seed := range uint64(6) {
						if err := write(c, limit, seed); err != nil {
							t.Fatalf("limit %d, seed %d: %v", limit, seed, err)
						}
					}
				}
			})
		}
	}
}

// write writes a text of at most limit tokens: at random, or, with odd seeds, so that the
// cost to end falls as late as possible.
func write(c *Constraint, limit int, seed uint64) error {
	m, dice := c.Start(), rand.New(rand.NewPCG(seed, uint64(limit)))
	for left := limit; !m.Complete(); left-- {
		if left == 0 && m.Accepts() {
			break
		}
		mask := m.Mask(left)
		if mask.Count == 0 {
			if m.Accepts() {
				break
			}
			return fmt.Errorf("nothing may follow %q with %d left, cost %d", m.Text(), left, m.Cost())
		}
		id := choose(mask.Bits, dice)
		if seed%2 == 1 {
			id = dearest(m, mask, dice)
		}
		if !m.Take(id) {
			return fmt.Errorf("%q: %q not taken", m.Text(), c.v.Token(id))
		}
		if m.Cost() > left-1 {
			return fmt.Errorf("%q: costs %d, left %d", m.Text(), m.Cost(), left-1)
		}
	}
	text := string(m.Text())
	if !c.m.Match(text) {
		return fmt.Errorf("%q does not match", text)
	}
	if strings.ContainsAny(text, "{[\"") && !json.Valid([]byte(text)) {
		return fmt.Errorf("%q is not JSON", text)
	}
	return unique(json.NewDecoder(strings.NewReader(text)))
}

// unique returns an error if an object in a text has a duplicate key.
func unique(d *json.Decoder) error {
	var keys []map[any]bool // of the objects that are open; nil for an array
	key := false            // the next token is one
	for {
		token, err := d.Token()
		if err != nil {
			return nil // the end, or no JSON
		}
		switch open := len(keys); {
		case token == json.Delim('{') || token == json.Delim('['):
			keys = append(keys, nil)
			if key = token == json.Delim('{'); key {
				keys[open] = map[any]bool{}
			}
			continue
		case token == json.Delim('}') || token == json.Delim(']'):
			keys = keys[:open-1]
		case key:
			if keys[open-1][token] {
				return fmt.Errorf("the key %q twice", token)
			}
			keys[open-1][token] = true
			key = false
			continue
		}
		key = len(keys) > 0 && keys[len(keys)-1] != nil
	}
}

// dearest returns, of a few allowed tokens, the one after which ending costs most.
func dearest(m *Matcher, mask *Mask, dice *rand.Rand) int {
	best, most := -1, -1
	for range 8 {
		id := choose(mask.Bits, dice)
		probe := &Matcher{c: m.c, run: m.run, now: m.now, cost: m.cost}
		length := len(m.run.text)
		if probe.Take(id) && probe.Cost() > most {
			best, most = id, probe.Cost()
		}
		m.run.text = m.run.text[:length]
	}
	return best
}
