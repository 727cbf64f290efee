package arch

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sync"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/dtype"
)

// compressed has the settings of the method compressed-tensors, that of llm-compressor. Groups of modules
// may have different ones: those of a weight are the first that its tensors fit.
//
// Source: compressed-tensors, compressors and quantization/lifecycle/forward.py.
type compressed struct {
	sizes []tile
	bits  []int // of whole numbers that are packed
}

// compressedFormats are those that are read.
var compressedFormats = []string{"dense", "naive-quantized", "float-quantized", "int-quantized", "pack-quantized", "mixed-precision"}

// compressedTensors reads the settings.
func compressedTensors(q *config) *scheme {
	m := &compressed{}
	m.checkFormat(q)
	if sparsity := q.object("sparsity_config"); sparsity != nil {
		sparsity.require([]requiredValue{{"format", `"dense"`}})
	}
	if transforms := q.object("transform_config"); transforms != nil && len(transforms.fields) > 0 {
		q.reject("transform_config", "transformed weights are not supported")
	}
	if groups := q.object("config_groups"); groups == nil {
		q.reject("config_groups", "missing")
	} else {
		for _, name := range slices.Sorted(maps.Keys(groups.fields)) {
			if group := groups.object(name); group != nil {
				m.checkFormat(group)
				m.addGroup(group.object("weights"))
			}
		}
	}
	return &scheme{marks: []string{"_scale"}, unread: activationScales, weight: m.weight}
}

func (m *compressed) checkFormat(c *config) {
	if name := c.text("format", "dense"); !slices.Contains(compressedFormats, name) {
		c.reject("format", "%.40q is not supported, only %q", name, compressedFormats)
	}
}

// addGroup reads the weights of a group of modules; nil: they are not quantised.
func (m *compressed) addGroup(c *config) {
	if c == nil {
		return
	}
	bits := c.integer("num_bits", 8, 1, 8)
	switch kind := c.text("type", "int"); {
	case kind == "float" && bits == 8:
	case kind == "int":
		m.bits = append(m.bits, bits)
	default:
		c.reject("type", "%.40q of %d bits is not supported", kind, bits)
	}
	size := c.integer("group_size", 0, -1, maxFFN)
	strategy := "tensor"
	switch {
	case size > 0:
		strategy = "group"
	case size < 0:
		strategy = "channel"
	}
	switch strategy = c.text("strategy", strategy); strategy {
	case "tensor":
		m.sizes = append(m.sizes, tile{})
	case "channel":
		m.sizes = append(m.sizes, tile{1, 0})
	case "group":
		if size < 1 {
			c.reject("group_size", "missing")
		}
		m.sizes = append(m.sizes, tile{1, size})
	case "block":
		m.sizes = append(m.sizes, c.tile("block_structure", tile{}))
	default:
		c.reject("strategy", "%.40q is not supported, only tensor, channel, group and block", strategy)
	}
}

// weight returns a weight of E4M3, of bytes or of packed whole numbers.
func (m *compressed) weight(p *parts) *dequantised {
	if packed := p.find("_packed"); packed != nil {
		return m.packed(p, packed)
	}
	codes := p.find("")
	switch {
	case codes == nil:
		return nil
	case codes.Type == dtype.F8E4M3, codes.Type == dtype.I8:
	default:
		p.fail(codes, "type %s, but %s is a scale of %s or %s", codes.Type, p.mark.Name, dtype.F8E4M3, dtype.I8)
		return nil
	}
	g := p.newGrid(codes, codes.Shape, p.mark, m.sizes...)
	if g == nil {
		return nil
	}
	decode := dtype.F8E4M3.Decoder()
	if codes.Type == dtype.I8 {
		decode = decodeInt8
	}
	g.from(codes, g.cols, decode)
	p.zeroPoints(g, 0)
	p.groupIndex(g)
	return &dequantised{name: p.stem, shape: codes.Shape, kind: p.rounded(p.mark), read: g.read}
}

func decodeInt8(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = float32(int8(src[i]))
	}
}

// packed returns a weight of whole numbers that several of a row share 32 bits of.
func (m *compressed) packed(p *parts, codes *checkpoint.TensorInfo) *dequantised {
	shape := p.weightShape(codes)
	if shape == nil {
		return nil
	}
	i := slices.IndexFunc(m.bits, func(bits int) bool { return wordsOf(shape[1], bits) == codes.Shape[1] })
	if i < 0 || shape[0] != codes.Shape[0] || codes.Type != dtype.I32 {
		p.fail(codes, "type %s and shape %v do not fit a weight of shape %v and %v bits", codes.Type, codes.Shape, shape, m.bits)
		return nil
	}
	g := p.newGrid(codes, shape, p.mark, m.sizes...)
	if g == nil {
		return nil
	}
	bits := m.bits[i]
	g.from(codes, 4*codes.Shape[1], func(dst []float32, src []byte) { unpackInts(dst, src, bits) })
	p.zeroPoints(g, bits)
	p.groupIndex(g)
	return &dequantised{name: p.stem, shape: shape, kind: p.rounded(p.mark), read: g.read}
}

// wordsOf returns the words that numbers of some bits take.
func wordsOf(numbers, bits int) int { return (numbers*bits-1)/32 + 1 }

// weightShape reads the shape of a packed weight; nil after an error.
func (p *parts) weightShape(codes *checkpoint.TensorInfo) []int {
	t := p.find("_shape")
	if t == nil {
		p.fail(codes, "tensor %.80q is missing", p.stem+"_shape")
		return nil
	}
	if t.Elements() != 2 {
		p.fail(t, "shape %v, but it has the two numbers of a shape", t.Shape)
		return nil
	}
	values, err := p.file.Integers(t.Name)
	switch {
	case err != nil:
		p.fail(t, "%v", err)
		return nil
	case len(codes.Shape) != 2 || values[0] < 1 || values[1] < 1 || values[1] > 32*codes.Elements():
		p.fail(t, "%v is not the shape of a weight that is packed to shape %v", values, codes.Shape)
		return nil
	}
	return values
}

// unpackInts reads numbers of some bits that follow each other in words of 32, lowest bits first, and that
// are stored with half of their range added.
func unpackInts(dst []float32, src []byte, bits int) {
	zero := 1 << (bits - 1)
	for i := range dst {
		dst[i] = float32(bitsAt(src, 4, i*bits, bits) - zero)
	}
}

// bitsAt returns the number in some bits from one on. The first word of 32 is at the beginning of src, each
// other one step bytes after its predecessor.
func bitsAt(src []byte, step, from, bits int) int {
	at, shift := from/32*step, from%32
	v := binary.LittleEndian.Uint32(src[at:]) >> shift
	if shift+bits > 32 {
		v |= binary.LittleEndian.Uint32(src[at+step:]) << (32 - shift)
	}
	return int(v & (1<<bits - 1))
}

// zeroPoints makes g read the codes of zero, if the file has them: one for each scale, which may be packed
// along the columns of scales as numbers of some bits.
func (p *parts) zeroPoints(g *grid, bits int) {
	t := p.find("_zero_point")
	if t == nil {
		return
	}
	switch {
	case t.Type == dtype.I8 && t.Elements() == g.count:
		g.zeros = func(dst []float32, from int) error {
			raw := make([]byte, len(dst))
			err := readRange(g.file, t.Name, raw, int64(from))
			decodeInt8(dst, raw)
			return err
		}
	case t.Type.Convertible() && t.Elements() == g.count:
		g.zeros = func(dst []float32, from int) error { return g.file.Values(t.Name, from, dst) }
	case bits > 0 && t.Type == dtype.I32 && slices.Equal(t.Shape, []int{wordsOf(g.count/g.across, bits), g.across}):
		g.zeros = func(dst []float32, from int) error { return g.packedZeros(t, dst, from, bits) }
	default:
		p.fail(t, "type %s and shape %v do not fit scales of shape %v", t.Type, t.Shape, p.mark.Shape)
	}
}

// packedZeros reads zeros of whole rows of blocks from one on. They are packed down the columns.
func (g *grid) packedZeros(t *checkpoint.TensorInfo, dst []float32, from, bits int) error {
	row, size := from/g.across, 4*g.across
	first, last := row*bits/32, ((from+len(dst))/g.across*bits-1)/32
	raw := make([]byte, (last-first+1)*size)
	if err := readRange(g.file, t.Name, raw, int64(first)*int64(size)); err != nil {
		return err
	}
	for i := range dst {
		column := i % g.across
		dst[i] = float32(bitsAt(raw[4*column:], size, (row+i/g.across)*bits-32*first, bits) - 1<<(bits-1))
	}
	return nil
}

// groupIndex makes g read the groups of columns, if the file has them: they are in the order in which columns
// were quantised. Without an order they are -1.
func (p *parts) groupIndex(g *grid) {
	t := p.find("_g_idx")
	if t == nil {
		return
	}
	if t.Elements() != g.cols {
		p.fail(t, "shape %v, but the weight has %d columns", t.Shape, g.cols)
		return
	}
	g.blocks = sync.OnceValues(func() ([]int, error) {
		list, err := g.file.Integers(t.Name)
		if err != nil || slices.Contains(list, -1) {
			return nil, err
		}
		for i, block := range list {
			if block < 0 || block >= g.across {
				return nil, fmt.Errorf("tensor %q: column %d is in group %d of %d", t.Name, i, block, g.across)
			}
		}
		return list, nil
	})
}
