package pushdown

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"glossa/pkg/grammar/automaton"
)

// longTokens returns a vocabulary of all bytes and of tokens that are longer than
// maxEquivalentBytes.
func longTokens() *Vocabulary {
	dice, pieces := rand.New(rand.NewPCG(3, 3)), []string{"a", "b", "f", "o", "-", "1", " ", " ", "\t", `"`, `\`, `\n`, "é", "\xc3", "日", ":", ","}
	tokens := slices.Clone(everyByte().tokens)
	for range 3000 {
		token := ""
		for range 1 + dice.IntN(3*maxEquivalentBytes) {
			token += pieces[dice.IntN(len(pieces))]
		}
		tokens = append(tokens, token)
	}
	for _, s := range []string{"a", " ", "ab ", "日"} { // deep and narrow
		token := ""
		for range 4 * maxEquivalentBytes {
			token += s
			tokens = append(tokens, token)
		}
	}
	return NewVocabulary(tokens)
}

// automata returns some whose states differ little, and some whose states differ much.
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

// The sets derived from any other state's sets equal those of a walk through the whole trie.
func TestDerive(t *testing.T) {
	vs, dice := vocabularies(), rand.New(rand.NewPCG(4, 4))
	vs["long"] = longTokens()
	for vname, v := range vs {
		for name, d := range automata(t) {
			index := v.textIndex(textKey{d: d})
			var full []*tokenSets
			for state := range d.States {
				b := &setBuilder{t: index, byBucket: make([][]uint64, len(index.walkTables().bucketCosts))}
				index.visit(int32(state), b.add)
				full = append(full, b.build())
			}
			for state := range d.States {
				for other := range d.States {
					if len(d.States) > 50 && dice.IntN(len(d.States)) > 5 {
						continue
					}
					got, want := index.derive(int32(state), int32(other), full[other]), full[state]
					if !reflect.DeepEqual(got.buckets, want.buckets) || !slices.Equal(got.ending, want.ending) || !slices.Equal(got.endNodes, want.endNodes) || got.maxChars < want.maxChars {
						t.Fatalf("%s: %s: state %d from %d: %d buckets, %d ending tokens, %d end nodes, %d characters, want %d, %d, %d, %d", vname, name, state, other,
							len(got.buckets), len(got.ending), len(got.endNodes), got.maxChars, len(want.buckets), len(want.ending), len(want.endNodes), want.maxChars)
					}
				}
			}
		}
	}
}

// States that count are equivalent over a token's bytes, if the count ends far away.
func TestClosestState(t *testing.T) {
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
		index, states := v.textIndex(textKey{d: d}), [2]int32{}
		for i, text := range texts {
			for _, b := range []byte(text) {
				states[i] = d.Next(states[i], b)
			}
		}
		index.tokenSets(states[0])
		if other, l := index.closestState(states[1]); l == nil || index.differingNodes(states[1], other) != 0 {
			t.Errorf("%s: after %s no state is close to that after %s", pattern, texts[1], texts[0])
		}
	}
}

// Once a pattern has matched somewhere, its sets are those of keys.
func TestAnyState(t *testing.T) {
	v := vocabularies()["words"]
	d, err := automaton.Pattern("foo")
	if err != nil {
		t.Fatal(err)
	}
	state := int32(0)
	for _, b := range []byte(`"xfoo`) {
		state = d.Next(state, b)
	}
	index := v.textIndex(textKey{d: d})
	if index.tokenSets(state) != v.anyTokenSets() || index.anyState() != state {
		t.Error("any text is not known after foo")
	}
	if limited := v.textIndex(textKey{d, true}).tokenSets(state); limited == v.anyTokenSets() || &limited.ending[0] != &v.anyTokenSets().ending[0] {
		t.Error("a limited index has its own ending tokens, or shares the sets by characters")
	}
}

// The height of a node is the number of bytes below it.
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
