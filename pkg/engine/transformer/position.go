package transformer

import "math"

// sinusoidOffset is the row of position 0 in fairseq's table: rows 0 and 1 are reserved for
// padding.
const sinusoidOffset = 2

// sinusoidFrequencies returns exp(-i·ln(10000)/(width/2-1)) in float32, as fairseq
// computes them.
func sinusoidFrequencies(width int) []float32 {
	f := make([]float32, width/2)
	step := float32(-math.Log(10000) / float64(max(1, len(f)-1)))
	for i := range f {
		f[i] = float32(math.Exp(float64(float32(i) * step)))
	}
	return f
}

// sinusoidDivisors returns 10000^(2i/width), in float64 as the published models have it.
func sinusoidDivisors(width int) []float64 {
	d := make([]float64, width/2)
	for i := range d {
		d[i] = math.Pow(10000, float64(2*i)/float64(width))
	}
	return d
}

// relativeBuckets returns the bucket of each distance from 0 to most, for keys on one side of
// the query: n/2 buckets of one distance, then wider ones (transformers, MPNetEncoder;
// Raffel et al. 2020). Logarithms are float32, as in the published models.
func relativeBuckets(n, most int) []int {
	list, exact := make([]int, most+1), n/2
	span := float32(math.Log(float64(most) / float64(exact)))
	for d := range list {
		if list[d] = d; d >= exact {
			share := float32(math.Log(float64(float32(d)/float32(exact)))) / span
			list[d] = min(n-1, exact+int(share*float32(n-exact)))
		}
	}
	return list
}

// relativeBiases writes the biases of a head of queries, of a table (RelativeBuckets, Heads), to dst
// (2n-1), by the distance of the key from the query plus n-1.
func (m *Model) relativeBiases(dst, table []float32, head int) {
	n, heads := (len(dst)+1)/2, len(table)/m.RelativeBuckets
	for d := range n {
		bucket := m.buckets[min(d, len(m.buckets)-1)]
		dst[n-1-d] = table[bucket*heads+head]
		if d > 0 { // the key is after the query
			dst[n-1+d] = table[(bucket+m.RelativeBuckets/2)*heads+head]
		}
	}
}

// slopeBiases writes the biases of an encoder's head with a slope to dst (2n-1), by the distance of the key
// from the query plus n-1.
func slopeBiases(dst []float32, slope float32) {
	n := (len(dst) + 1) / 2
	for d := range n {
		dst[n-1-d] = -slope * float32(d)
		dst[n-1+d] = dst[n-1-d]
	}
}

// causalBiases writes the biases of a head of the decoder's queries, of a table (RelativeBuckets,
// Heads), to dst, that of the distance d to dst[len(dst)-1-d].
func (m *Model) causalBiases(dst, table []float32, head int) {
	heads := len(table) / m.RelativeBuckets
	for d := range dst {
		dst[len(dst)-1-d] = table[m.causalBuckets[min(d, len(m.causalBuckets)-1)]*heads+head]
	}
}

// addPosition adds the embedding of a position of a stack to x (InputWidth).
func (m *Model) addPosition(x []float32, in *input, pos int) {
	switch m.Position {
	case Learned:
		m.kernels.Add(x, in.positions[pos*len(x):(pos+1)*len(x)])
	case Sinusoidal: // sines of all frequencies, then cosines; an odd width ends with zero
		n := len(m.frequencies)
		for i, f := range m.frequencies {
			sin, cos := math.Sincos(float64(float32(pos+sinusoidOffset) * f))
			x[i] += float32(sin)
			x[n+i] += float32(cos)
		}
	case SinusoidalFirst:
		n := len(m.divisors)
		for i, d := range m.divisors {
			sin, cos := math.Sincos(float64(pos) / d)
			x[i] += float32(sin)
			x[n+i] += float32(cos)
		}
	}
}

// locate adds the position of a patch of a picture to x (Width).
func (m *Model) locate(x []float32, picture *Patches, patch int) {
	switch {
	case picture.Shares != nil:
		k := len(picture.Shares) / (len(picture.Values) / m.Patch)
		for i, share := range picture.Shares[patch*k : (patch+1)*k] {
			at := picture.Positions[patch*k+i]
			for j, v := range m.input.positions[at*m.Width : (at+1)*m.Width] {
				x[j] += float32(share * v)
			}
		}
	case picture.Positions != nil:
		m.addPosition(x, &m.input, picture.Positions[patch])
	default:
		m.addPosition(x, &m.input, patch)
	}
}
