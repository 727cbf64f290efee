package transformer_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/engine/transformer/transformertest"
)

// distances returns what the query of token p adds to the score of each key, for their distance.
func (m formulas) distances(at string, a *transformer.Attention, q []float64, keys rows, p int) func(j, head int) float64 {
	d, scale := a.Disentangled, 1/math.Sqrt(float64(a.HeadDim))
	if a.Scale != 0 {
		scale = float64(a.Scale)
	}
	var toKeys, toQueries [][]float32 // of each head
	for head := range a.Heads {
		toKeys = append(toKeys, m.Values[fmt.Sprintf("%sdistance_key.%d", at, head)].Data)
		toQueries = append(toQueries, m.Values[fmt.Sprintf("%sdistance_query.%d", at, head)].Data)
	}
	return func(j, head int) (sum float64) {
		bucket := distanceBucket(d, p-j)
		for i := range a.HeadDim {
			if d.Keys {
				sum += scale * q[head*a.HeadDim+i] * float64(toKeys[head][bucket*a.HeadDim+i])
			}
			if d.Queries {
				sum += scale * keys[j][head*a.HeadDim+i] * float64(toQueries[head][bucket*a.HeadDim+i])
			}
		}
		return sum
	}
}

// distanceBucket is make_log_bucket_position of transformers, bounded as its callers do.
func distanceBucket(d *transformer.Disentangled, distance int) int {
	mid, size := float32(d.Buckets/2), float32(math.Abs(float64(distance)))
	bucket := float32(distance)
	if d.Distance > 0 && size > mid {
		bucket = float32(math.Ceil(math.Log(float64(size/mid))/math.Log(float64(float32(d.Distance-1)/mid))*float64(mid-1)-1e-6)) + mid
		if distance < 0 {
			bucket = -bucket
		}
	}
	return min(max(int(bucket)+d.Buckets, 0), 2*d.Buckets-1)
}

// disentangled returns a description of an encoder whose attention compares tokens with distances.
func disentangled() *transformer.Spec {
	s := encoder()
	s.Kinds[0].Attention.Disentangled = &transformer.Disentangled{Buckets: 16, Distance: 100, Keys: true, Queries: true}
	s.Kinds[0].Attention.Scale = 0.6
	return s
}

// Every field of attention to distances means what its formula says.
func TestDisentangled(t *testing.T) {
	for name, change := range map[string]func(a *transformer.Attention, d *transformer.Disentangled){
		"nothing":           func(*transformer.Attention, *transformer.Disentangled) {},
		"keys alone":        func(_ *transformer.Attention, d *transformer.Disentangled) { d.Queries = false },
		"queries alone":     func(_ *transformer.Attention, d *transformer.Disentangled) { d.Keys = false },
		"few buckets":       func(_ *transformer.Attention, d *transformer.Disentangled) { d.Buckets = 4 },
		"far distances":     func(_ *transformer.Attention, d *transformer.Disentangled) { d.Distance = 180 },
		"near distances":    func(_ *transformer.Attention, d *transformer.Disentangled) { d.Distance = 20 },
		"a bucket for each": func(_ *transformer.Attention, d *transformer.Disentangled) { d.Distance = 0 },
		"scale":             func(a *transformer.Attention, _ *transformer.Disentangled) { a.Scale = 0 },
		"window":            func(a *transformer.Attention, _ *transformer.Disentangled) { a.Window = 9 },
		"soft cap":          func(a *transformer.Attention, _ *transformer.Disentangled) { a.SoftCap = 0.5 },
		"norms":             func(a *transformer.Attention, _ *transformer.Disentangled) { a.QKNorm = transformer.QKNormAll },
	} {
		s := disentangled()
		change(&s.Kinds[0].Attention, s.Kinds[0].Attention.Disentangled)
		got := compareEncoder(t, name, s)
		plain := formulas{Model: transformertest.New(disentangled(), 5)}.encoded(tokens(60, 31))
		if d := far(got, plain); name != "nothing" && !(d > 1e-3) {
			t.Errorf("%s: changes vectors by %v: the test shows nothing", name, d)
		}
	}
}

// Tokens that see the beginning of a text only have the distances of the whole text.
func TestDisentangledPrefixes(t *testing.T) {
	m := transformertest.New(disentangled(), 5)
	model := load(t, m, kernel.Best(), transformer.F32)
	pass, ids := model.NewPass(nil), tokens(40, 31)
	if err := pass.EncodePrefixes([][]int{ids}, []int{25}); err != nil {
		t.Fatal(err)
	}
	compare(t, "the first 25 tokens", pass.Last()[:25*m.Spec.Width], formulas{Model: m}.encoded(ids[:25]))
}

// Descriptions that cannot be computed are refused, and so are weights that do not fit.
func TestDisentangledRefuses(t *testing.T) {
	type spec = transformer.Spec
	for want, change := range map[string]func(s *spec, d *transformer.Disentangled){
		"kinds[0].attention.disentangled: there is a decoder": func(s *spec, _ *transformer.Disentangled) { s.Decoder = []int{0} },
		"or heads share keys":                func(s *spec, _ *transformer.Disentangled) { s.Kinds[0].Attention.KVHeads = 1 },
		"or there are biases by distance":    func(s *spec, _ *transformer.Disentangled) { s.RelativeBuckets, s.RelativeDistance = 8, 20 },
		"disentangled.buckets: 2 on a side":  func(_ *spec, d *transformer.Disentangled) { d.Buckets = 2 },
		"disentangled.buckets: 17 on a side": func(_ *spec, d *transformer.Disentangled) { d.Buckets = 17 },
		"for distances below 9":              func(_ *spec, d *transformer.Disentangled) { d.Distance = 9 },
		"for distances below -1":             func(_ *spec, d *transformer.Disentangled) { d.Distance = -1 },
		"disentangled.keys: neither":         func(_ *spec, d *transformer.Disentangled) { d.Keys, d.Queries = false, false },
	} {
		s := disentangled()
		change(s, s.Kinds[0].Attention.Disentangled)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	m := transformertest.New(disentangled(), 5)
	m.Weights.Encoder[1].DistanceHeads = m.Weights.Encoder[1].DistanceHeads[1:]
	if _, err := transformer.New(m.Spec, m.Weights, kernel.Best(), transformer.F32); err == nil || !strings.Contains(err.Error(), "encoder.1: 2 heads of distances, 3 are needed") {
		t.Error(err)
	}
}
