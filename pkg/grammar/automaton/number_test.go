package automaton

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func rat(s string) *big.Rat {
	if s == "" {
		return nil
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		panic(s)
	}
	return r
}

func TestNumbersUnbounded(t *testing.T) {
	all, err := Numbers(Range{}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := Integers(Range{}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	check(t, all)
	check(t, whole)
	integer := regexp.MustCompile(`^-?(0|[1-9]\d*)$`)
	matched := 0
	texts([]string{"-", "+", ".", "0", "1", "9", "e", "E"}, 5, func(s string) {
		want := json.Valid([]byte(s))
		if all.Match(s) != want || whole.Match(s) != integer.MatchString(s) {
			t.Fatalf("%q: %v %v", s, all.Match(s), whole.Match(s))
		}
		if want {
			matched++
		}
	})
	if matched < 500 {
		t.Errorf("only %d matched", matched)
	}
	for _, l := range []Limits{{}, Generating()} {
		a, _ := Numbers(Range{}, l)
		b, _ := Numbers(Range{}, l)
		c, _ := Integers(Range{}, l)
		d, _ := Integers(Range{}, l)
		if a != b || c != d {
			t.Errorf("%v: not shared", l)
		}
	}
}

func TestNumbersLimits(t *testing.T) {
	form := regexp.MustCompile(`^(-?)(0|[1-9]\d*)(\.\d+)?([eE][+-]?(\d+))?$`)
	for _, l := range []Limits{{2, 3, 1}, {1, 3, 2}, {0, 2, 0}, {2, 0, 0}, {0, 0, 1}} {
		all, err := Numbers(Range{}, l)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := Integers(Range{}, l)
		if err != nil {
			t.Fatal(err)
		}
		check(t, all)
		check(t, whole)
		within := func(n, limit int) bool { return limit == 0 || n <= limit }
		texts([]string{"-", ".", "0", "7", "e", "+"}, 6, func(s string) {
			m := form.FindStringSubmatch(s)
			want := m != nil && within(len(m[2]), l.Integer) && within(len(m[2])+max(len(m[3])-1, 0), l.Significant) &&
				within(len(m[5]), l.Exponent)
			if all.Match(s) != want {
				t.Fatalf("%v: %q: %v", l, s, !want)
			}
			want = want && m[3] == "" && m[4] == "" && s != "-0"
			if whole.Match(s) != want {
				t.Fatalf("%v: %q as an integer: %v", l, s, !want)
			}
		})
	}
}

func TestNumbersFinite(t *testing.T) {
	for _, l := range []Limits{Generating(), {15, 17, 3}, {3, 9, 4}, {308, 308, 3}} {
		d, err := Numbers(Range{}, l)
		if err != nil {
			t.Fatal(err)
		}
		check(t, d)
		most := strings.Repeat("9", l.Integer)
		for e := range 400 {
			s := most + "e" + strconv.Itoa(e)
			if f, err := strconv.ParseFloat(s, 64); d.Match(s) && (err != nil || math.IsInf(f, 0)) {
				t.Fatalf("%v: %s is infinite", l, s)
			}
			if !d.Match("1e-"+strconv.Itoa(e)) && len(strconv.Itoa(e)) <= l.Exponent {
				t.Fatalf("%v: 1e-%d is missing", l, e)
			}
		}
	}
}

// contains reports whether x is in r, by the definition of a range.
func (r Range) contains(x *big.Rat) bool {
	if r.Min != nil && (x.Cmp(r.Min) < 0 || r.OpenMin && x.Cmp(r.Min) == 0) ||
		r.Max != nil && (x.Cmp(r.Max) > 0 || r.OpenMax && x.Cmp(r.Max) == 0) {
		return false
	}
	for _, m := range r.MultipleOf {
		if !new(big.Rat).Quo(x, m).IsInt() {
			return false
		}
	}
	return true
}

// randomRange returns a range with bounds of few digits, so that short texts are on both sides.
func randomRange(r *rand.Rand) Range {
	bound := func() *big.Rat {
		if r.IntN(3) == 0 {
			return nil
		}
		return big.NewRat(int64(r.IntN(4000)-2000), []int64{1, 1, 10, 100, 40}[r.IntN(5)])
	}
	of := Range{Min: bound(), Max: bound(), OpenMin: r.IntN(2) == 0, OpenMax: r.IntN(2) == 0}
	if of.Min != nil && of.Max != nil && of.Min.Cmp(of.Max) > 0 && r.IntN(8) > 0 {
		of.Min, of.Max = of.Max, of.Min
	}
	for range []int{0, 0, 1, 2}[r.IntN(4)] {
		of.MultipleOf = append(of.MultipleOf, big.NewRat(int64(r.IntN(60)+1), []int64{1, 2, 10, 50}[r.IntN(4)]))
	}
	return of
}

// A spelled number is a text and its value, nil for a zero with a sign.
type spelled struct {
	s     string
	x     *big.Rat
	whole bool
}

func spellings() (list []spelled) {
	form := regexp.MustCompile(`^-?(0|[1-9]\d*)(\.\d+)?$`)
	texts([]string{"-", ".", "0", "1", "2", "5", "9"}, 5, func(s string) {
		if form.MatchString(s) {
			x := rat(s)
			if strings.HasPrefix(s, "-") && x.Sign() == 0 {
				x = nil
			}
			list = append(list, spelled{s, x, !strings.Contains(s, ".")})
		}
	})
	return list
}

func TestRanges(t *testing.T) {
	values := spellings()
	r := rand.New(rand.NewPCG(7, 8))
	matched := 0
	for range 200 {
		of := randomRange(r)
		if !of.bounded() {
			continue
		}
		var all, whole [2]*DFA // without and with limits
		for i, l := range []Limits{{}, {1, 2, 1}} {
			var err1, err2 error
			all[i], err1 = Numbers(of, l)
			whole[i], err2 = Integers(of, l)
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(of, err)
			}
			check(t, all[i])
			check(t, whole[i])
		}
		for _, v := range values {
			want := v.x != nil && of.contains(v.x)
			if all[0].Match(v.s) != want || whole[0].Match(v.s) != (want && v.whole) {
				t.Fatalf("%+v: %s: %v %v", of, v.s, all[0].Match(v.s), whole[0].Match(v.s))
			}
			if !want && (all[1].Match(v.s) || whole[1].Match(v.s)) || want && (all[1].Empty() || v.whole && whole[1].Empty()) {
				t.Fatalf("%+v: %s within limits: %v %v", of, v.s, all[1].Match(v.s), whole[1].Match(v.s))
			}
			if want {
				matched++
			}
		}
	}
	if matched < 10000 {
		t.Errorf("only %d matched", matched)
	}
}

// tight lists ranges whose numbers may need more digits than the limits allow.
var tight = []struct {
	min, max string
	open     bool
	multiple string
	in, out  []string
	none     bool
}{
	{min: "0", max: "100", in: []string{"0", "99", "100", "1.25"}, out: []string{"1.23456", "-1", "101", "1e1"}},
	{min: "123456", in: []string{"123456", "999999"}, out: []string{"123455", "9999999999"}},
	{min: "99999", open: true, in: []string{"99999.1"}, out: []string{"99999"}},
	{min: "0.1", max: "0.2", open: true, in: []string{"0.15"}, out: []string{"0.1", "0.2"}},
	{min: "0.12345", max: "0.12346", open: true, in: []string{"0.123451"}},
	{min: "5", multiple: "10000", in: []string{"10000"}, out: []string{"0"}},
	{min: "99999", multiple: "70000", in: []string{"140000"}},
	{max: "-99999", multiple: "70000", in: []string{"-140000"}},
	{min: "70000", open: true, multiple: "70000", in: []string{"140000"}, out: []string{"70000"}},
	{max: "-5", multiple: "12500.5", in: []string{"-12500.5"}},
	{min: "1", max: "1", open: true, none: true},
	{min: "2", max: "1", none: true},
	{min: "1", max: "9", multiple: "10", none: true},
	{min: "0.0001", max: "0.0002", in: []string{"0.0001", "0.0002"}},
	{multiple: "0.0001", in: []string{"0", "0.0001"}},
}

func TestRangesLimited(t *testing.T) {
	l := Limits{Integer: 2, Significant: 3, Exponent: 1}
	for _, c := range tight {
		of := Range{Min: rat(c.min), Max: rat(c.max), OpenMin: c.open, OpenMax: c.open}
		if c.multiple != "" {
			of.MultipleOf = []*big.Rat{rat(c.multiple)}
		}
		d, err := Numbers(of, l)
		if err != nil {
			t.Fatal(c, err)
		}
		check(t, d)
		if d.Empty() != c.none {
			t.Errorf("%+v: empty %v", c, d.Empty())
		}
		for _, s := range c.in {
			if !d.Match(s) {
				t.Errorf("%+v: %s is missing", c, s)
			}
		}
		for _, s := range c.out {
			if d.Match(s) {
				t.Errorf("%+v: %s is in it", c, s)
			}
		}
	}
}

func TestMultiples(t *testing.T) {
	for _, c := range []struct {
		multiple string
		states   int // at most
	}{
		{"1000000", 12}, {"0.01", 12}, {"7", 12}, {"0.000001", 20}, {"250", 12}, {"1e15", 25}, {"1e-300", 620}, {"997", 1100},
	} {
		d, err := Numbers(Range{MultipleOf: []*big.Rat{rat(c.multiple)}}, Limits{})
		if err != nil || len(d.States) > c.states {
			t.Errorf("%s: %d states, %v", c.multiple, len(d.States), err)
		}
		for k := range 50 {
			x := new(big.Rat).Mul(rat(c.multiple), big.NewRat(int64(k*k*k), 1))
			if s := x.FloatString(301); !d.Match(s) {
				t.Errorf("%s: %s is missing", c.multiple, s)
			}
		}
	}
	for _, c := range []string{"123456789", "1e60", "999983"} {
		if _, err := Integers(Range{MultipleOf: []*big.Rat{rat(c)}}, Limits{}); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", c, err)
		}
	}
	for _, c := range []string{"0", "-1", "1/3"} {
		if _, err := Numbers(Range{MultipleOf: []*big.Rat{rat(c)}}, Limits{}); err == nil || errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", c, err)
		}
	}
	if _, err := Numbers(Range{Min: rat("1/3")}, Limits{}); err == nil {
		t.Error("a bound that is not a decimal")
	}
}

// A multiple of several numbers is a multiple of each.
func TestMultiplesOfEach(t *testing.T) {
	for _, of := range [][]string{{"4", "6"}, {"6", "4"}, {"1.5", "0.4"}, {"2", "3", "0.5"}} {
		var steps []*big.Rat
		for _, s := range of {
			steps = append(steps, rat(s))
		}
		d, err := Numbers(Range{MultipleOf: steps}, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for k := int64(-300); k <= 300; k++ {
			x, want := big.NewRat(k, 10), true
			for _, s := range steps {
				want = want && new(big.Rat).Quo(x, s).IsInt()
			}
			if k != 0 && d.Match(x.FloatString(1)) != want {
				t.Errorf("%v: %s is in it: %t", of, x.FloatString(1), !want)
			}
		}
	}
}

// Generated numbers are not read as an excluded bound, nor fractions as integers.
func TestNumbersApart(t *testing.T) {
	for _, c := range []struct {
		r       Range
		in, out string
	}{
		{Range{Min: rat("0"), Max: rat("10"), OpenMin: true, OpenMax: true}, "9.9999999999999 0.0000000000001 1", "9.9999999999999999 9.999999999999999 10 0"},
		{Range{Min: rat("9007199254740992"), OpenMin: true}, "9007199254740994", "9007199254740992.7 9007199254740993 9007199254740992"},
		{Range{Max: rat("-9007199254740992"), OpenMax: true}, "-9007199254740994", "-9007199254740992.7 -9007199254740993"},
		{Range{Min: rat("9007199254740992"), OpenMin: true, Max: rat("9007199254740993")}, "9007199254740993", "9007199254740992"},
		{Range{Max: rat("9.12345678901235"), OpenMax: true}, "9.12345678901234 0.5", "9.12345678901235 9.1234567890123499"},
		{Range{Min: rat("0.1234567890123456"), OpenMin: true}, "0.1234567890123457", "0.123456789012345601"},
		{Range{Min: rat("9007199254740993"), Max: rat("9007199254740993")}, "9007199254740993", "9007199254740992"},
	} {
		d, err := Numbers(c.r, Generating())
		if err != nil {
			t.Fatal(err)
		}
		check(t, d)
		for _, s := range strings.Fields(c.in) {
			if !d.Match(s) {
				t.Errorf("%v: %s is missing", c.r, s)
			}
		}
		for _, s := range strings.Fields(c.out) {
			if d.Match(s) {
				t.Errorf("%v: %s", c.r, s)
			}
		}
	}
}
