package automaton

import (
	"strings"
	"testing"
)

// Whole and Pattern agree: about the whole of a text, and about a match somewhere in it.
func TestWhole(t *testing.T) {
	for _, c := range matches {
		quoted, err := Pattern("^(?:" + c.pattern + ")$")
		if err != nil {
			t.Fatalf("%s: %v", c.pattern, err)
		}
		whole, err := Whole(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		somewhere, err := Whole("[^]*(?:" + c.pattern + ")[^]*")
		if err != nil {
			t.Errorf("%s anywhere: %v", c.pattern, err)
			continue
		}
		check(t, whole)
		for i, list := range []string{c.in, c.out} {
			for s := range strings.SplitSeq(list, " ") {
				if s == "" {
					continue
				}
				if s == "_" {
					s = ""
				}
				if whole.Match(s) != quoted.Match(Quote(s)) {
					t.Errorf("%s on %q: %v", c.pattern, s, whole.Match(s))
				}
				if somewhere.Match(s) != (i == 0) {
					t.Errorf("%s somewhere in %q: %v", c.pattern, s, somewhere.Match(s))
				}
			}
		}
	}
	for _, pattern := range []string{"(", `(a)\1`, "a{2,1}"} {
		if _, err := Whole(pattern); err == nil {
			t.Errorf("%s compiles", pattern)
		}
	}
}
