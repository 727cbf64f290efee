package runtimeapi

import (
	"math"
	"regexp"
	"strconv"
)

// rounded is a number with five digits after the point.
var rounded = regexp.MustCompile(`-?\d+\.\d{5}\b`)

// Alike reports whether answers that were computed on different processors are the same: numbers
// with five digits after the point may differ by one in the last, since instruction sets add in
// different orders.
func Alike(got, want string) bool {
	values := [2][]string{rounded.FindAllString(got, -1), rounded.FindAllString(want, -1)}
	if len(values[0]) != len(values[1]) || rounded.ReplaceAllString(got, "#") != rounded.ReplaceAllString(want, "#") {
		return false
	}
	for i := range values[0] {
		a, _ := strconv.ParseFloat(values[0][i], 64) // the pattern is one of numbers
		b, _ := strconv.ParseFloat(values[1][i], 64)
		if math.Abs(a-b) > 1.5e-5 {
			return false
		}
	}
	return true
}
