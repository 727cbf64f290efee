package grammar_test

import (
	"errors"
	"slices"
	"testing"

	"glossa/pkg/grammar"
)

// The masks of a regular expression write its texts in plain, not as JSON strings.
func TestRegexp(t *testing.T) {
	g, err := grammar.Regexp(`"é\n"|a+b`)
	if err != nil {
		t.Fatal(err)
	}
	tokens := []string{`"`, "é\n", `"b`, "a", "aab", `\n`}
	c, err := g.Bind(grammar.NewVocabulary(tokens))
	if err != nil {
		t.Fatal(err)
	}
	allowed := func(m *grammar.Matcher) (list []string) {
		for id, token := range tokens {
			if m.Mask(9).Allows(id) {
				list = append(list, token)
			}
		}
		return list
	}
	m := c.Start()
	if got, want := allowed(m), []string{`"`, "a", "aab"}; !slices.Equal(got, want) {
		t.Errorf("first %q, want %q", got, want)
	}
	m.Take(0)
	if got, want := allowed(m), []string{"é\n"}; !slices.Equal(got, want) {
		t.Errorf("then %q, want %q", got, want)
	}
	m.Take(1)
	if m.Take(0); !m.Complete() || !g.Match(string(m.Text())) {
		t.Errorf("%q is not complete", m.Text())
	}

	for _, source := range []string{"(", `(a)\1`, "a^b", `(a{1000}){1000}`} {
		if _, err := grammar.Regexp(source); !isError(err) {
			t.Errorf("%s: %v", source, err)
		}
	}
}

func isError(err error) bool {
	_, ok := errors.AsType[*grammar.Error](err)
	return ok
}
