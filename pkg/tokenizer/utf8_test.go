package tokenizer

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// subparts is the reference: the definition of maximal subparts, applied to the whole
// text.
func subparts(s string) string {
	var b strings.Builder
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			for k := min(3, len(s)); k > 1; k-- {
				if completes(s[:k]) {
					n = k
					break
				}
			}
		}
		b.WriteRune(r)
		s = s[n:]
	}
	return b.String()
}

// completes reports by trial whether some bytes after p complete a rune.
func completes(p string) bool {
	tails := []string{"\x80", "\x90", "\xa0", "\xbf"}
	for _, a := range tails {
		for _, b := range append(tails, "") {
			if r, n := utf8.DecodeRuneInString(p + a + b); r != utf8.RuneError && n > len(p) {
				return true
			}
		}
	}
	return false
}

func TestUTF8(t *testing.T) {
	var u UTF8
	var got []string
	for _, s := range []string{"a\xe4", "\xb8", "\x96", "\xff", "\xf0\x9f", "\x98", "\x80b", "\xe4\xb8", "x", "\xc3"} {
		got = append(got, u.Write(s))
	}
	got = append(got, u.Flush(), u.Flush())
	if want := []string{"a", "", "世", "\ufffd", "", "", "😀b", "", "\ufffdx", "", "\ufffd", ""}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func FuzzUTF8(f *testing.F) {
	f.Add("世界\xe4\xb8 \xf0\x9f\x98\x80\xff\xc0\xaf\xed\xa0\x80", uint8(2))
	f.Fuzz(func(t *testing.T, s string, step uint8) {
		want := subparts(s)
		if utf8.ValidString(s) && want != s {
			t.Fatalf("the reference changes %q", s)
		}
		var u UTF8
		var b strings.Builder
		for rest := s; rest != ""; {
			n := min(len(rest), int(step)%5+1)
			out := u.Write(rest[:n])
			if !utf8.ValidString(out) || len(u.held) > 3 {
				t.Fatalf("%q gives %q, holds %q", rest[:n], out, u.held)
			}
			b.WriteString(out)
			rest = rest[n:]
		}
		b.WriteString(u.Flush())
		if b.String() != want {
			t.Fatalf("%q gives %q, want %q", s, b.String(), want)
		}
	})
}
