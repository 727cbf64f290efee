package checkpoint

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// parseText calls parseFloat on a text; ok is false if the text is not exactly one
// number.
func parseText(text string) (v float32, ok bool) {
	b := make([]byte, len(text)+numberSlack)
	copy(b, text)
	v, end, err := parseFloat(b, 0)
	return v, err == nil && end == len(text)
}

// checkNumber compares parseFloat with strconv on any text.
func checkNumber(t *testing.T, text string) {
	t.Helper()
	got, ok := parseText(text)
	legal := len(text) <= maxNumber && text != "" && (text[0] == '-' || text[0]-'0' < 10) && json.Valid([]byte(text)) &&
		strings.TrimSpace(text) == text
	if ok != legal {
		t.Fatalf("%q: accepted %v, is a JSON number %v", text, ok, legal)
	}
	if !ok {
		return
	}
	d, _ := strconv.ParseFloat(text, 64) // infinite if out of range, as in JavaScript
	if want := float32(d); math.Float32bits(got) != math.Float32bits(want) {
		t.Fatalf("%q: %x, want %x", text, math.Float32bits(got), math.Float32bits(want))
	}
}

var numbers = []string{
	"0", "-0", "1", "-1", "0.5", "12345678", "123456789", "0.1", "1e0", "1E+2", "1e-2", "-1.5e-7",
	"9007199254740993", "18446744073709551615", "18446744073709551616", "9999999999999999999", "10000000000000000000",
	"0.00000000000000000000000000000000000000000001", "1e-45", "7e-46", "1.1754942e-38", "1.17549435e-38",
	"3.4028234663852886e38", "3.4028235677973366e38", "3.4028235677973365e38", "1e39", "1e308", "1e309", "1e99999999999", "1e-99999999999",
	"1.00000005960464477539", "1.000000059604644775390625", "1.0000000596046447753906251", "1.00000005960464471",
	"16777217", "16777217.000000001", "16777216.999999999", "33554434.5", "0.30000001192092896",
	"01", "-01", "1.", ".5", "-", "+1", "1e", "1e+", "--1", "1.e5", "0x10", "1_0", "NaN", "Infinity", "null", "", "1 ", "١",
	"0." + strings.Repeat("0", 300) + "1e300", strings.Repeat("9", 400), "0." + strings.Repeat("123456789", 60),
	"1" + strings.Repeat("0", maxNumber-1), "1" + strings.Repeat("0", maxNumber),
}

func TestParseFloat(t *testing.T) {
	for _, text := range numbers {
		checkNumber(t, text)
	}
}

// Random float32s, doubles around the middle of two float32s, and decimal texts of
// all lengths.
func TestParseFloatRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 40_000 {
		bits := rng.Uint32()
		d := float64(math.Float32frombits(bits))
		if d-d != 0 {
			continue
		}
		checkNumber(t, strconv.FormatFloat(d, 'g', -1, 64))
		// The middle between two float32s, and a few steps of a double off it.
		middle := math.Float64frombits(math.Float64bits(d)&^(1<<29-1) | 1<<28)
		middle = math.Float64frombits(math.Float64bits(middle) + uint64(rng.IntN(33)) - 16)
		checkNumber(t, strconv.FormatFloat(middle, 'e', 15+rng.IntN(6), 64))
		checkNumber(t, strconv.FormatFloat(rng.NormFloat64()*0.02, 'f', rng.IntN(25), 64))
	}
}

func FuzzParseFloat(f *testing.F) {
	for _, text := range numbers {
		f.Add(text)
	}
	f.Fuzz(checkNumber)
}
