package pushdown

import (
	"testing"

	"glossa/pkg/grammar/automaton"
)

// Min accounts for tokens of several characters, and a text of Min tokens can be written.
func TestFewestTokens(t *testing.T) {
	pattern := func(p *rules, text string) *automaton.DFA {
		d, err := automaton.Pattern(text)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	tokens := append(vocabularies()["bytes"].tokens, "aaa", "xxxxxxxx", "http", "://", "example", ".com", `"http`)
	for name, test := range map[string]struct {
		text func(p *rules) Text
		want int
	}{
		"so many characters": {func(*rules) Text { return Text{DFA: automaton.String(), Counted: true, Min: 240, Max: -1} }, 2 + 30},
		"exactly so many":    {func(*rules) Text { return Text{DFA: automaton.String(), Counted: true, Min: 12, Max: 12} }, 2 + 2},
		"very many":          {func(*rules) Text { return Text{DFA: automaton.Key(), Counted: true, Min: 80_001, Max: -1} }, 2 + 10_001},
		"a pattern with a bound": {func(p *rules) Text {
			return Text{DFA: pattern(p, "^http://example.com/[a-z]+$"), Counted: true, Max: 30}
		}, 7},
		"a bound that is too low": {func(p *rules) Text { return Text{DFA: pattern(p, "^(xxxxxxxx|xy)$"), Counted: true, Max: 2} }, 4},
	} {
		p := &rules{}
		text := test.text(p)
		m := p.machine(t, p.add(Rule{Text: &text}))
		c, err := Bind(m, NewVocabulary(tokens))
		if err != nil {
			t.Fatal(err)
		}
		if c.Min() != test.want {
			t.Errorf("%s: %d tokens, want %d", name, c.Min(), test.want)
		}
		w, taken := c.Start(), 0
		for ; !w.Accepts(); taken++ {
			mask := w.Mask(c.Min() - taken)
			if mask.Count == 0 {
				t.Fatalf("%s: nothing may follow after %d tokens, cost %d", name, taken, w.Cost())
			}
			w.Take(firstBit(mask.Bits))
		}
		if taken > c.Min() || !m.Match(string(w.Text())) {
			t.Errorf("%s: %d tokens were taken, Min is %d: %.60q", name, taken, c.Min(), w.Text())
		}
	}
}
