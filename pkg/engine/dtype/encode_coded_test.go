package dtype

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// coded lists the types whose encoders look for the best scales.
var coded = []Type{Q4K, Q6K}

// samples returns blocks of values: of a normal distribution, with outliers, all positive, and of
// sub-blocks with very different magnitudes.
func samples() map[string][]float32 {
	r := rand.New(rand.NewPCG(1, 2))
	list := map[string][]float32{}
	for range 64 * Coarse {
		v := float32(r.NormFloat64() * 0.02)
		list["normal"] = append(list["normal"], v)
		if r.IntN(100) == 0 {
			v *= 6
		}
		list["outliers"] = append(list["outliers"], v)
		list["positive"] = append(list["positive"], r.Float32()+0.5)
		n := len(list["uneven"]) / 32 % 8
		list["uneven"] = append(list["uneven"], v*float32(int(1)<<n))
	}
	return list
}

// distance returns the root of the mean squared error, relative to the values'.
func distance(x, y []float32) float64 {
	var off, size float64
	for i, v := range x {
		d := float64(v - y[i])
		off += d * d
		size += float64(v) * float64(v)
	}
	return math.Sqrt(off / size)
}

// The error is at most that of ggml_quantize_chunk of llama.cpp for the same values.
func TestEncodeCodedError(t *testing.T) {
	most := map[Type]map[string]float64{
		Q4K: {"normal": 0.07179, "outliers": 0.08454, "positive": 0.02442, "uneven": 0.08214},
		Q6K: {"normal": 0.01808, "outliers": 0.02274, "positive": 0.01087, "uneven": 0.02268},
	}
	for name, x := range samples() {
		for _, kind := range coded {
			raw, err := kind.Encoder()(nil, x)
			if err != nil {
				t.Fatal(err)
			}
			y := make([]float32, len(x))
			kind.Decoder()(y, raw)
			if got := distance(x, y); got > most[kind][name] {
				t.Errorf("%s of %s values: relative error %.5f, want at most %.5f", kind, name, got, most[kind][name])
			}
		}
	}
}

// Values that a block can hold without rounding stay nearly what they are, and encoding what was
// decoded changes them no further than encoding did.
func TestEncodeCodedAgain(t *testing.T) {
	x := samples()["outliers"]
	for _, kind := range coded {
		y, z := make([]float32, len(x)), make([]float32, len(x))
		raw, _ := kind.Encoder()(nil, x)
		kind.Decoder()(y, raw)
		raw, _ = kind.Encoder()(nil, y)
		if kind.Decoder()(z, raw); distance(y, z) > distance(x, y)/2 {
			t.Errorf("%s: values of a block change by %.5f, encoding changed them by %.5f", kind, distance(y, z), distance(x, y))
		}
	}
}

func TestEncodeCodedExtremes(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		name string
		x    []float32 // of sub-block 3; the others have 1s
		good bool
	}{
		{"zeros", []float32{0}, true}, {"tiny", []float32{1e-30, -1e-40}, true}, {"equal", []float32{0.75}, true}, {"negative", []float32{-2, -1.5}, true},
		{"one sign", []float32{-1e-3, -2e-3}, true}, {"large", []float32{60000, -60000}, true}, {"NaN", []float32{1, nan}, false},
		{"infinite", []float32{-inf, 1}, false}, {"both", []float32{-inf, inf}, false}, {"too large", []float32{3e38, -3e38}, false}, {"beyond", []float32{3e9, 1}, false},
	} {
		x := slices.Repeat([]float32{1}, Coarse)
		for i := range 32 {
			x[96+i] = c.x[i%len(c.x)]
		}
		for _, kind := range coded {
			_, err := kind.Encoder()(nil, x)
			if (err == nil) != c.good {
				t.Errorf("%s, %s: error %v", kind, c.name, err)
			}
			var q4 [Q4KBytes]byte
			var q6 [Q6KBytes]byte
			ok := map[Type]func() bool{
				Q4K: func() bool { return QuantizeQ4K(&q4, (*[Coarse]float32)(x)) },
				Q6K: func() bool { return QuantizeQ6K(&q6, (*[Coarse]float32)(x)) },
			}[kind]()
			if ok != c.good {
				t.Errorf("%s, %s: good is %v", kind, c.name, ok)
			}
			raw := q4[:]
			if kind == Q6K {
				raw = q6[:]
			}
			y := make([]float32, Coarse)
			kind.Decoder()(y, raw)
			switch {
			case !c.good && !slices.ContainsFunc(y, func(v float32) bool { return v == v }): // all are NaN
			case !c.good:
				t.Errorf("%s, %s: decodes as %g", kind, c.name, y)
			case distance(x, y) > 0.03:
				t.Errorf("%s, %s: %g decodes as %g", kind, c.name, x, y)
			}
		}
	}
}

// Blocks do not depend on the processor.
func TestEncodeCodedIsExact(t *testing.T) {
	list := samples()
	for kind, want := range map[Type]string{Q4K: "117f99b0b42f68fc", Q6K: "9671717017832871"} {
		h := sha256.New()
		for _, name := range []string{"normal", "outliers", "positive", "uneven"} {
			raw, err := kind.Encoder()(nil, list[name])
			if err != nil {
				t.Fatal(err)
			}
			h.Write(raw)
		}
		if got := hex.EncodeToString(h.Sum(nil))[:16]; got != want {
			t.Errorf("%s: blocks with hash %s, want %s", kind, got, want)
		}
	}
}

func TestSubScales(t *testing.T) {
	for j := range 8 {
		for scale := range byte(64) {
			for minimum := range byte(64) {
				var s [12]byte
				setSubScale(s[:], j, scale, minimum)
				for i := range 8 {
					a, b := subScale(s[:], i)
					if i == j && (a != scale || b != minimum) || i != j && (a != 0 || b != 0) {
						t.Fatalf("sub-block %d: %d and %d read as %d and %d of %d", j, scale, minimum, a, b, i)
					}
				}
			}
		}
	}
}
