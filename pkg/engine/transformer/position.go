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

// addPosition adds the embedding of a position to x (Width).
func (m *Model) addPosition(x []float32, pos int) {
	switch m.Position {
	case Learned:
		m.kernels.Add(x, m.positions[pos*m.Width:(pos+1)*m.Width])
	case Sinusoidal: // sines of all frequencies, then cosines; an odd width ends with zero
		n := len(m.frequencies)
		for i, f := range m.frequencies {
			sin, cos := math.Sincos(float64(float32(pos+sinusoidOffset) * f))
			x[i] += float32(sin)
			x[n+i] += float32(cos)
		}
	}
}
