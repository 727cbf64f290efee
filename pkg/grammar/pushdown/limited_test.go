package pushdown

import (
	"testing"
	"unicode/utf8"

	"glossa/pkg/grammar/automaton"
)

// A pattern with a maximum length matches its strings of at most that length.
func TestLimited(t *testing.T) {
	const most = 6
	pieces := []string{"ab", "c", "é", "the", "-", "\n"}
	for _, pattern := range []string{"^[a-c]+(-[a-c]+)*$", "^(ab|c|é)*the$", `^(\n|c)+$`} {
		d, err := automaton.Pattern(pattern)
		if err != nil {
			t.Fatal(err)
		}
		p := &rules{}
		m := p.machine(t, p.add(Rule{Text: &Text{DFA: d, Counted: true, Max: most}}))
		in := 0
		var try func(text string, more int)
		try = func(text string, more int) {
			quoted := automaton.Quote(text)
			want := d.Match(quoted) && utf8.RuneCountInString(text) <= most
			if got := m.Match(quoted); got != want {
				t.Errorf("%s, at most %d characters: %s matches: %t", pattern, most, quoted, got)
			}
			if want && utf8.RuneCountInString(text) == most {
				in++
			}
			for _, piece := range pieces {
				if more > 0 {
					try(text+piece, more-1)
				}
			}
		}
		try("", 6)
		if in == 0 {
			t.Errorf("%s: no text has as many characters as it may", pattern)
		}
	}
}
