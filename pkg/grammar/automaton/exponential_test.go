package automaton

import (
	"math/big"
	"strings"
	"testing"
)

// Numbers of a range that all have more than 21 digits may have an exponent.
func TestExponentials(t *testing.T) {
	for _, c := range []struct {
		min, max  string
		open      bool
		in, among string // among: the numbers that are in the range, of some; the others are not
	}{
		{min: "1e300", in: "1e300 9.9e307", among: "1e300 1.5e300 1e299 9.99e299 1e308 1e301 0e300 -1e300 1e-300 1E300 1e+300 10e299"},
		{min: "1e300", open: true, in: "1e301", among: "1e300 1e301"},
		{min: "1.5e300", in: "1e301", among: "1.4e300 1e300 1e301"},
		{min: "1e300", max: "1e302", in: "1e300 9.5e301", among: "1e300 9.5e301 1e302 1.1e302"},
		{max: "-1e21", in: "-1e21 -5e300", among: "-1e20 -1e21 1e21 1e-21"},
		{min: "0", max: "1e-30", open: true, in: "1e-32 1.25e-307", among: "1e-31 1e-30 1e-29 0 0e-31 -1e-31"},
		{min: "-1e-30", max: "0", open: true, in: "-1e-32", among: "-1e-31 -1e-30 1e-31"},
		{min: "1.5e300", max: "1.6e300", among: "1e300 1e301"},
		{min: "1e20", among: "1e20 1e21 1e30"},
		{min: "0", open: true, among: "1e-30 1e30"},
		{min: "-1", max: "1e-30", among: "1e-31"},
	} {
		r := Range{Min: rat(c.min), Max: rat(c.max), OpenMin: c.open, OpenMax: c.open}
		d, err := Numbers(r, Generating())
		if err != nil {
			t.Fatal(c, err)
		}
		check(t, d)
		for _, s := range strings.Fields(c.in) {
			if !d.Match(s) {
				t.Errorf("%+v: %s is missing", c, s)
			}
		}
		for _, s := range strings.Fields(c.among) {
			x, _ := new(big.Rat).SetString(s)
			low, high := 1, -1
			if r.Min != nil {
				low = x.Cmp(r.Min)
			}
			if r.Max != nil {
				high = x.Cmp(r.Max)
			}
			if within := low >= 0 && high <= 0 && !(c.open && (low == 0 || high == 0)); d.Match(s) && !within {
				t.Errorf("%+v: %s is in it", c, s)
			}
		}
		plain, err := Numbers(Range{Min: r.Min, Max: r.Max, OpenMin: c.open, OpenMax: c.open, Plain: true}, Generating())
		if missing, err2 := Subtract(plain, d); err != nil || err2 != nil || !missing.Empty() {
			t.Errorf("%+v: numbers without an exponent are missing, %v, %v", c, err, err2)
		}
		if c.in == "" {
			if more, err := Subtract(d, plain); err != nil || !more.Empty() {
				t.Errorf("%+v: numbers with an exponent, %v", c, err)
			}
		}
		if d, err = Numbers(r, Limits{}); err != nil || d.Match(strings.Split(c.in, " ")[0]) {
			t.Errorf("%+v: an exponent without limits, %v", c, err)
		}
	}
	d, err := Numbers(Range{Min: rat("1e300"), MultipleOf: []*big.Rat{rat("3")}}, Generating())
	if err != nil || d.Match("1e300") {
		t.Error("1e300 is not a multiple of 3", err)
	}
	if d, err = Integers(Range{Min: rat("1e300")}, Generating()); err != nil || d.Match("1e300") {
		t.Error("an integer has an exponent", err)
	}
}

func TestExponential(t *testing.T) {
	zeros := strings.Repeat("0", 21)
	for plain, want := range map[string]string{
		"0": "0", "-12.5": "-12.5", zeros[1:]: zeros[1:], "1" + zeros[1:]: "1" + zeros[1:], "1" + zeros: "1e21", "-15" + zeros: "-15e21",
		"0." + zeros[1:] + "1": "0." + zeros[1:] + "1", "0." + zeros + "12": "12e-23", "-0." + zeros + "1": "-1e-22",
		"1" + zeros + ".5": "1" + zeros + ".5", strings.Repeat("7", 40): strings.Repeat("7", 40),
	} {
		if got := Exponential(plain); got != want {
			t.Errorf("%s: %s, want %s", plain, got, want)
		}
	}
}
