package arch

import (
	"encoding/binary"
	"math"
	"slices"

	"glossa/pkg/engine/dtype"
)

// gptq is the method of AutoGPTQ and GPTQModel (Frantar et al. 2022): levels from 0 on, of which a
// group of inputs has a scale and a level of zero for each output.
func gptq(q *config) *scheme {
	bits, format := q.integer("bits", 4, 2, 8), q.text("checkpoint_format format", "gptq")
	if format != "gptq" && format != "gptq_v2" {
		q.reject("checkpoint_format", "%.40q is not supported, only gptq and gptq_v2", format)
	}
	q.require([]requiredValue{{"is_marlin_format", "false"}})
	return &scheme{marks: []string{".qweight"}, weight: func(p *parts) *dequantised { return p.gptq(bits, format == "gptq") }}
}

// gptq returns a weight. Modules may differ in the number of bits: it follows from the shapes, if that of
// the order of groups is known.
func (p *parts) gptq(bits int, lessOne bool) *dequantised {
	codes := p.mark
	if len(codes.Shape) != 2 || slices.Contains(codes.Shape, 0) || codes.Type != dtype.I32 {
		p.fail(codes, "type %s and shape %v instead of words of levels", codes.Type, codes.Shape)
		return nil
	}
	words, out := codes.Shape[0], codes.Shape[1]
	in := words * 32 / bits
	if order := p.find(".g_idx"); order != nil {
		in = max(1, order.Elements())
		bits = words * 32 / in
	}
	if !slices.Contains([]int{2, 3, 4, 8}, bits) || in*bits != words*32 || out*bits%32 != 0 {
		p.fail(codes, "shape %v for %d inputs does not have 2, 3, 4 or 8 bits", codes.Shape, in)
		return nil
	}
	groups := p.groups(bits, out, in)
	if groups == nil {
		return nil
	}
	table := &wordTable{p.file, codes.Name, words, out}
	all := bands{rows: out, cols: in, step: table.step(), load: func(first, n int) (*band, error) {
		g, err := groups.read(p.file)
		if err != nil {
			return nil, err
		}
		if lessOne {
			addOnes(g.zeros, out, bits)
		}
		levels, err := table.columns(first, n)
		return &band{(&gptqMatrix{g, first, levels}).decode}, err
	}}
	return &dequantised{name: p.stem + ".weight", shape: []int{out, in}, kind: p.rounded(groups.scales), read: all.read}
}

// addOnes adds 1 to levels of zero. GPTQModel subtracts it from whole words, so that a zero of 0 takes from
// its neighbour; those of 3 bits, some of which lie in two words, it takes apart.
func addOnes(zeros []byte, out, bits int) {
	if bits == 3 {
		for row := range slices.Chunk(zeros, out*bits/8) {
			for i := range out {
				setLevel(row, i, bits, level(row, i, bits)+1)
			}
		}
		return
	}
	ones := uint32(math.MaxUint32 / (1<<bits - 1))
	for word := range slices.Chunk(zeros, 4) {
		binary.LittleEndian.PutUint32(word, binary.LittleEndian.Uint32(word)+ones)
	}
}

// A gptqMatrix has rows of a matrix (out, in).
type gptqMatrix struct {
	levelGroups
	first  int    // the row that levels begin with
	levels []byte // (in*bits/32, rows) words: a stream for each output
}

// decode fills dst with rows, beginning with one of those that levels has.
func (m *gptqMatrix) decode(dst []float32, row int) {
	in, count := len(m.of), len(m.scales)/m.out
	stream, zeros, scales := make([]byte, in*m.bits/8), make([]float32, count), make([]float32, count)
	step := len(m.levels) / len(stream) * 4
	for ; len(dst) > 0; row++ {
		for at := 0; at < len(stream); at += 4 {
			copy(stream[at:at+4], m.levels[at/4*step+row*4:])
		}
		m.scalesOf(m.first+row, scales)
		for g := range zeros {
			zeros[g] = float32(m.zero(g, m.first+row))
		}
		for i, g := range m.of {
			dst[i] = (float32(level(stream, i, m.bits)) - zeros[g]) * scales[g]
		}
		dst = dst[in:]
	}
}
