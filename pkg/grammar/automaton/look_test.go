package automaton

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// A term is a pattern with its meaning: the places of a text at which a match that begins
// at one may end (ECMA-262 2025, 22.2.2).
type term struct {
	pattern string
	looks   bool // it has a look-around or a word boundary
	readsLF bool // Python's re reads it otherwise before a line feed
	ends    func(s []rune, at int) []int
}

// where returns a term that matches the empty text where a condition holds.
func where(pattern string, holds func(s []rune, at int) bool) term {
	return term{pattern: pattern, ends: func(s []rune, at int) []int {
		if holds(s, at) {
			return []int{at}
		}
		return nil
	}}
}

// one returns a term of one character.
func one(pattern string, is func(c rune) bool) term {
	return term{pattern: pattern, ends: func(s []rune, at int) []int {
		if at < len(s) && is(s[at]) {
			return []int{at + 1}
		}
		return nil
	}}
}

func (x term) with(y term) term {
	return term{looks: x.looks || y.looks, readsLF: x.readsLF || y.readsLF}
}

func follow(x, y term) term {
	z := x.with(y)
	z.pattern = x.pattern + y.pattern
	z.ends = func(s []rune, at int) (out []int) {
		for _, mid := range x.ends(s, at) {
			out = append(out, y.ends(s, mid)...)
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	return z
}

func either(x, y term) term {
	z := x.with(y)
	z.pattern = "(?:" + x.pattern + "|" + y.pattern + ")"
	z.ends = func(s []rune, at int) []int { return append(x.ends(s, at), y.ends(s, at)...) }
	return z
}

// repeat returns a term of x from low to high times, or unbounded.
func repeat(x term, low, high int) term {
	ends := x.ends
	x.pattern = fmt.Sprintf("(?:%s){%d,%d}", x.pattern, low, high)
	if high < 0 {
		x.pattern = strings.Replace(x.pattern, "-1}", "}", 1)
	}
	x.ends = func(s []rune, at int) []int {
		now, out := []int{at}, []int(nil)
		for n := 0; n <= high || high < 0 && n <= low+len(s); n++ {
			if n >= low {
				out = append(out, now...)
			}
			var next []int
			for _, at := range now {
				next = append(next, ends(s, at)...)
			}
			slices.Sort(next)
			now = slices.Compact(next)
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	return x
}

func lookAhead(x term, not bool) term {
	y := where(map[bool]string{false: "(?=", true: "(?!"}[not]+x.pattern+")", func(s []rune, at int) bool {
		return len(x.ends(s, at)) > 0 != not
	})
	y.looks, y.readsLF = true, x.readsLF
	return y
}

func lookBehind(x term, not bool) term {
	y := where(map[bool]string{false: "(?<=", true: "(?<!"}[not]+x.pattern+")", func(s []rune, at int) bool {
		for from := range at + 1 {
			if slices.Contains(x.ends(s, from), at) {
				return !not
			}
		}
		return not
	})
	y.looks, y.readsLF = true, x.readsLF
	return y
}

// leaf returns a term of at most one character under some flags.
func leaf(r *rand.Rand, flags modifiers) term {
	letter := func(pattern string, c rune) term {
		return one(pattern, func(d rune) bool { return c == d || flags.ignoreCase && unicode.ToLower(c) == unicode.ToLower(d) })
	}
	line := func(s []rune, at int) bool { return flags.multiline && s[at] == '\n' }
	inWord := func(s []rune, at int) bool { return at >= 0 && at < len(s) && unicode.IsLetter(s[at]) }
	boundary := func(s []rune, at int) bool { return inWord(s, at-1) != inWord(s, at) }
	switch r.IntN(12) {
	case 0:
		return where("^", func(s []rune, at int) bool { return at == 0 || line(s, at-1) })
	case 1:
		end := where("$", func(s []rune, at int) bool { return at == len(s) || line(s, at) })
		end.readsLF = !flags.multiline
		return end
	case 2:
		end := where(`\b`, boundary)
		end.looks = true
		return end
	case 3:
		end := where(`\B`, func(s []rune, at int) bool { return !boundary(s, at) })
		end.looks, end.readsLF = true, false
		return end
	case 4:
		return one(".", func(c rune) bool { return flags.dotAll || c != '\n' })
	case 5:
		return one("[^a]", func(c rune) bool { return c != 'a' && !(flags.ignoreCase && c == 'A') })
	case 6:
		return letter("€", '€')
	case 7:
		return letter("A", 'A')
	case 8:
		return one(`\w`, unicode.IsLetter)
	}
	return letter("a", 'a')
}

// randomTerm returns a term whose look-arounds, groups with flags and repetitions nest.
func randomTerm(r *rand.Rand, depth int, flags modifiers) term {
	if depth == 0 {
		return leaf(r, flags)
	}
	inner := func() term { return randomTerm(r, depth-1, flags) }
	switch r.IntN(10) {
	case 0:
		return either(inner(), inner())
	case 1:
		low := r.IntN(2)
		return repeat(inner(), low, low+r.IntN(3))
	case 2:
		return repeat(inner(), r.IntN(2), -1)
	case 3:
		return lookAhead(inner(), r.IntN(2) == 0)
	case 4:
		return lookBehind(inner(), r.IntN(2) == 0)
	case 5:
		on := r.IntN(7) + 1
		flags.ignoreCase = flags.ignoreCase != (on&1 != 0)
		flags.multiline = flags.multiline != (on&2 != 0)
		flags.dotAll = flags.dotAll != (on&4 != 0)
		x := randomTerm(r, depth-1, flags)
		x.pattern = "(?" + flagsOf(flags) + ":" + x.pattern + ")"
		return x
	}
	return follow(inner(), inner())
}

// flagsOf returns flags as a group has them: those that are set and those that are not.
func flagsOf(flags modifiers) string {
	var set, clear string
	for c, on := range map[string]bool{"i": flags.ignoreCase, "m": flags.multiline, "s": flags.dotAll} {
		if on {
			set += c
		} else {
			clear += c
		}
	}
	if clear != "" {
		clear = "-" + clear
	}
	return set + clear
}

const letters = "aA€\n"

// compare fails the test unless a pattern matches a text as its term does.
func compare(t *testing.T, x term, strict, loose *DFA, s []rune) bool {
	t.Helper()
	if x.readsLF && slices.Contains(s, '\n') {
		return false
	}
	want := false
	for at := 0; at <= len(s) && !want; at++ {
		want = len(x.ends(s, at)) > 0
	}
	if emptyBoundary := len(s) == 0 && strings.Contains(x.pattern, `\B`); !emptyBoundary && strict.Match(Quote(string(s))) != want {
		t.Errorf("%q on %q: not %v", x.pattern, string(s), want)
	} else if !emptyBoundary && loose.Match(Quote(string(s))) != want {
		t.Errorf("%q on %q: loosely not %v", x.pattern, string(s), want)
	}
	return want
}

// TestLooks compares random patterns with a backtracking matcher, on texts that ECMA-262
// and Python's re read alike.
func TestLooks(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	looked, matched, missed, large := 0, 0, 0, 0
	for range 300 {
		x := randomTerm(r, 4, modifiers{})
		strict, err := Pattern(x.pattern)
		loose, err2 := LoosePattern(x.pattern)
		if err != nil || err2 != nil {
			if large++; large > 10 {
				t.Fatalf("%s: %v %v", x.pattern, err, err2)
			}
			continue
		}
		check(t, strict)
		if x.looks {
			looked++
		}
		try := func(s string) {
			if compare(t, x, strict, loose, []rune(s)) {
				matched++
			} else {
				missed++
			}
		}
		texts(strings.Split(letters, ""), 3, try)
		for range 20 {
			try(randomText(r, 10))
		}
		if t.Failed() {
			return
		}
	}
	if looked < 200 || matched < 5_000 || missed < 5_000 {
		t.Errorf("%d patterns with look-arounds, %d texts matched and %d not", looked, matched, missed)
	}
	t.Logf("%d patterns with look-arounds, %d too large", looked, large)
}

// randomText returns a text of at most n letters.
func randomText(r *rand.Rand, n int) string {
	s := make([]rune, r.IntN(n+1))
	for i := range s {
		s[i] = []rune(letters)[r.IntN(4)]
	}
	return string(s)
}

func FuzzLooks(f *testing.F) {
	f.Add(uint64(1), uint64(2), uint64(3))
	f.Fuzz(func(t *testing.T, a, b, text uint64) {
		x := randomTerm(rand.New(rand.NewPCG(a, b)), 5, modifiers{})
		strict, err := Pattern(x.pattern)
		loose, err2 := LoosePattern(x.pattern)
		if err != nil || err2 != nil {
			return
		}
		r := rand.New(rand.NewPCG(text, 0))
		for range 20 {
			compare(t, x, strict, loose, []rune(randomText(r, 16)))
		}
	})
}
