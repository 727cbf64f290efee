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

// mlx is what the directories of mlx-lm have under the key quantization: the levels of a row are a stream,
// of which groups of neighbours have a scale and an offset. A module with groups of another size has an
// entry of its own, under its name.
func mlx(q *config) *scheme {
	affine := []requiredValue{{"mode", `"affine"`}}
	q.require(affine)
	size, sizes := q.integer("group_size", 64, 1, maxFFN), map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(q.fields)) {
		if strings.HasPrefix(string(q.fields[name]), "{") {
			module := q.object(name)
			module.require(affine)
			sizes[name] = module.integer("group_size", size, 1, maxFFN)
		}
	}
	return &scheme{marks: []string{".scales"}, weight: func(p *parts) *dequantised { return p.mlx(size, sizes) }}
}

// mlx returns a weight: a matrix, or several one after another.
func (p *parts) mlx(size int, sizes map[string]int) *dequantised {
	codes, scales, offsets := p.need(".weight"), p.mark, p.need(".biases")
	if p.err != nil {
		return nil
	}
	if own, ok := sizes[strings.TrimSuffix(codes.Name, ".weight")]; ok {
		size = own
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
