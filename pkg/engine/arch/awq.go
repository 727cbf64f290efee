package arch

import (
	"slices"
	"strings"

	"glossa/pkg/engine/dtype"
)

// awq is the method of AutoAWQ (Lin et al. 2023), version gemm: that of GPTQ in 4 bits, but the words
// of levels lie along the outputs and have them in an order of their own.
func awq(q *config) *scheme {
	if version := q.text("version checkpoint_format", "gemm"); !strings.EqualFold(version, "gemm") {
		q.reject("version", "%.40q is not supported, only gemm", version)
	}
	q.require([]requiredValue{{"bits", "4"}, {"zero_point", "true"}})
	return &scheme{marks: []string{".qweight"}, weight: (*parts).awq}
}

// awqBits is the number of bits of a level, awqWord that of the levels in a word.
const awqBits, awqWord = 4, 8

// awq returns a weight.
func (p *parts) awq() *dequantised {
	codes := p.mark
	if len(codes.Shape) != 2 || slices.Contains(codes.Shape, 0) || codes.Type != dtype.I32 {
		p.fail(codes, "type %s and shape %v instead of words of levels", codes.Type, codes.Shape)
		return nil
	}
	in, words := codes.Shape[0], codes.Shape[1]
	out := words * awqWord
	groups := p.groups(awqBits, out, in)
	if groups == nil {
		return nil
	}
	table := &wordTable{p.file, codes.Name, in, words}
	all := bands{rows: out, cols: in, step: table.step() * awqWord, load: func(first, n int) (*band, error) {
		g, err := groups.read(p.file)
		if err != nil {
			return nil, err
		}
		levels, err := table.columns(first/awqWord, n/awqWord)
		return &band{(&awqMatrix{g, first, levels}).decode}, err
	}}
	return &dequantised{name: p.stem + ".weight", shape: []int{out, in}, kind: p.rounded(groups.scales), read: all.read}
}

// An awqMatrix has rows of a matrix (out, in).
type awqMatrix struct {
	levelGroups
	first  int    // the row that levels begin with, a multiple of awqWord
	levels []byte // (in, rows/8) words
}

// awqPlace returns the place of an output's level: a word has outputs 0, 2, 4, 6, 1, 3, 5, 7.
func awqPlace(output int) int {
	within := output % awqWord
	return output - within + within/2 + within%2*awqWord/2
}

// decode fills dst with rows, beginning with one of those that levels has.
func (m *awqMatrix) decode(dst []float32, row int) {
	in, count := len(m.of), len(m.scales)/m.out
	zeros, scales := make([]float32, count), make([]float32, count)
	step := len(m.levels) / in
	for ; len(dst) > 0; row++ {
		m.scalesOf(m.first+row, scales)
		for g := range zeros {
			zeros[g] = float32(m.zero(g, awqPlace(m.first+row)))
		}
		place := awqPlace(row)
		for i, g := range m.of {
			dst[i] = (float32(level(m.levels[i*step:], place, awqBits)) - zeros[g]) * scales[g]
		}
		dst = dst[in:]
	}
}
