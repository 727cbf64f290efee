package pushdown

import (
	"sync"
	"testing"

	"glossa/pkg/grammar/automaton"
)

// Goroutines write through one constraint, and bind others to one vocabulary.
func TestConcurrent(t *testing.T) {
	v := vocabularies()["words"]
	all := machines(t)
	keys := &rules{}
	word, n := keys.text(patternKeys(t)), keys.text(integer(t))
	all["keys"] = keys.machine(t, keys.add(Rule{Object: &Object{Extra: []Extra{{word, n}}, Min: 3, Max: -1}}))
	bounded := &rules{}
	name := bounded.add(Rule{Text: &Text{DFA: patternKeys(t), Counted: true, Max: 4}})
	all["bounded"] = bounded.machine(t, bounded.add(Rule{Array: &Array{Items: name, Max: -1}}))
	for name, m := range all {
		c, err := Bind(m, v)
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for seed := range uint64(8) {
			group.Go(func() {
				c := c
				if seed%3 == 0 {
					var err error
					if c, err = Bind(m, v); err != nil {
						t.Error(err)
						return
					}
				}
				for limit := c.Min(); limit < c.Min()+8; limit++ {
					if err := write(c, limit, seed); err != nil {
						t.Errorf("%s: limit %d: %v", name, limit, err)
					}
				}
			})
		}
		group.Wait()
	}
}

func patternKeys(t *testing.T) *automaton.DFA {
	t.Helper()
	d, err := automaton.Pattern("^(a|ab|x+)$")
	if err != nil {
		t.Fatal(err)
	}
	return d
}
