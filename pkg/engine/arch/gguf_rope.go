package arch

import (
	"cmp"
	"fmt"

	"glossa/pkg/engine/transformer"
)

// ggufRotary reads the rotary embedding of heads of dim dimensions, whose base has a default.
// Like llama.cpp, it treats a missing type as linear, and a missing factor, or 0, as 1.
func ggufRotary(c *config, dim int, base float64) transformer.Rotary {
	const key = "rope.freq_base"
	r := plainRotary(c, c.integer("rope.dimension_count", dim, 2, maxWidth), key, base)
	if r.Dims%2 != 0 || r.Dims > dim {
		c.reject("rope.dimension_count", "%d is not even and at most the width of a head, %d", r.Dims, dim)
	}
	factor := c.number("rope.scaling.factor rope.scale_linear", 0, 0, 1e6)
	kind := c.text("rope.scaling.type", "linear")
	if *c.err != nil {
		return r
	}
	switch kind {
	case "none":
	case "linear":
		for j := range r.Frequencies {
			if factor > 0 {
				r.Frequencies[j] /= float32(factor)
			}
		}
	case "yarn":
		ggufYaRN(c, factor, c.number(key, base, 1, 1e12), c.within != "gpt-oss.", &r)
	case "longrope": // its factors are tensors, see readFactors
	default:
		c.reject("rope.scaling.type", "%.40q is not supported, only none, linear, longrope and yarn", kind)
	}
	return r
}

// plainRotary reads a rotary embedding without scaling.
func plainRotary(c *config, dims int, key string, base float64) transformer.Rotary {
	return transformer.Rotary{Dims: dims, Frequencies: transformer.Frequencies(c.number(key, base, 1, 1e12), dims)}
}

// ggufYaRN applies YaRN. The file's attention factor, if it has one, multiplies the magnitude
// that follows from the factor. The dimensions between which it interpolates are rounded, except
// for GPT-OSS, which files do not say.
func ggufYaRN(c *config, factor, theta float64, round bool, r *transformer.Rotary) {
	c.needs("rope.scaling.factor", "rope.scaling.original_context_length")
	y := yarn{
		theta: theta, factor: factor, round: round,
		original: c.integer("rope.scaling.original_context_length", 1, 1, maxContext),
		fast:     c.number("rope.scaling.yarn_beta_fast", 0, 0, 1e6),
		slow:     c.number("rope.scaling.yarn_beta_slow", 0, 0, 1e6),
	}
	if y.mscaleDims = c.number("rope.scaling.yarn_log_multiplier", 0, 0, 1e6); y.mscaleDims > 0 {
		y.mscale = 1
	}
	by := c.number("rope.scaling.attn_factor rope.scaling.yarn_attn_factor", 1, 0, 1e6)
	if *c.err != nil {
		return
	}
	if y.scale(r); by != 1 {
		r.Magnitude = float32(float64(cmp.Or(r.Magnitude, 1)) * by)
	}
}

// readFactors applies the factors of frequencies that the converter has computed: those of
// Llama 3, or the two lists of LongRoPE.
func readFactors(src *source, c *config, rotaries []transformer.Rotary) error {
	for i := range rotaries {
		r := &rotaries[i]
		factors, err := src.factors("rope_freqs.weight", len(r.Frequencies))
		if err != nil {
			return err
		}
		for j, f := range factors {
			r.Frequencies[j] /= f
		}
		if err := readLongRoPE(src, c, r); err != nil {
			return err
		}
	}
	return *c.err
}

// readLongRoPE reads LongRoPE's factors, if the file has them.
func readLongRoPE(src *source, c *config, r *transformer.Rotary) error {
	short, err := src.factors("rope_factors_short.weight", len(r.Frequencies))
	if err != nil {
		return err
	}
	long, err := src.factors("rope_factors_long.weight", len(r.Frequencies))
	if err != nil || short == nil && long == nil {
		return err
	}
	if short == nil || long == nil {
		return fmt.Errorf("checkpoint %s: one of the tensors rope_factors_short.weight and rope_factors_long.weight is missing", src.file.Name())
	}
	original := c.integer("rope.scaling.original_context_length context_length", 1, 1, maxContext) // MiniCPM3's files lack the first
	magnitude := c.number("rope.scaling.attn_factor", 1, 0, 1e6)
	theta := c.number("rope.freq_base", 10000, 1, 1e12)
	setLongRoPE(r, theta, short, long, original, magnitude)
	return nil
}

// factors returns a tensor of n positive factors; nil if the file does not have it.
func (s *source) factors(name string, n int) ([]float32, error) {
	if n == 0 || !s.has(name) {
		return nil, nil
	}
	out := make([]float32, n)
	span := s.vector(name, n)
	if s.err != nil {
		return nil, s.err
	}
	if err := span.rows(0, n).Read(out, 0); err != nil {
		return nil, err
	}
	for j, f := range out {
		if !(f > 0) {
			return nil, fmt.Errorf("checkpoint %s: tensor %q: factor %d is %v", s.file.Name(), name, j, f)
		}
	}
	return out, nil
}
