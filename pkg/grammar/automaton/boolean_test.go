package automaton

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"unicode/utf8"
)

func TestBoolean(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	make := func() *DFA {
		e, _ := expression(r, 3)
		return must(Compile(e))
	}
	matched := 0
	for range 300 {
		a, b, c := make(), make(), make()
		both, err1 := Intersect(a, b)
		less, err2 := Subtract(a, b)
		any, err3 := Union(a, b, c)
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		check(t, both)
		check(t, less)
		check(t, any)
		texts([]string{"a", "b", "é"}, 5, func(s string) {
			x, y, z := a.Match(s), b.Match(s), c.Match(s)
			if both.Match(s) != (x && y) || less.Match(s) != (x && !y) || any.Match(s) != (x || y || z) {
				t.Fatalf("%q: %v %v %v: %v %v %v", s, x, y, z, both.Match(s), less.Match(s), any.Match(s))
			}
			if both.Match(s) || less.Match(s) {
				matched++
			}
		})
	}
	if matched < 1000 {
		t.Errorf("only %d matched", matched)
	}
	if none, err := Union(); err != nil || !none.Empty() || len(none.States) != 1 {
		t.Errorf("%+v %v", none, err)
	}
}

func TestBooleanMarks(t *testing.T) {
	p, err := Pattern("^[a-f]*$")
	if err != nil {
		t.Fatal(err)
	}
	words := Literals([]string{`"ab"`, `"é"`, `"x\n"`})
	for _, c := range []struct {
		d    func() (*DFA, error)
		text []string
	}{
		{func() (*DFA, error) { return Intersect(Key(), p) }, []string{`""`, `"abc"`}},
		{func() (*DFA, error) { return Intersect(p, Key()) }, []string{`""`, `"abc"`}},
		{func() (*DFA, error) { return Intersect(String(), words) }, []string{`"ab"`, `"é"`, `"x\n"`}},
		{func() (*DFA, error) { return Subtract(Key(), words) }, []string{`"a"`, `"abc"`, `"éé"`, `"x\n\u0001"`, `"x"`}},
		{func() (*DFA, error) { return Subtract(String(), p) }, []string{`"x"`, `"\u0061"`, `"\ud83d\ude00"`}},
		{func() (*DFA, error) { return Union(words, p) }, []string{`"ab"`, `"é"`, `"x\n"`, `"abcdef"`}},
	} {
		d, err := c.d()
		if err != nil {
			t.Fatal(err)
		}
		check(t, d)
		for _, s := range c.text {
			checkContent(t, d, s)
		}
	}
	less, err := Subtract(Key(), Key())
	if err != nil || !less.Empty() {
		t.Errorf("%+v %v", less, err)
	}
}

func TestLengths(t *testing.T) {
	pattern, err := Pattern(`^(ab|é|\n)*$`)
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range map[string]*DFA{"any": String(), "key": Key(), "pattern": pattern} {
		for _, c := range [][2]int{{0, 0}, {0, 2}, {1, 1}, {2, 3}, {2, -1}, {0, -1}, {3, 1}, {-1, -1}, {4, 4}} {
			l, err := Lengths(d, c[0], c[1])
			if err != nil {
				t.Fatal(err)
			}
			check(t, l)
			texts([]string{"a", "b", "é", `\n`, `\u00e9`, `\ud83d\ude00`, "😀"}, 4, func(s string) {
				s = `"` + s + `"`
				var v string
				if err := json.Unmarshal([]byte(s), &v); err != nil {
					t.Fatal(err)
				}
				n := utf8.RuneCountInString(v)
				want := d.Match(s) && n >= c[0] && (c[1] < 0 || n <= c[1])
				if l.Match(s) != want {
					t.Fatalf("%s %v: %s: %v", name, c, s, !want)
				}
				if want {
					checkContent(t, l, s)
				}
			})
		}
	}
	if d, err := Lengths(Key(), 0, -1); err != nil || d != Key() {
		t.Error("a length without bounds returns another automaton")
	}
	if _, err := Lengths(Key(), 0, maxStates); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
}

func BenchmarkPattern(b *testing.B) {
	for _, p := range []string{`^[a-z0-9-]{1,63}$`, `^[a-f0-9]{8}-[a-f0-9]{4}-[1-5][a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}$`,
		`^[^\s]+$`, `foo|bar`, `^(https?:\/\/)?([\da-z\.-]+)\.([a-z\.]{2,6})([\/\w \.-]*)*\/?$`, `^.{1,64}$`, `^\p{L}+$`} {
		b.Run(p, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Pattern(p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFormat(b *testing.B) {
	for _, f := range []string{date + "[Tt]" + clock, uuid, email, uri, ipv6} {
		b.Run(f[:20], func(b *testing.B) {
			for b.Loop() {
				must(Pattern("^" + f + "$"))
			}
		})
	}
}

func BenchmarkLiterals(b *testing.B) {
	var list []string
	for i := range 36 {
		list = append(list, Quote(fmt.Sprint("value ", i*i*i)))
	}
	b.ReportAllocs()
	for b.Loop() {
		Literals(list)
	}
}

func BenchmarkNumbers(b *testing.B) {
	for name, r := range map[string]Range{"0 to 100": {Min: rat("0"), Max: rat("100")}, "above 0": {Min: rat("0"), OpenMin: true}} {
		for _, whole := range []bool{true, false} {
			b.Run(fmt.Sprint(name, whole), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := (*Budget)(nil).ranged(r, Generating(), whole); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkBoolean(b *testing.B) {
	words := Literals([]string{`"name"`, `"description"`, `"type"`, `"properties"`, `"required"`})
	b.Run("keys but five", func(b *testing.B) {
		for b.Loop() {
			must(Subtract(Key(), words))
		}
	})
	b.Run("1 to 64 characters", func(b *testing.B) {
		for b.Loop() {
			must(Lengths(Key(), 1, 64))
		}
	})
}
