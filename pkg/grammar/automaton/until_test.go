package automaton

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// marked returns the texts of a few parts, up to n of them.
func marked(n int, f func(string)) {
	texts([]string{"a", "<", "<e", "nd>", "é", "\xc3", "\"", "\\", "\n"}, n, f)
}

func checked(t *testing.T) func(d *DFA, err error) *DFA {
	return func(d *DFA, err error) *DFA {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		check(t, d)
		return d
	}
}

func TestUntil(t *testing.T) {
	const mark = "<end>"
	until, without := checked(t)((*Budget)(nil).Until(Text(), mark)), checked(t)((*Budget)(nil).Without(Text(), mark))
	counting := checked(t)((*Budget)(nil).Until(checked(t)((*Budget)(nil).Contents(String())), mark))
	marked(5, func(text string) {
		before, after, found := strings.Cut(text, mark)
		if want := found && after == "" && Text().Match(before); until.Match(text) != want {
			t.Fatalf("until, %q: want %t", text, want)
		}
		if want := utf8.RuneCountInString(text); until.Match(text) && begun(counting, text) != want {
			t.Fatalf("until, %q: %d characters, want %d", text, begun(counting, text), want)
		}
		if want := !found && Text().Match(text); without.Match(text) != want {
			t.Fatalf("without, %q: want %t", text, want)
		}
	})
}

// A mark may be bytes that texts do not have, and end as it begins.
func TestUntilOtherMarks(t *testing.T) {
	for _, mark := range []string{"\xff\x01", "\nx\n", "\n"} {
		until := checked(t)((*Budget)(nil).Until(Text(), mark))
		for _, before := range []string{"", "é", "x", mark[:1] + "y"} {
			want := !strings.Contains(before, mark) && Text().Match(before)
			if until.Match(before+mark) != want {
				t.Errorf("%q before %q: want %t", before, mark, want)
			}
			if until.Match(before) {
				t.Errorf("%q: without its mark", before)
			}
		}
	}
	for _, mark := range []string{"", "aab", "abac"} {
		if _, err := (*Budget)(nil).Until(Text(), mark); err == nil {
			t.Errorf("%q: no error", mark)
		}
		if _, err := (*Budget)(nil).Without(Text(), mark); err == nil {
			t.Errorf("%q: no error", mark)
		}
	}
}

// A content matches if a JSON string of it does.
func TestContents(t *testing.T) {
	pattern, err := Pattern(`^(a|<|é|"|\\|\n)*$`)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []*DFA{String(), checked(t)(Lengths(String(), 1, 3)), pattern} {
		contents := checked(t)((*Budget)(nil).Contents(d))
		marked(4, func(text string) {
			var b strings.Builder
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false)
			if err := e.Encode(text); err != nil {
				t.Fatal(err)
			}
			want := Text().Match(text) && d.Match(strings.TrimSuffix(b.String(), "\n"))
			if contents.Match(text) != want {
				t.Fatalf("%q: want %t", text, want)
			}
		})
	}
	if _, err := (*Budget)(nil).Contents(Literal("1")); err == nil {
		t.Error("a number has no content")
	}
}

func TestText(t *testing.T) {
	check(t, Text())
	for text, want := range map[string]bool{
		"": true, "é\x00": true, "\u0800\uD7FF\uE000\U00010000\U0010FFFF": true,
		"\x80": false, "\xc3": false, "a\xc0\x80": false, "\xed\xa0\x80": false, "\xe0\x80\x80": false, "\xf4\x90\x80\x80": false, "\xf0\x80\x80\x80": false, "\xff": false,
	} {
		if Text().Match(text) != want {
			t.Errorf("%q: want %t", text, want)
		}
	}
}

func TestLiteralAndStarting(t *testing.T) {
	for text, want := range map[string][2]bool{"": {}, "a": {}, "ab": {true, true}, "abc": {false, true}, "ab\xff": {false, true}, "b": {}} {
		if got := [2]bool{Literal("ab").Match(text), Starting("ab").Match(text)}; got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// begun returns how many characters begin on the path of a text.
func begun(d *DFA, text string) (n int) {
	for i, state := 0, int32(0); i < len(text); i++ {
		if d.States[state].Begins(text[i]) {
			n++
		}
		state = d.Next(state, text[i])
	}
	return n
}

// Marks that are not UTF-8 count as many characters as their path begins.
func TestCharacters(t *testing.T) {
	for mark, want := range map[string]int{"\xf5": 1, "</a>\n": 5, "\n\xf6é": 3, "｜": 1} {
		contents := checked(t)((*Budget)(nil).Contents(String()))
		until := checked(t)((*Budget)(nil).Until(contents, mark))
		if got, path := Characters(mark), begun(until, "日\"\n"+mark)-3; got != want || path != want {
			t.Errorf("%q: %d characters, %d on its path, want %d", mark, got, path, want)
		}
	}
}
