package terminal

import (
	"errors"
	"strings"
	"testing"
)

// wrapped returns text as it appears after it came in pieces of n runes.
func wrapped(t *testing.T, text string, n, columns int) string {
	t.Helper()
	var out strings.Builder
	p := NewWrapper(&out, func() int { return columns })
	for rest := []rune(text); len(rest) > 0; {
		piece := rest[:min(n, len(rest))]
		rest = rest[len(piece):]
		if _, err := p.WriteString(string(piece)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.End(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestWrapper(t *testing.T) {
	for _, test := range []struct {
		name, text string
		columns    int // of the terminal; the last one stays free
		want       string
	}{
		{"fits", "one two", 9, "one two\n"},
		{"between words", "one two three four", 10, "one two \nthree \nfour\n"},
		{"a space at the edge", "one two three", 8, "one two\nthree\n"},
		{"line feeds stay", "one\n\ntwo\n", 20, "one\n\ntwo\n"},
		{"indentation stays", "if x:\n    return 1\n", 20, "if x:\n    return 1\n"},
		{"a word longer than a line", "a 0123456789 b", 6, "a \n01234\n56789\nb\n"},
		{"after a hyphen", "well-known", 7, "well-\nknown\n"},
		{"no break before a full stop", "one two.", 8, "one \ntwo.\n"},
		{"wide characters break anywhere", "日本語日本語", 6, "日本\n語日\n本語\n"},
		{"combining marks take no column", "e\u0301e\u0301e\u0301 e\u0301", 6, "e\u0301e\u0301e\u0301 e\u0301\n"},
		{"an emoji is not torn", "👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧", 6, "👨‍👩‍👧👨‍👩‍👧\n👨‍👩‍👧\n"},
		{"flags are not torn", "🇫🇷🇩🇪", 4, "🇫🇷\n🇩🇪\n"},
		{"a tab reaches its stop", "a\tbcd", 11, "a\t\nbcd\n"},
		{"one column", "ab", 1, "a\nb\n"},
		{"nothing", "", 10, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, n := range []int{1, 2, 3, 1000} {
				if got := wrapped(t, test.text, n, test.columns); got != test.want {
					t.Errorf("in pieces of %d: %q, want %q", n, got, test.want)
				}
			}
		})
	}
}

// A word appears as soon as the next one begins, not at the end of the line.
func TestWrapperStreams(t *testing.T) {
	var out strings.Builder
	p := NewWrapper(&out, func() int { return 80 })
	for _, step := range []struct{ text, want string }{
		{"The", ""}, {" old", "The "}, {" light", "The old "}, {"house", "The old "}, {".\n", "The old "}, {"It", "The old lighthouse.\n"},
	} {
		if _, err := p.WriteString(step.text); err != nil || out.String() != step.want {
			t.Errorf("after %q: %q, want %q, %v", step.text, out.String(), step.want, err)
		}
	}
}

// The width is that of the moment.
func TestWrapperResize(t *testing.T) {
	var out strings.Builder
	columns := 80
	p := NewWrapper(&out, func() int { return columns })
	for _, width := range []int{80, 9, 80} {
		columns = width
		if _, err := p.WriteString("one two three\n."); err != nil {
			t.Fatal(err)
		}
	}
	want := "one two three\n.one two\nthree\n.one two three\n.\n"
	if err := p.End(); err != nil || out.String() != want {
		t.Errorf("%q, want %q, %v", out.String(), want, err)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken") }

func TestWrapperError(t *testing.T) {
	p := NewWrapper(broken{}, func() int { return 80 })
	if _, err := p.WriteString("one two"); err == nil {
		t.Error("an error of the writer is lost")
	}
}

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"a\x1b[2J\tb\r\u009b1m\n":             "a[2J\tb1m\n",
		"\x1b]52;c;aGk=\x07":                  "]52;c;aGk=",
		"caf\xe9 \x9b2J":                      "caf\ufffd \ufffd2J",
		"é 日本 👨‍👩‍👧 \u200f":                   "é 日本 👨‍👩‍👧 \u200f",
		"one\u2028two\u2029three\x7f\x00\x08": "one\ntwo\nthree",
	} {
		if got := Clean(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
