package pushdown

import (
	"slices"
	"strconv"
	"testing"

	"glossa/pkg/grammar/automaton"
)

// Equal DFAs share one index, and the number of cached states is bounded.
func TestTextCache(t *testing.T) {
	v, seen := vocabularies()["bytes"], map[*textIndex]string{}
	for range 2 {
		for name, d := range automata(t) {
			equal := &automaton.DFA{States: slices.Clone(d.States)}
			for _, limited := range []bool{false, true} {
				index := v.textIndex(textKey{equal, limited})
				if key := name + strconv.FormatBool(limited); seen[index] == "" && len(seen) < 2*len(automata(t)) {
					seen[index] = key
				} else if seen[index] != key {
					t.Errorf("%s has the index of %q", key, seen[index])
				}
				if index.limited != limited || !slices.EqualFunc(index.d.States, d.States, equalStates) {
					t.Errorf("%s: index of another automaton", name)
				}
			}
		}
	}
	for n := range 40 {
		d, err := automaton.Pattern("^b{" + strconv.Itoa(1000+n) + "}$")
		if err != nil {
			t.Fatal(err)
		}
		v.textIndex(textKey{d: d})
	}
	if got := v.recent.states + v.older.states; got > maxCachedStates || got < maxCachedStates/2 {
		t.Errorf("%d states are cached", got)
	}
}
