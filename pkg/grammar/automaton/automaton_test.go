package automaton

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// check fails the test unless d satisfies the invariants of a DFA.
func check(t *testing.T, d *DFA) {
	t.Helper()
	n := int32(len(d.States))
	into := make([][]int32, n)
	met := make([]bool, n)
	for i, s := range d.States {
		for j, e := range s.Edges {
			if e.Lo > e.Hi || e.To < 0 || e.To >= n || j > 0 && e.Lo <= s.Edges[j-1].Hi {
				t.Fatalf("state %d: edge %v after %v of %d states", i, e, s.Edges[:j], n)
			}
			into[e.To] = append(into[e.To], int32(i))
			met[e.To] = true
		}
	}
	live := make([]bool, n)
	var queue []int32
	for i, s := range d.States {
		if s.Accept {
			live[i] = true
			queue = append(queue, int32(i))
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, from := range into[queue[0]] {
			if !live[from] {
				live[from] = true
				queue = append(queue, from)
			}
		}
	}
	for i := range n {
		if !live[i] && n > 1 {
			t.Fatalf("state %d of %d is dead", i, n)
		}
		if i > 0 && !met[i] {
			t.Fatalf("state %d of %d is never met", i, n)
		}
	}
}

// checkContent fails the test unless an automaton of JSON strings marks exactly the states
// where characters begin, on every text that it tries.
func checkContent(t *testing.T, d *DFA, text string) {
	t.Helper()
	state, in, units := int32(0), outside, 0
	for i := range len(text) {
		if got := d.States[state].Content; got != (in == content && units == 0) {
			t.Fatalf("%q: content %v after %q", text, got, text[:i])
		}
		if in == content && text[i] != '"' {
			units = 1
			if strings.HasPrefix(strings.ToLower(text[i:]), `\ud8`) {
				units = 2
			}
		}
		state = d.Next(state, text[i])
		if in = in.after(text[i]); in == content && units > 0 {
			units--
		}
		if state < 0 {
			t.Fatalf("%q: no state after %q", text, text[:i+1])
		}
	}
	if !d.States[state].Accept || d.States[state].Content {
		t.Fatalf("%q: ends in %+v", text, d.States[state])
	}
}

// texts calls f with every text of at most n parts.
func texts(parts []string, n int, f func(string)) {
	f("")
	if n > 0 {
		for _, p := range parts {
			texts(parts, n-1, func(s string) { f(p + s) })
		}
	}
}

// expression returns a random expression over a, b, é and the same as a regexp.
func expression(r *rand.Rand, depth int) (Expr, string) {
	if depth == 0 {
		switch r.IntN(4) {
		case 0:
			return Bytes("ab"), "(?:ab)"
		case 1:
			return Class([]rune{'é', 'é', 'a', 'a'}, UTF8), "[aé]"
		case 2:
			return Expr{}, "(?:)"
		default:
			return Class([]rune{'b', 'é'}, UTF8), "[b-é]"
		}
	}
	a, x := expression(r, depth-1)
	b, y := expression(r, r.IntN(depth))
	switch r.IntN(5) {
	case 0:
		return Concat(a, b), x + y
	case 1:
		return Alternate(b, a), "(?:" + x + "|" + y + ")"
	case 2:
		return Repeat(a, 0, -1), "(?:" + x + ")*"
	case 3:
		return Repeat(a, 1, -1), "(?:" + x + ")+"
	default:
		low := r.IntN(3)
		high := low + r.IntN(3)
		return Repeat(a, low, high), fmt.Sprintf("(?:%s){%d,%d}", x, low, high)
	}
}

func TestExpressions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	matched := 0
	for range 300 {
		e, x := expression(r, 4)
		d, err := Compile(e)
		if err != nil {
			t.Fatal(x, err)
		}
		check(t, d)
		want := regexp.MustCompile("^(?:" + x + ")$")
		texts([]string{"a", "b", "é", "c"}, 5, func(s string) {
			if d.Match(s) != want.MatchString(s) {
				t.Fatalf("%s on %q: %v", x, s, d.Match(s))
			}
			if d.Match(s) {
				matched++
			}
		})
	}
	if matched < 1000 {
		t.Errorf("only %d texts matched", matched)
	}
}

func TestLeast(t *testing.T) {
	for _, c := range []struct {
		e      Expr
		states int
	}{
		{Repeat(Alternate(Bytes("a"), Bytes("b")), 0, -1), 1},
		{Concat(Alternate(Bytes("xay"), Bytes("xby"), Bytes("cy")), Bytes("z")), 5},
		{Alternate(), 1},
		{Concat(Bytes("a"), Class(nil, UTF8)), 1},
		{Repeat(Bytes("abc"), 0, -1), 3},
	} {
		d, err := Compile(c.e)
		if err != nil || len(d.States) != c.states {
			t.Errorf("%+v: %d states, not %d (%v)", c.e.n, len(d.States), c.states, err)
		}
	}
}

func TestClassEveryCharacter(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 30 {
		var runes []rune
		for range r.IntN(6) {
			lo := rune(r.IntN(1 << (r.IntN(21) + 1)))
			runes = append(runes, lo, lo+rune(r.IntN(1<<r.IntN(21))))
		}
		in := func(c rune) bool {
			for i := 0; i < len(runes); i += 2 {
				if runes[i] <= c && c <= runes[i+1] {
					return true
				}
			}
			return false
		}
		raw, err := Compile(Class(append([]rune(nil), runes...), UTF8))
		if err != nil {
			t.Fatal(err)
		}
		escaped, err := Compile(quoted(Class(append([]rune(nil), runes...), JSON)))
		if err != nil {
			t.Fatal(err)
		}
		check(t, raw)
		check(t, escaped)
		for c := rune(0); c <= utf8.MaxRune; c++ {
			if c >= 0xD800 && c < 0xE000 {
				continue
			}
			if raw.Match(string(c)) != in(c) || escaped.Match(Quote(string(c))) != in(c) {
				t.Fatalf("%x: %U: %v %v", runes, c, raw.Match(string(c)), escaped.Match(Quote(string(c))))
			}
			if c > 0x3000 {
				c += rune(r.IntN(64))
			}
		}
		for _, bad := range []string{"\xed\xa0\x80", "\xed\xbf\xbf", "\xc0\x80", "\xe0\x80\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\x80", "\xff"} {
			if raw.Match(bad) || escaped.Match(`"`+bad+`"`) {
				t.Fatalf("%x: %q is not a character", runes, bad)
			}
		}
	}
}

func TestString(t *testing.T) {
	check(t, String())
	check(t, Key())
	for i, of := range []func() *DFA{String, Key, Boolean, Null} {
		if first := of(); of() != first {
			t.Errorf("%d is not shared", i)
		}
	}
	parts := []string{`"`, `\`, `\u`, "d83d", "DE00", "D7ff", "n", "/", "é", "\x80", "\x1f", "0041"}
	matched := 0
	texts(parts, 4, func(s string) {
		s = `"` + s + `"`
		var v string
		want := json.Unmarshal([]byte(s), &v) == nil && utf8.ValidString(s) && !strings.ContainsRune(v, utf8.RuneError)
		if String().Match(s) != want {
			t.Fatalf("%q: %v", s, !want)
		}
		if want {
			matched++
			checkContent(t, String(), s)
		}
		if key := want && Quote(v) == s; Key().Match(s) != key {
			t.Fatalf("%q as a key: %v", s, !key)
		} else if key {
			checkContent(t, Key(), s)
		}
	})
	if matched < 500 {
		t.Errorf("only %d matched", matched)
	}
	for _, s := range []string{`""`, `"\ud83d\ude00"`, `"\uD83D\uDE00a"`, `"\u0000\/"`} {
		checkContent(t, String(), s)
	}
	for _, s := range []string{"", `"`, `"a`, `"\ud83d"`, `"\ude00\ud83d"`, `"\ud83dx"`, `"\x"`, `"a"b`, "\"\n\""} {
		if String().Match(s) {
			t.Errorf("%q is not a string", s)
		}
	}
}

// TestEscapes has every kind of code unit, alone and after a high surrogate.
func TestEscapes(t *testing.T) {
	const digits = "/0179:@ACDEFG`acdefg"
	for _, before := range []string{"", `\ud800`, `\ud9ff`, `\uDBFF`, `\u0041`} {
		for i := range len(digits) * len(digits) * len(digits) {
			s := before + `\u` + string([]byte{digits[i%20], digits[i/20%20], digits[i/400], digits[i%20]})
			var v string
			want := json.Unmarshal([]byte(`"`+s+`"`), &v) == nil && !strings.ContainsRune(v, utf8.RuneError)
			if String().Match(`"`+s+`"`) != want {
				t.Fatalf("%s: %v", s, !want)
			}
		}
	}
}

func TestQuote(t *testing.T) {
	for c := rune(0); c < 0x300; c++ {
		q := Quote(string(c) + "x")
		var v string
		if err := json.Unmarshal([]byte(q), &v); err != nil || v != string(c)+"x" {
			t.Errorf("%U: %q: %v", c, q, err)
		}
		if c >= 0x20 && c != '"' && c != '\\' && q != `"`+string(c)+`x"` {
			t.Errorf("%U: %q", c, q)
		}
	}
	if q := Quote("\b\f\n\r\t\"\\\x1f\x7f/\u2028<\xff"); q != `"\b\f\n\r\t\"\\\u001f`+"\x7f/\u2028<\ufffd\"" {
		t.Errorf("%q", q)
	}
}

func TestLiterals(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		want := map[string]bool{}
		var list []string
		for range r.IntN(12) {
			s := ""
			for range r.IntN(5) {
				s += []string{"a", "b", "é", `"`}[r.IntN(4)]
			}
			want[s] = true
			list = append(list, s)
		}
		d := Literals(list)
		check(t, d)
		texts([]string{"a", "b", "é", `"`}, 5, func(s string) {
			if d.Match(s) != want[s] {
				t.Fatalf("%q on %q", list, s)
			}
		})
	}
	quotes := []string{`"an"`, `"b\n"`, `"\u001fé😀\\"`, `""`}
	for _, q := range quotes {
		checkContent(t, Literals(quotes), q)
	}
	if d := Literals(nil); !d.Empty() || len(d.States) != 1 {
		t.Errorf("%+v", d)
	}
	if d := Literals([]string{""}); d.Empty() || !d.Match("") {
		t.Errorf("%+v", d)
	}
}

// TestMarksApart has texts with a common suffix after a character and within one.
func TestMarksApart(t *testing.T) {
	a, b := Literals([]string{`"an"`}), Literals([]string{`"b\n"`})
	d, err := Union(a, b)
	if err != nil {
		t.Fatal(err)
	}
	check(t, d)
	checkContent(t, d, `"an"`)
	checkContent(t, d, `"b\n"`)
}

func TestCalls(t *testing.T) {
	// a list: value (',' value)*, where a value is a call of 7 or 'x', 9 a call before nothing
	value := Alternate(Call(7), Bytes("x"))
	states, err := CompileCalls(Concat(value, Repeat(Concat(Bytes(","), value), 0, -1), Alternate(Expr{}, Concat(Call(9), Class(nil, UTF8)))))
	if err != nil {
		t.Fatal(err)
	}
	if len(states) != 2 || len(states[0].Calls) != 1 || states[0].Calls[0] != (Arc{7, 1}) || len(states[0].Edges) != 1 {
		t.Errorf("%+v", states)
	}
	if s := states[1]; !s.Accept || len(s.Calls) != 0 || len(s.Edges) != 1 || s.Edges[0] != (Edge{',', ',', 0}) {
		t.Errorf("%+v", s)
	}
	states, err = CompileCalls(Alternate(Concat(Call(1), Bytes("a")), Concat(Call(1), Bytes("b")), Call(0)))
	if err != nil || len(states) != 3 || len(states[0].Calls) != 2 || states[0].Calls[0].Symbol != 0 {
		t.Errorf("%+v %v", states, err)
	}
	if _, err := Compile(Call(1)); err == nil {
		t.Error("calls compiled to bytes")
	}
}

func TestTooLarge(t *testing.T) {
	a := Bytes("a")
	ab := Alternate(a, Bytes("b"))
	for _, e := range []Expr{
		Repeat(Repeat(Repeat(a, 0, 1000), 0, 1000), 0, 1000),
		Repeat(a, 2_000_000, -1),
		Repeat(a, 0, maxStates+1),
		Concat(Repeat(ab, 0, -1), a, Repeat(ab, 40, 40)),
	} {
		if _, err := Compile(e); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%v", err)
		}
	}
}
