package arch

import "glossa/pkg/engine/dtype"

// activationScales are the endings of names of scales of inputs, outputs, keys and values, and of the codes
// that stand for zero in them.
var activationScales = []string{
	"activation_scale", "_scale_ub", ".input_global_scale", ".input_scale", ".output_scale", ".q_scale", ".k_scale", ".v_scale",
	".input_zero_point", ".output_zero_point", ".q_zero_point", ".k_zero_point", ".v_zero_point",
}

// blockFP8 is the method fp8 of DeepSeek-V3 and Qwen: matrices in E4M3 with a scale for each block, or
// for the whole matrix.
//
// Source: DeepSeek-AI 2024, inference/kernel.py; transformers 5.23, FP8Linear and FP8Experts. Its
// Fp8Dequantize does not read a matrix that ends within a block, as some of DeepSeek-V3 do.
func blockFP8(q *config) *scheme {
	q.require([]requiredValue{{"fmt", `"e4m3"`}, {"expert_dtype", `"fp8"`}})
	block := q.tile("weight_block_size", tile{128, 128})
	return &scheme{
		marks: []string{"_scale_inv", "_scale"}, unread: activationScales,
		weight: func(p *parts) *dequantised { return p.fp8(block, tile{}) },
	}
}

// rowFP8 is the method fbgemm_fp8 of Llama 3.1: matrices in E4M3 with a scale for each row.
//
// Source: transformers 5.23, FbgemmFp8Linear.
func rowFP8(*config) *scheme {
	return &scheme{
		marks: []string{".weight_scale"}, unread: activationScales,
		weight: func(p *parts) *dequantised {
			p.stem += ".weight"
			return p.fp8(tile{1, 0})
		},
	}
}

// fp8 returns the weight with the name of the stem, with blocks of one of some sizes.
func (p *parts) fp8(sizes ...tile) *dequantised {
	codes := p.find("")
	if codes == nil {
		return nil
	}
	if codes.Type != dtype.F8E4M3 {
		p.fail(codes, "type %s, but %s is a scale of %s", codes.Type, p.mark.Name, dtype.F8E4M3)
		return nil
	}
	if n := len(codes.Shape); n == 3 && codes.Shape[1]%2 == 0 { // gate and up of experts may have scales of their own
		sizes = append(sizes, tile{codes.Shape[1] / 2, 0})
	}
	g := p.newGrid(codes, codes.Shape, p.mark, sizes...)
	if g == nil {
		return nil
	}
	g.from(codes, g.cols, dtype.F8E4M3.Decoder())
	return &dequantised{name: p.stem, shape: codes.Shape, kind: p.rounded(p.mark), read: g.read}
}

// tile reads the size of blocks, [rows, columns]; null is the whole matrix.
func (c *config) tile(name string, absent tile) tile {
	if raw, ok := c.fields[name]; ok && string(raw) == "null" {
		return tile{}
	}
	_, size, ok := read[[]int](c, name, "list of integers")
	switch {
	case !ok:
		return absent
	case len(size) != 2 || size[0] < 1 || size[1] < 1:
		c.reject(name, "%v is not a number of rows and one of columns", size)
		return absent
	}
	return tile{size[0], size[1]}
}
