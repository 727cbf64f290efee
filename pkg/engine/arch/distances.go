package arch

import (
	"math"
	"sync"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// distanceNames names the tensors that vectors of distances are made of: a table of embeddings, its norm
// if it has one, and the matrices of what queries and keys meet, without ".weight" and ".bias".
type distanceNames struct {
	table, norm   string
	keys, queries string
}

// maxDistance bounds the distances that a configuration distinguishes.
const maxDistance = 1 << 14

// distanceScale returns the factor of scores of heads that compare tokens in some ways in addition to the
// usual one.
func distanceScale(dim, kinds int) float32 { return float32(1 / math.Sqrt(float64(dim*(1+kinds)))) }

// distances makes the vectors of distances of a layer's heads.
func (b *builder) distances(o *transformer.Layer, l *layers, i int, a *transformer.Attention) {
	d, n := a.Disentangled, &l.distances
	if b.distanceRows == nil {
		b.distanceRows = b.distanceTable(n, 2*d.Buckets)
	}
	for h := range a.Heads {
		var head transformer.DistanceHead
		if d.Keys {
			head.Keys = b.distanceHead(at(n.keys, i), h, a)
		}
		if d.Queries {
			head.Queries = b.distanceHead(at(n.queries, i), h, a)
		}
		o.DistanceHeads = append(o.DistanceHeads, head)
	}
}

// distanceTable looks up the embeddings of distances (rows, Width). They are read, and normalised, once.
func (b *builder) distanceTable(n *distanceNames, rows int) func() ([]float32, error) {
	width, eps := b.spec.Width, b.spec.Eps
	table := b.matrix(n.table+".weight", rows, width, false).rows(0, rows)
	var norm transformer.Norm
	if n.norm != "" {
		norm = b.normOf([]string{n.norm}, width, always)
	}
	return sync.OnceValues(func() ([]float32, error) {
		x, weight, bias := make([]float32, rows*width), make([]float32, width), make([]float32, width)
		if err := table.Read(x, 0); err != nil || n.norm == "" {
			return x, err
		}
		if err := norm.Weight[0].Read(weight, 0); err != nil {
			return nil, err
		}
		if err := norm.Bias[0].Read(bias, 0); err != nil {
			return nil, err
		}
		for at := 0; at < len(x); at += width {
			kernel.Best().LayerNorm(x[at:at+width], x[at:at+width], weight, bias, eps)
		}
		return x, nil
	})
}

// distanceHead returns the products of the embeddings of distances and of a head's rows of a matrix.
func (b *builder) distanceHead(name string, head int, a *transformer.Attention) []transformer.Tensor {
	dim, width, table := a.HeadDim, b.spec.Width, b.distanceRows
	weight := b.matrix(name+".weight", a.Heads*dim, width, false).rows(head*dim, dim)
	bias := b.vector(name+".bias", a.Heads*dim).rows(head*dim, dim)
	return []transformer.Tensor{{Name: weight.Name, Rows: 2 * a.Disentangled.Buckets, Cols: dim, Read: func(dst []float32, from int) error {
		x, err := table()
		if err != nil {
			return err
		}
		values, offsets := make([]float32, dim*width), make([]float32, dim)
		if err := weight.Read(values, 0); err != nil {
			return err
		}
		if err := bias.Read(offsets, 0); err != nil {
			return err
		}
		k, m, n := kernel.Best(), kernel.NewMatrix(dim, width), len(dst)/dim
		k.LoadRows(m, 0, values)
		k.MatMul(dst, x[from/dim*width:], n, m)
		for at := 0; at < len(dst); at += dim {
			k.Add(dst[at:at+dim], offsets)
		}
		return nil
	}}}
}
