package pushdown

import (
	"slices"
	"strconv"
	"testing"

	"glossa/pkg/grammar/automaton"
)

// DFAs that are equal have one texts, others their own; so many are kept.
func TestTextsByContent(t *testing.T) {
	v, seen := vocabularies()["bytes"], map[*texts]string{}
	for range 2 {
		for name, d := range automata(t) {
			equal := &automaton.DFA{States: slices.Clone(d.States)}
			for _, limited := range []bool{false, true} {
				know := v.text(textKey{equal, limited})
				if key := name + strconv.FormatBool(limited); seen[know] == "" && len(seen) < 2*len(automata(t)) {
					seen[know] = key
				} else if seen[know] != key {
					t.Errorf("%s has the texts of %q", key, seen[know])
				}
				if know.limited != limited || !slices.EqualFunc(know.d.States, d.States, equalStates) {
					t.Errorf("%s: texts of another automaton", name)
				}
			}
		}
	}
	for n := range 40 {
		d, err := automaton.Pattern("^b{" + strconv.Itoa(1000+n) + "}$")
		if err != nil {
			t.Fatal(err)
		}
		v.text(textKey{d: d})
	}
	if got := v.last.states + v.before.states; got > keptStates || got < keptStates/2 {
		t.Errorf("%d states are kept", got)
	}
}
