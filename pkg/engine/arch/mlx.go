package arch

import (
	"maps"
	"slices"
	"strings"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/dtype"
)

// mlxMethod is our name of MLX's method, which its files do not name.
const mlxMethod = "mlx"

// mlxModes are the modes but "affine", in which levels have a scale and an offset.
var mlxModes = map[string]*microscale{"mxfp4": mxfp4, "mxfp8": mxfp8, "nvfp4": nvfp4}

// An mlxForm is how a module's weight is quantised.
type mlxForm struct {
	size int         // values of a group
	fp   *microscale // nil: they are levels
}

// mlx is what the directories of mlx-lm have under the key quantization: the form of all modules, and under
// their names that of modules with an own one.
//
// Source: mlx, nn/layers/quantized.py and ops.cpp.
func mlx(q *config) *scheme {
	all, own := q.mlxForm(), map[string]mlxForm{}
	for _, name := range slices.Sorted(maps.Keys(q.fields)) {
		if strings.HasPrefix(string(q.fields[name]), "{") {
			if module := q.object(name); module != nil {
				own[name] = module.mlxForm()
			}
		}
	}
	return &scheme{marks: []string{".scales"}, weight: func(p *parts) *dequantised {
		f, ok := own[strings.TrimSuffix(p.mark.Name, ".scales")]
		if !ok {
			f = all
		}
		if f.fp != nil {
			return p.mlxFloats(f.fp)
		}
		return p.mlxLevels(f.size)
	}}
}

// mlxForm reads a form.
func (c *config) mlxForm() mlxForm {
	name := c.text("mode", "affine")
	if name == "affine" {
		return mlxForm{size: c.integer("group_size", 64, 1, maxFFN)}
	}
	f := mlxModes[name]
	if f == nil {
		c.reject("mode", "%.40q is not supported, only affine, %s", name, strings.Join(slices.Sorted(maps.Keys(mlxModes)), ", "))
		return mlxForm{}
	}
	c.integer("group_size", f.size, f.size, f.size)
	c.integer("bits", f.bits, f.bits, f.bits)
	return mlxForm{f.size, f}
}

// mlxFloats returns a weight in FP4 or FP8: a matrix, or several one after another.
func (p *parts) mlxFloats(f *microscale) *dequantised {
	codes := p.need(".weight")
	if codes == nil {
		return nil
	}
	if codes.Type != dtype.U32 {
		p.fail(codes, "type %s instead of words of numbers", codes.Type)
		return nil
	}
	w, _ := p.microscaled(p.stem+".weight", f, codes, p.mark, dtype.U8)
	return w
}

// mlxLevels returns a weight of levels in groups of a size: a matrix, or several one after another.
func (p *parts) mlxLevels(size int) *dequantised {
	codes, scales, offsets := p.need(".weight"), p.mark, p.need(".biases")
	if p.err != nil {
		return nil
	}
	last := len(codes.Shape) - 1
	if last < 1 || slices.Contains(codes.Shape, 0) || codes.Type != dtype.U32 || len(scales.Shape) != last+1 {
		p.fail(codes, "type %s and shape %v instead of words of levels for scales of shape %v", codes.Type, codes.Shape, scales.Shape)
		return nil
	}
	groups := scales.Shape[last:]
	for _, t := range []*checkpoint.TensorInfo{scales, offsets} {
		if !t.Type.Convertible() || slices.Contains(groups, 0) || !slices.Equal(t.Shape, slices.Concat(codes.Shape[:last], groups)) {
			p.fail(t, "type %s and shape %v do not fit levels of shape %v", t.Type, t.Shape, codes.Shape)
			return nil
		}
	}
	g := &mlxGroups{file: p.file, codes: codes.Name, scales: scales.Name, offsets: offsets.Name, size: size, words: codes.Shape[last], count: groups[0]}
	cols := g.count * size
	if g.bits = g.words * 32 / cols; !slices.Contains([]int{2, 3, 4, 5, 6, 8}, g.bits) || g.bits*cols != g.words*32 {
		p.fail(codes, "shape %v for %d groups of %d does not have 2, 3, 4, 5, 6 or 8 bits", codes.Shape, g.count, size)
		return nil
	}
	shape := append(slices.Clone(codes.Shape[:last]), cols)
	return &dequantised{name: p.stem + ".weight", shape: shape, kind: p.rounded(scales), read: g.read}
}

// mlxGroups are the tensors of a weight.
type mlxGroups struct {
	file                   *checkpoint.File
	codes, scales, offsets string // their names
	bits, size             int    // of a level; levels of a group
	words, count           int    // in a row: words of levels, groups
}

// read reads whole rows.
func (g *mlxGroups) read(dst []float32, row int) error {
	n := len(dst) / (g.count * g.size)
	stream, scales, offsets := make([]byte, 4*n*g.words), make([]float32, n*g.count), make([]float32, n*g.count)
	if err := readRange(g.file, g.codes, stream, 4*int64(row)*int64(g.words)); err != nil {
		return err
	}
	if err := g.file.Values(g.scales, row*g.count, scales); err != nil {
		return err
	}
	if err := g.file.Values(g.offsets, row*g.count, offsets); err != nil {
		return err
	}
	for i := range dst {
		at := i / g.size
		dst[i] = float32(float32(level(stream, i, g.bits))*scales[at]) + offsets[at]
	}
	return nil
}
