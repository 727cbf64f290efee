package bench

import (
	"hash/fnv"
	"math"

	"glossa/pkg/engine/transformer"
)

// noise generates values center + spread·u, u uniform in [-1, 1): a pure function of the
// seed and the index, so that any part of a tensor can be generated without the rest.
type noise struct {
	seed           uint64
	center, spread float32
}

// fill writes the values, beginning with index from. A hash gives four of 16 bits each.
func (n noise) fill(dst []float32, from int) {
	var h uint64
	for i := range dst {
		at := uint64(from + i)
		if i == 0 || at%4 == 0 {
			h = mix(n.seed + at/4*0x9e3779b97f4a7c15)
		}
		dst[i] = n.center + n.spread*(float32(int16(h>>(at%4*16)))/(1<<15))
	}
}

// mix is the finaliser of SplitMix64 (Steele et al. 2014).
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// random returns a tensor of noise seeded by its name.
func random(name string, rows, cols int, center, spread float32) transformer.Tensor {
	h := fnv.New64a()
	h.Write([]byte(name)) // never fails
	n := noise{seed: h.Sum64(), center: center, spread: spread}
	return transformer.Tensor{Name: name, Rows: rows, Cols: cols, Read: func(dst []float32, from int) error {
		n.fill(dst, from)
		return nil
	}}
}

// matrix returns rows whose products with inputs of variance 1 have variance 1.
func matrix(name string, rows, cols int) transformer.Tensor {
	return random(name+".weight", rows, cols, 0, float32(math.Sqrt(3/float64(cols))))
}

func offsets(name string, n int) transformer.Vector {
	return transformer.Vector{random(name+".bias", n, 1, 0, 0.1)}
}
