package arch

import (
	"fmt"
	"io"

	"glossa/pkg/engine/dtype"
	"glossa/pkg/engine/transformer"
)

// gptOSS is OpenAI 2025 (gpt-oss): experts with biases and bounds, attention with sinks, and a
// window in every second layer. Files have the experts' matrices in MXFP4, or as (in, out) with
// the columns of gate and up in turn.
var gptOSS = llamaLike("GPT-OSS", func(f *family) {
	f.vocab, f.context = field{"vocab_size", 201088}, field{"max_position_embeddings", 131072}
	f.width, f.decoder = field{"hidden_size", 2880}, dimensions{
		depth: field{"num_hidden_layers", 36}, heads: field{"num_attention_heads", 64}, ffn: field{"intermediate_size", 2880},
	}
	f.eps = real{"rms_norm_eps", 1e-5}
	f.bos, f.eos = field{"bos_token_id", -1}, field{"eos_token_id", -1}
	f.quantised = []string{"mxfp4"}
	f.kind.Attention.Sinks = true
	l := &f.tensors.decoder
	l.qkv.bias, l.out.bias = stored, stored
	l.sinks = "layers.%d.self_attn.sinks"
	l.experts = expertNames{router: "layers.%d.mlp.router", bias: always, interleaved: "layers.%d.mlp.experts."}
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		k := &s.Kinds[0]
		k.Attention.HeadDim = 64
		k.FeedForward.Experts = readExperts(c, field{"num_local_experts num_experts", 128}, 4, true)
		c.require([]requiredValue{{"swiglu_alpha", "1.702"}})
		k.FeedForward.Activation, k.FeedForward.Limit = transformer.QuickGELU, float32(c.number("swiglu_limit", 7, 1e-3, 1e6))
		setRotary(s, llamaHeads(c, s, rope{base: real{"rope_theta", 150000}}))
		setWindows(c, s, c.windowed(len(s.Decoder), everySecond), field{"sliding_window", 128})
	}
})

// everySecond is the rule of architectures in which the first of two layers has a window.
func everySecond(layer int) bool { return layer%2 == 0 }

// ggufGPTOSS: the converter separates gate and up.
var ggufGPTOSS = ggufLike(func(f *family) {
	f.kind.Attention.Sinks = true
	l := &f.tensors.decoder
	l.qkv.bias, l.out.bias, l.sinks = always, always, "blk.%d.attn_sinks.weight"
	l.ffnNorm = "blk.%d.post_attention_norm"
	l.experts = ggufExperts()
	l.experts.bias = always
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		ggufSetExperts(c, s, true)
		k := &s.Kinds[0]
		k.FeedForward.Activation, k.FeedForward.Limit = transformer.QuickGELU, 7
		setRotary(s, ggufHeads(c, s))
		ggufWindows(c, s, everySecond, 0)
	}
	f.detect = func(src *source, _ *transformer.Spec, l *layout) {
		if src.has("blk.0.ffn_norm.weight") { // older files
			l.decoder.ffnNorm = "blk.%d.ffn_norm"
		}
	}
})

// interleavedExperts looks up experts whose tensors have the rows, or columns, of gate and up in
// turn: in MXFP4 or not.
func (b *builder) interleavedExperts(o *transformer.Layer, stem string, count, ffn int) {
	width := b.spec.Width
	upBias, downBias := b.stackedVectors(stem+"gate_up_proj_bias", count, 2*ffn), b.stackedVectors(stem+"down_proj_bias", count, width)
	var upper, lower func(expert, first, step, rows int) transformer.Tensor
	if b.has(stem + "gate_up_proj_blocks") {
		upper, lower = b.mxfp4(stem+"gate_up_proj", count, 2*ffn, width), b.mxfp4(stem+"down_proj", count, width, ffn)
	} else {
		upper, lower = b.columns(stem+"gate_up_proj", count, 2*ffn, width), b.columns(stem+"down_proj", count, width, ffn)
	}
	if b.err != nil {
		return
	}
	for i := range count {
		o.Experts = append(o.Experts, transformer.Expert{
			Gate: transformer.Linear{Weight: []transformer.Tensor{upper(i, 0, 2, ffn)}, Bias: transformer.Vector{upBias(i, 0, 2, ffn)}},
			Up:   transformer.Linear{Weight: []transformer.Tensor{upper(i, 1, 2, ffn)}, Bias: transformer.Vector{upBias(i, 1, 2, ffn)}},
			Down: transformer.Linear{Weight: []transformer.Tensor{lower(i, 0, 1, width)}, Bias: transformer.Vector{downBias(i, 0, 1, width)}},
		})
	}
}

// stackedVectors uses a tensor as vectors of n values. The result selects every step-th value of
// one, beginning with the first.
func (b *builder) stackedVectors(name string, count, n int) func(expert, first, step, rows int) transformer.Tensor {
	all := b.take(name, []int{count, n}, span{cols: n})
	return func(expert, first, step, rows int) transformer.Tensor {
		t := all.rows(expert, 1)
		t.Rows, t.Cols, t.Stored, t.ReadStored = rows, 1, transformer.F32, nil
		t.Read = every(t.Read, first, step)
		return t
	}
}

// columns uses a tensor as matrices that are stored as (in, out). The result selects every
// step-th output of one.
func (b *builder) columns(name string, count, rows, cols int) func(expert, first, step, rows int) transformer.Tensor {
	all := b.stacked(name, count, cols, rows)
	return func(expert, first, step, n int) transformer.Tensor {
		t := all.rows(expert*cols, cols)
		t.Rows, t.Cols, t.Transposed, t.Stored, t.ReadStored = n, cols, true, transformer.F32, nil
		t.Read = every(t.Read, first, step)
		return t
	}
}

// every reads rows of which only every step-th value counts, beginning with the first.
func every(read func([]float32, int) error, first, step int) func([]float32, int) error {
	if step == 1 {
		return read
	}
	return func(dst []float32, from int) error {
		all := make([]float32, len(dst)*step)
		if err := read(all, from*step); err != nil {
			return err
		}
		for i := range dst {
			dst[i] = all[i*step+first]
		}
		return nil
	}
}

// mxfp4Block is the number of values that share a scale.
const mxfp4Block = 32

// mxfp4 uses two tensors, of blocks and of their scales, as matrices of (rows, cols). The result
// selects every step-th row of one. They become GGUF's blocks: the scale, then 16 bytes with
// value i in the lower half of byte i and value i+16 in the upper one. Here a byte has two
// neighbours.
func (b *builder) mxfp4(name string, count, rows, cols int) func(expert, first, step, rows int) transformer.Tensor {
	groups := cols / mxfp4Block
	if cols%mxfp4Block != 0 && b.err == nil {
		b.err = fmt.Errorf("checkpoint %s: tensor %q: rows of %d values in blocks of %d", b.file.Name(), name, cols, mxfp4Block)
	}
	blocks := b.bytes(name+"_blocks", []int{count, rows, groups, mxfp4Block / 2})
	scales := b.bytes(name+"_scales", []int{count, rows, groups})
	return func(expert, first, step, n int) transformer.Tensor {
		read := func(dst []byte, row int) error {
			at := int64(expert*rows+first+row*step) * int64(groups)
			packed, scale := make([]byte, groups*mxfp4Block/2), make([]byte, groups)
			if err := readBytes(blocks, packed, at*mxfp4Block/2); err != nil {
				return fmt.Errorf("tensor %q: %w", name, err)
			}
			if err := readBytes(scales, scale, at); err != nil {
				return fmt.Errorf("tensor %q: %w", name, err)
			}
			for g := range groups {
				regroup(dst[g*(1+mxfp4Block/2):], packed[g*mxfp4Block/2:], scale[g])
			}
			return nil
		}
		return mxfp4Tensor(name, n, cols, read)
	}
}

// regroup writes a block of GGUF.
func regroup(dst, packed []byte, scale byte) {
	const half = mxfp4Block / 2
	dst[0] = scale
	nibble := func(i int) byte { return packed[i/2] >> (i % 2 * 4) & 15 }
	for i := range half {
		dst[1+i] = nibble(i) | nibble(i+half)<<4
	}
}

// mxfp4Tensor returns a tensor whose rows read gives as GGUF's blocks.
func mxfp4Tensor(name string, rows, cols int, read func(dst []byte, row int) error) transformer.Tensor {
	size := cols / mxfp4Block * (1 + mxfp4Block/2)
	stored := func(dst []byte, from int) error {
		for row := from / cols; len(dst) > 0; row++ {
			if err := read(dst[:size], row); err != nil {
				return err
			}
			if i, v := dtype.MXFP4.NotFinite(dst[:size]); i >= 0 {
				return fmt.Errorf("tensor %q: row %d has the value %v", name, row, v)
			}
			dst = dst[size:]
		}
		return nil
	}
	return transformer.Tensor{
		Name: name, Rows: rows, Cols: cols, Stored: transformer.MXFP4, ReadStored: stored,
		Read: func(dst []float32, from int) error {
			raw := make([]byte, len(dst)/cols*size)
			if err := stored(raw, from); err != nil {
				return err
			}
			dtype.MXFP4.Decoder()(dst, raw)
			return nil
		},
	}
}

func readBytes(r io.ReaderAt, dst []byte, at int64) error {
	if n, err := r.ReadAt(dst, at); n < len(dst) {
		return err
	}
	return nil
}
