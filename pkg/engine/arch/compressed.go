package arch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/dtype"
)

// compressed has the settings of the method compressed-tensors, that of llm-compressor. Groups of modules
// may have different ones.
//
// Source: compressed-tensors, compressors and quantization/lifecycle.
type compressed struct {
	all             forms    // of all groups
	groups, ignored *targets // nil if one group has all weights
}

// forms are what weights may be: blocks of one of the sizes, numbers of some bits. A group has one form.
type forms struct {
	sizes        []tile
	bits, floats []int // of whole numbers, of others
}

// compressedFormats are those that are read.
var compressedFormats = []string{
	"dense", "naive-quantized", "float-quantized", "int-quantized", "pack-quantized", "mixed-precision",
	"nvfp4-pack-quantized", "mxfp4-pack-quantized", "mxfp8-quantized",
}

// compressedTensors reads the settings.
func compressedTensors(q *config) *scheme {
	m := &compressed{}
	q.checkCompressed()
	if sparsity := q.object("sparsity_config"); sparsity != nil {
		sparsity.require([]requiredValue{{"format", `"dense"`}})
	}
	if transforms := q.object("transform_config"); transforms != nil && len(transforms.fields) > 0 {
		q.reject("transform_config", "transformed weights are not supported")
	}
	if groups := q.object("config_groups"); groups == nil {
		q.reject("config_groups", "missing")
	} else {
		m.readGroups(q, groups)
	}
	return &scheme{marks: []string{"_scale"}, unread: activationScales, weight: m.weight}
}

// checkCompressed rejects other formats.
func (c *config) checkCompressed() {
	if name := c.text("format", "dense"); !slices.Contains(compressedFormats, name) {
		c.reject("format", "%.40q is not supported, only %q", name, compressedFormats)
	}
}

// readGroups reads the settings of the groups that have weights. Lists of modules matter if there are several.
func (m *compressed) readGroups(q, groups *config) {
	var configs []*config
	var all []*forms
	for _, name := range slices.Sorted(maps.Keys(groups.fields)) {
		group := groups.object(name)
		if group == nil {
			continue
		}
		group.checkCompressed()
		if weights := group.object("weights"); weights != nil {
			f := weights.forms()
			configs, all = append(configs, group), append(all, f)
			m.all.sizes, m.all.bits, m.all.floats = append(m.all.sizes, f.sizes...), append(m.all.bits, f.bits...), append(m.all.floats, f.floats...)
		}
	}
	if len(all) < 2 {
		return
	}
	m.groups, m.ignored = newTargets(), newTargets()
	for i, group := range configs {
		m.groups.add(group, "targets", all[i])
	}
	m.ignored.add(q, "ignore", &m.all)
}

// forms reads the form of a group's weights.
func (c *config) forms() *forms {
	f := &forms{}
	bits := c.integer("num_bits", 8, 1, 8)
	switch kind := c.text("type", "int"); {
	case kind == "float" && (bits == 4 || bits == 8):
		f.floats = []int{bits}
	case kind == "int":
		f.bits = []int{bits}
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
		f.sizes = []tile{{}}
	case "channel":
		f.sizes = []tile{{1, 0}}
	case "group", "tensor_group":
		if size < 1 {
			c.reject("group_size", "missing")
		}
		f.sizes = []tile{{1, size}}
	case "block":
		f.sizes = []tile{c.tile("block_structure", tile{})}
	default:
		c.reject("strategy", "%.40q is not supported, only tensor, channel, group, tensor_group and block", strategy)
	}
	return f
}

// weight returns a weight of E4M3, of bytes or of packed numbers.
func (m *compressed) weight(p *parts) *dequantised {
	read, codes := (*forms).packed, p.find("_packed")
	if codes == nil {
		read, codes = (*forms).plain, p.find("")
	}
	if codes == nil {
		return nil
	}
	f := m.formsOf(p)
	if f == nil {
		return nil
	}
	return read(f, p, codes)
}

// formsOf returns the forms of a weight's group: those of all groups if the file names modules otherwise than
// the lists. It is nil after an error.
func (m *compressed) formsOf(p *parts) *forms {
	if m.groups == nil {
		return &m.all
	}
	module := strings.TrimSuffix(p.mark.Name, ".weight_scale")
	ignored, err := m.ignored.find(module)
	if err == nil && ignored != nil {
		err = errors.New("a scale of a weight whose module is in ignore")
	}
	var f *forms
	if err == nil {
		f, err = m.groups.find(module)
	}
	switch {
	case err != nil:
		p.fail(p.mark, "%v", err)
		return nil
	case f == nil:
		return &m.all
	}
	return f
}

// plain returns a weight of bytes.
func (f *forms) plain(p *parts, codes *checkpoint.TensorInfo) *dequantised {
	decode := dtype.F8E4M3.Decoder()
	switch {
	case codes.Type == dtype.F8E4M3 && slices.Contains(f.floats, 8):
	case codes.Type == dtype.I8 && len(f.bits) > 0:
		decode = decodeInt8
	default:
		p.fail(codes, "type %s, but the settings are those of whole numbers of %v bits and others of %v", codes.Type, f.bits, f.floats)
		return nil
	}
	if codes.Type == dtype.F8E4M3 && p.mark.Type == dtype.U8 && slices.Contains(f.sizes, tile{1, mxfp8.size}) {
		w, _ := p.microscaled(p.stem, mxfp8, codes, p.mark, dtype.U8)
		return w
	}
	g := p.newGrid(codes, codes.Shape, p.mark, f.sizes...)
	if g == nil {
		return nil
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

// packed returns a weight of FP4, or of whole numbers that several of a row share 32 bits of.
func (f *forms) packed(p *parts, codes *checkpoint.TensorInfo) *dequantised {
	if codes.Type == dtype.U8 {
		return f.fours(p, codes)
	}
	shape := p.weightShape(codes)
	if shape == nil {
		return nil
	}
	i := slices.IndexFunc(f.bits, func(bits int) bool { return wordsOf(shape[1], bits) == codes.Shape[1] })
	if i < 0 || shape[0] != codes.Shape[0] || codes.Type != dtype.I32 {
		p.fail(codes, "type %s and shape %v do not fit a weight of shape %v and %v bits", codes.Type, codes.Shape, shape, f.bits)
		return nil
	}
	g := p.newGrid(codes, shape, p.mark, f.sizes...)
	if g == nil {
		return nil
	}
	bits := f.bits[i]
	g.from(codes, 4*codes.Shape[1], func(dst []float32, src []byte) { unpackInts(dst, src, bits) })
	p.zeroPoints(g, bits)
	p.groupIndex(g)
	return &dequantised{name: p.stem, shape: shape, kind: p.rounded(p.mark), read: g.read}
}

// fours returns a weight of FP4: MXFP4, or NVFP4, whose scales are divided by that of the whole weight.
func (f *forms) fours(p *parts, codes *checkpoint.TensorInfo) *dequantised {
	kind, scales := mxfp4, dtype.U8
	if p.mark.Type != dtype.U8 {
		kind, scales = nvfp4, dtype.F8E4M3
	}
	if !slices.Contains(f.floats, 4) || !slices.Contains(f.sizes, tile{1, kind.size}) {
		p.fail(codes, "type %s with scales of type %s: the settings are not those of FP4 in groups of %d", codes.Type, p.mark.Type, kind.size)
		return nil
	}
	w, g := p.microscaled(p.stem, kind, codes, p.mark, scales)
	if w == nil || kind == mxfp4 {
		return w
	}
	w.kind = dtype.BF16 // which the package rounds to, whatever the model's type
	if global := p.need("_global_scale"); global != nil {
		p.globalScale(g, global, func(scale, global float32) float32 { return scale / global })
	}
	return w
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
