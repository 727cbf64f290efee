package terminal

import (
	"io"
	"slices"
	"strings"
	"testing"
)

func TestLines(t *testing.T) {
	for _, test := range []struct {
		name, input string
		want        []string
	}{
		{"lines", "one\n\n  two  \nthree", []string{"one", "", "two", "three"}},
		{"a backslash continues", "a\\\nb\\\nc\nd\n", []string{"a\nb\nc", "d"}},
		{"a fence", "\"\"\"\n  x\n\ny\n\"\"\"\nz\n", []string{"  x\n\ny", "z"}},
		{"a fence in one line", `"""a "quoted" word"""` + "\n", []string{`a "quoted" word`}},
		{"an open fence", "\"\"\"\nx\n", []string{"x"}},
		{"nothing", "", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			lines := NewLines(strings.NewReader(test.input))
			for {
				text, err := lines.Line("> ")
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, text)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
	if _, err := NewLines(strings.NewReader(strings.Repeat("x", MaxLine+1))).Line(""); err == nil || err == io.EOF {
		t.Errorf("a line without end: %v", err)
	}
}
