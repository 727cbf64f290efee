package schema

import (
	"strings"
	"testing"
)

// refused lists patterns that Python accepts and this package rejects, with the words
// that the error must contain.
var refused = map[string]string{
	`a++a`:           "possessive",
	`(?=a)`:          "look-ahead",
	`(?!a)b`:         "negative look-ahead",
	`(?<=a)b`:        "look-behind",
	`(?<!a)b`:        "negative look-behind",
	`(a)\1`:          "back-reference",
	`(?P<q>a)(?P=q)`: "back-reference",
	`(a)?(?(1)b|c)`:  "conditional",
	`(?>a+)b`:        "atomic group",
	`(?x) a `:        "verbose",
	`\N{BULLET}`:     `\N{…}`,
	`\bfoo`:          "(?a)",
}

func TestPython(t *testing.T) {
	var table struct {
		Cases []struct {
			Pattern, Text string
			Result, Error *string
		}
	}
	readTest(t, "python-re.json", &table)
	for _, c := range table.Cases {
		re, err := compilePython(c.Pattern)
		want, isRefused := refused[c.Pattern]
		switch {
		case c.Error != nil && err == nil:
			t.Errorf("%s compiles to %s, Python says %s", c.Pattern, re, *c.Error)
		case c.Error == nil && isRefused:
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", c.Pattern, err, want)
			}
		case c.Error == nil && err != nil:
			t.Errorf("%s: %v", c.Pattern, err)
		case c.Error == nil:
			// $ may match the last line feed, which JSON ignores.
			if got := re.ReplaceAllString(c.Text, ""); strings.TrimRight(got, "\n") != strings.TrimRight(*c.Result, "\n") {
				t.Errorf("%s, as %s, leaves %q of %q, Python %q", c.Pattern, re, got, c.Text, *c.Result)
			}
		}
	}
}

func TestPythonBounds(t *testing.T) {
	for _, pattern := range []string{strings.Repeat("a", maxPattern+1), `(((a{1000}){1000}){1000})`, `a{1001}`, "\\"} {
		if _, err := compilePython(pattern); err == nil {
			t.Errorf("%.20s compiles", pattern)
		}
	}
}
