package transformer

import (
	"fmt"
	"math"

	"glossa/pkg/engine/kernel"
)

// Disentangled describes attention that compares tokens with distances too (He et al. 2021, "DeBERTa",
// sec. 3.1). For the distance i-j of a query q, token i, from a key k, token j, each head has a vector
// c, which q meets, and p, which k meets: scale·(q·c + k·p) is added to the score. Queries and keys are
// those that meet each other.
//
// Distances have 2·Buckets buckets, half of them from 0 on. Those of up to Buckets/2 on a side have one
// of their own. Wider and wider ones follow: Distance-1 is in the last that is not beyond. With Distance 0
// all have their own. Further distances share the last bucket of a side.
type Disentangled struct {
	Buckets  int  `json:"buckets"`
	Distance int  `json:"distance,omitempty"`
	Keys     bool `json:"keys,omitempty"`    // there is c
	Queries  bool `json:"queries,omitempty"` // there is p
}

// check refuses what cannot be computed.
func (d *Disentangled) check(a *Attention, s *Spec) error {
	switch {
	case d == nil:
		return nil
	case len(s.Decoder) > 0 || a.KVHeads != a.Heads || a.Latent != nil || s.RelativeBuckets > 0:
		return fmt.Errorf(": there is a decoder, or heads share keys, or there are biases by distance")
	case d.Buckets < 4 || d.Buckets%2 != 0 || d.Distance < 0 || d.Distance > 0 && d.Distance <= 1+d.Buckets/2:
		return fmt.Errorf(".buckets: %d on a side for distances below %d", d.Buckets, d.Distance)
	case !d.Keys && !d.Queries:
		return fmt.Errorf(".keys: neither queries nor keys meet distances")
	}
	return nil
}

// distanceHeads returns the number of heads that compare tokens with distances.
func (a *Attention) distanceHeads() int {
	if a.Disentangled == nil {
		return 0
	}
	return a.Heads
}

// disentangled has the weights of a layer with a [Disentangled].
type disentangled struct {
	*Disentangled
	keys, queries []linear // (2*Buckets, HeadDim) of each head
	sides         []int    // the bucket on a side, by distance
}

// newDisentangled returns the attention to distances of a layer without weights.
func newDisentangled(d *Disentangled, heads int) *disentangled {
	return &disentangled{Disentangled: d, keys: make([]linear, heads), queries: make([]linear, heads), sides: d.sides()}
}

// sides returns the bucket of each distance on a side, as far as buckets differ. Logarithms are float32,
// as in the published models (transformers, make_log_bucket_position).
func (d *Disentangled) sides() (list []int) {
	exact := d.Buckets / 2
	span := float32(math.Log(float64(float32(d.Distance-1) / float32(exact))))
	for n := 0; n == 0 || list[n-1] < d.Buckets; n++ {
		bucket := n
		if d.Distance > 0 && n > exact {
			share := float32(math.Log(float64(float32(n)/float32(exact)))) / span
			bucket = exact + int(math.Ceil(float64(share*float32(exact-1))))
		}
		list = append(list, bucket)
	}
	return list
}

// bucket returns the bucket of the distance of a query from a key.
func (d *disentangled) bucket(distance int) int {
	last := len(d.sides) - 1
	if distance < 0 {
		return max(0, d.Buckets-d.sides[min(-distance, last)])
	}
	return min(2*d.Buckets-1, d.Buckets+d.sides[min(distance, last)])
}

// attendDistances computes the attention of a span's head of an encoder to kv.
func (w *worker) attendDistances(l *layer, kv kernel.KV, sp span, head int) {
	d, a, rows := l.disentangled, &l.Attention, l.Attention.rows()
	if d.Queries {
		fit(&w.byKey, sp.seen*2*d.Buckets)
		w.meetDistances(&d.queries[head], w.byKey, w.qkv[sp.row*rows+(a.Heads+head)*a.HeadDim:], l, sp.seen, sp.n)
	}
	step := kernel.AttendTokens(1)
	for at := 0; at < sp.n; at += step {
		part := sp.part(at, min(step, sp.n-at))
		if d.Keys {
			fit(&w.byQuery, part.n*2*d.Buckets)
			w.meetDistances(&d.keys[head], w.byQuery, w.qkv[part.row*rows+head*a.HeadDim:], l, part.n, sp.n)
		}
		q := w.queries(l, rows, part, head)
		q.First, q.Seen, q.Window, q.Sinks = at, sp.seen, a.Window, l.headSinks(head)
		q.PairBiases = w.distanceBiases(d, at, part.n, sp.seen)
		w.m.kernels.Scale(q.PairBiases, l.scale)
		w.m.kernels.Attend(w.attention, q, kv)
	}
}

// meetDistances writes the products of n queries or keys of a head, with which x begins, and of the vectors
// of all distances in a text of some tokens to dst (n, 2*Buckets).
func (w *worker) meetDistances(m *linear, dst, x []float32, l *layer, n, tokens int) {
	d, dim, rows := l.disentangled, l.Attention.HeadDim, l.Attention.rows()
	fit(&w.gathered, n*dim)
	for i := range n {
		copy(w.gathered[i*dim:(i+1)*dim], x[i*rows:])
	}
	first, last := d.bucket(1-tokens), d.bucket(tokens-1)
	w.m.kernels.MatMulPanelsWithin(dst, 2*d.Buckets, w.gathered, n, m.full, first/panel, ceil(last+1, panel))
}

// distanceBiases returns what n queries, from token at on, and the keys before seen have for their
// distances: (n, seen).
func (w *worker) distanceBiases(d *disentangled, at, n, seen int) []float32 {
	fit(&w.bias, n*seen)
	clear(w.bias)
	for i := range n {
		for j := range seen {
			bucket, bias := d.bucket(at+i-j), &w.bias[i*seen+j]
			if d.Keys {
				*bias = w.byQuery[i*2*d.Buckets+bucket]
			}
			if d.Queries {
				*bias += w.byKey[j*2*d.Buckets+bucket]
			}
		}
	}
	return w.bias
}
