package pushdown

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"glossa/pkg/grammar/automaton"
)

// longTokens is a vocabulary of all bytes and of tokens that are longer than the bytes
// over which states are looked at.
func longTokens() *Vocabulary {
	dice, pieces := rand.New(rand.NewPCG(3, 3)), []string{"a", "b", "f", "o", "-", "1", " ", " ", "\t", `"`, `\`, `\n`, "é", "\xc3", "日", ":", ","}
	tokens := slices.Clone(everyByte().tokens)
	for range 3000 {
		token := ""
		for range 1 + dice.IntN(3*alikeFor) {
			token += pieces[dice.IntN(len(pieces))]
		}
		tokens = append(tokens, token)
	}
	for _, s := range []string{"a", " ", "ab ", "日"} { // deep and narrow
		token := ""
		for range 4 * alikeFor {
			token += s
			tokens = append(tokens, token)
		}
	}
	return NewVocabulary(tokens)
}

// automata are some whose states differ little, and some whose states differ much.
func automata(t *testing.T) map[string]*automaton.DFA {
	list := map[string]*automaton.DFA{"string": automaton.String(), "key": automaton.Key(), "integer": integer(t)}
	for _, pattern := range []string{"foo", "a.*b", "^[ab]{3,30}$", `^(?:\S+\s+){0,9}\S+$`, "^$|^é+-日", "a{9}"} {
		d, err := automaton.Pattern(pattern)
		if err != nil {
			t.Fatal(err)
		}
		list[pattern] = d
	}
	to := func(b byte, state int32) []edge { return []edge{{Lo: b, Hi: b, To: state}} }
	list["content"] = &automaton.DFA{States: []automaton.State{ // an a, then a b that is a character or none
		{Edges: append(to('a', 2), to('b', 1)...)}, {Edges: to('a', 3)}, {Edges: to('b', 4), Content: true}, {Edges: to('b', 4)}, {Accept: true},
	}}
	return list
}

// What is derived from the local of any other state is what a walk through the trie finds.
func TestDerive(t *testing.T) {
	vs, dice := vocabularies(), rand.New(rand.NewPCG(4, 4))
	vs["long"] = longTokens()
	for vname, v := range vs {
		for name, d := range automata(t) {
			know := v.text(textKey{d: d})
			var full []*local
			for state := range d.States {
				f := &finding{t: know, byGrade: make([][]uint64, len(know.walking().grades))}
				know.visit(int32(state), f.nodes)
				full = append(full, f.local())
			}
			for state := range d.States {
				for other := range d.States {
					if len(d.States) > 50 && dice.IntN(len(d.States)) > 5 {
						continue
					}
					got, want := know.derive(int32(state), int32(other), full[other]), full[state]
					if !reflect.DeepEqual(got.inside, want.inside) || !slices.Equal(got.ends, want.ends) || !slices.Equal(got.places, want.places) || got.chars < want.chars {
						t.Fatalf("%s: %s: state %d from %d: %d grades, %d ends, %d places, %d characters, want %d, %d, %d, %d", vname, name, state, other,
							len(got.inside), len(got.ends), len(got.places), got.chars, len(want.inside), len(want.ends), len(want.places), want.chars)
					}
				}
			}
		}
	}
}

// States that count far from where the count ends are alike as far as tokens go.
func TestNear(t *testing.T) {
	v := longTokens()
	for pattern, texts := range map[string][2]string{
		`^(?:\S+\s+){0,29}\S+$`: {`"a b`, `"a b c`},
		"^[ab]{3,30}$":          {`"aaaa`, `"aaaaaaaaaa`},
		"a{9}":                  {`"`, `"b`},
	} {
		d, err := automaton.Pattern(pattern)
		if err != nil {
			t.Fatal(err)
		}
		know, states := v.text(textKey{d: d}), [2]int32{}
		for i, text := range texts {
			for _, b := range []byte(text) {
				states[i] = d.Next(states[i], b)
			}
		}
		know.local(states[0])
		if other, l := know.near(states[1]); l == nil || know.apart(states[1], other) != 0 {
			t.Errorf("%s: after %s nothing is like after %s", pattern, texts[1], texts[0])
		}
	}
}

// What is left of a pattern that has matched somewhere is known from keys.
func TestAnyText(t *testing.T) {
	v := vocabularies()["words"]
	d, err := automaton.Pattern("foo")
	if err != nil {
		t.Fatal(err)
	}
	state := int32(0)
	for _, b := range []byte(`"xfoo`) {
		state = d.Next(state, b)
	}
	know := v.text(textKey{d: d})
	if know.local(state) != v.anyLocal() || know.anyText() != state {
		t.Error("any text is not known after foo")
	}
	if limited := v.text(textKey{d, true}).local(state); limited == v.anyLocal() || &limited.ends[0] != &v.anyLocal().ends[0] {
		t.Error("limited texts have sets of their own, or share what is there by characters")
	}
}

// The height of a node is how many bytes its longest token has after it.
func TestHeights(t *testing.T) {
	for name, v := range vocabularies() {
		for i := range v.nodes {
			want := uint8(0)
			for _, below := range v.nodes[i : i+int(v.nodes[i].size)] {
				want = max(want, below.depth-v.nodes[i].depth)
			}
			if v.heights[i] != want {
				t.Errorf("%s: node %d has the height %d, want %d", name, i, v.heights[i], want)
			}
		}
	}
}
