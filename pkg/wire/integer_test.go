package wire

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"
)

// FuzzInteger compares Integer with rational numbers.
func FuzzInteger(f *testing.F) {
	for _, seed := range []string{"245.0", "-2.45e2", "1e19", "24500e-2", "0.5", "9223372036854775807", "-0.0e-5", "1e-400", "18446744073709551616"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, literal string) {
		if !isNumber(literal) || !json.Valid([]byte(literal)) || len(literal) > maxLiteral {
			if n, ok := Integer(literal); ok && !isNumber(literal) {
				t.Errorf("%q is %d", literal, n)
			}
			return
		}
		n, ok := Integer(literal)
		if at := strings.IndexAny(literal, "eE"); at >= 0 && len(literal)-at > 5 { // a number of many digits
			return
		}
		x, small := new(big.Rat), true
		if _, set := x.SetString(literal); !set { // its exponent is too large
			x, small = nil, false
		}
		switch {
		case ok && (!small || x.Cmp(new(big.Rat).SetInt64(n)) != 0):
			t.Errorf("%s is %d", literal, n)
		case !ok && small && x.IsInt() && x.Num().IsInt64() && x.Num().Sign() != 0:
			t.Errorf("%s is %v", literal, x)
		}
	})
}
