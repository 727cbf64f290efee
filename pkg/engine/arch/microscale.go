package arch

import (
	"fmt"
	"slices"
	"sync"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/dtype"
)

// A microscale is a format of weights in FP4 or FP8: of each row, blocks of neighbours have a scale of one
// byte.
//
// Source: OCP Microscaling Formats 1.0; for NVFP4, compressed-tensors and NVIDIA's ModelOpt.
type microscale struct {
	bits   int           // of a value: 4 is E2M1, 8 is E4M3
	size   int           // values of a block
	scales dtype.Decoder // of bytes
}

var (
	mxfp4 = &microscale{4, mxfp4Block, dtype.DecodeE8M0}
	mxfp8 = &microscale{8, mxfp4Block, dtype.DecodeE8M0}
	nvfp4 = &microscale{4, 16, dtype.F8E4M3.Decoder()}
)

// microscaled returns a weight of a name and its grid. Its scales have a type. Both are nil after an error.
func (p *parts) microscaled(name string, f *microscale, codes, scales *checkpoint.TensorInfo, kind dtype.Type) (*dequantised, *grid) {
	last := len(codes.Shape) - 1
	if last < 1 || last > 2 || slices.Contains(codes.Shape, 0) {
		p.fail(codes, "a quantised weight of shape %v is not supported", codes.Shape)
		return nil, nil
	}
	_, size := codes.Type.Block()
	size *= codes.Shape[last] // bytes of a row
	cols := size * 8 / f.bits
	shape, groups := slices.Clone(codes.Shape), slices.Clone(codes.Shape)
	shape[last], groups[last] = cols, cols/f.size
	if scales.Type != kind || cols%f.size != 0 || !slices.Equal(scales.Shape, groups) {
		p.fail(scales, "type %s and shape %v do not fit a weight of shape %v in blocks of %d", scales.Type, scales.Shape, shape, f.size)
		return nil, nil
	}
	rows := codes.Elements() / codes.Shape[last]
	g := &grid{file: p.file, rows: rows, cols: cols, height: 1, width: f.size, down: rows, across: groups[last], count: scales.Elements()}
	g.scales = func(dst []float32, from int) error { return f.readScales(g.file, scales.Name, dst, from) }
	decode := dtype.Decoder(dtype.DecodeE2M1)
	if f.bits == 8 {
		decode = dtype.F8E4M3.Decoder()
	}
	g.from(codes, size, decode)
	return &dequantised{name: name, shape: shape, kind: p.computed, read: g.read}, g
}

// readScales reads scales from one on.
func (f *microscale) readScales(file *checkpoint.File, name string, dst []float32, from int) error {
	raw := make([]byte, len(dst))
	if err := readRange(file, name, raw, int64(from)); err != nil {
		return err
	}
	f.scales(dst, raw)
	if i := slices.IndexFunc(dst, func(v float32) bool { return v-v != 0 }); i >= 0 {
		return fmt.Errorf("tensor %q: value %d is %v", name, from+i, dst[i])
	}
	return nil
}

// globalScale changes the scales of g by the one of the whole weight, which t has.
func (p *parts) globalScale(g *grid, t *checkpoint.TensorInfo, change func(scale, global float32) float32) {
	if !t.Type.Convertible() || t.Elements() != 1 {
		p.fail(t, "type %s and shape %v instead of the scale of a weight", t.Type, t.Shape)
		return
	}
	global := sync.OnceValues(func() (float32, error) {
		v, err := g.file.Float32(t.Name, nil)
		if err == nil && v[0] <= 0 {
			err = fmt.Errorf("tensor %q: the scale is %v", t.Name, v[0])
		}
		if err != nil {
			return 0, err
		}
		return v[0], nil
	})
	blocks := g.scales
	g.scales = func(dst []float32, from int) error {
		by, err := global()
		if err != nil {
			return err
		}
		err = blocks(dst, from)
		for i := range dst {
			dst[i] = change(dst[i], by)
		}
		return err
	}
}
