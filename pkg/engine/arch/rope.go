package arch

import (
	"math"

	"glossa/pkg/engine/transformer"
)

// rotary reads the rotary embedding of heads of dim dimensions: rope_parameters, as
// transformers writes it since version 5, or the earlier rope_theta and rope_scaling.
// base and part are the defaults of the base and of the rotated share of a head, and
// their names outside of rope_parameters.
func rotary(c *config, dim int, base, part real) transformer.Rotary {
	scaling := c.object("rope_parameters")
	if scaling == nil || len(scaling.fields) == 0 {
		scaling = c.object("rope_scaling")
	}
	theta := c.number(base.names, base.absent, 1, 1e12)
	factor := c.number(part.names, part.absent, 0, 1)
	kind := "default"
	if scaling != nil {
		for name, raw := range scaling.fields {
			if raw[0] == '{' {
				scaling.reject(name, "one rotary embedding for some layers and another for others is not supported")
			}
		}
		theta = scaling.number("rope_theta", theta, 1, 1e12)
		factor = scaling.number("partial_rotary_factor", factor, 0, 1)
		kind = scaling.text("rope_type type", kind)
	}
	r := transformer.Rotary{Dims: int(float64(dim) * factor)}
	if r.Dims < 2 || r.Dims%2 != 0 {
		c.reject("rotary dimensions", "%v of heads of %d are %d, which is not even and at least 2", factor, dim, r.Dims)
	}
	if *c.err != nil {
		return transformer.Rotary{}
	}
	r.Frequencies = transformer.Frequencies(theta, r.Dims)
	switch kind {
	case "default":
	case "linear":
		by := float32(scaling.number("factor", math.NaN(), 1e-3, 1e6))
		scaling.needs("factor")
		for j := range r.Frequencies {
			r.Frequencies[j] /= by
		}
	case "llama3":
		scaling.needs("factor", "low_freq_factor", "high_freq_factor")
		scaleLlama3(c, scaling, r.Frequencies)
	default:
		name, _ := scaling.find("rope_type type")
		scaling.reject(name, "%.40q is not supported, only default, linear and llama3", kind)
	}
	return r
}

// needs rejects an object without the members.
func (c *config) needs(names ...string) {
	for _, name := range names {
		if !c.has(name) {
			c.reject(name, "missing")
		}
	}
}

// scaleLlama3 divides low frequencies by a factor, keeps high ones and interpolates
// between them (transformers, modeling_rope_utils; Llama 3.1).
func scaleLlama3(c, scaling *config, f []float32) {
	factor := scaling.number("factor", 1, 1e-3, 1e6)
	low := scaling.number("low_freq_factor", 1, 1e-6, 1e6)
	high := scaling.number("high_freq_factor", 4, 1e-6, 1e6)
	context := c.integer("max_position_embeddings", 2048, 1, maxContext)
	original := scaling.integer("original_max_position_embeddings", context, 1, maxContext)
	original = c.integer("original_max_position_embeddings", original, 1, maxContext)
	if low >= high {
		scaling.reject("low_freq_factor", "%v is not below high_freq_factor, %v", low, high)
		return
	}
	for j, v := range f {
		length := float32(2*math.Pi) / v // tokens of a rotation
		switch {
		case length > float32(float64(original)/low):
			f[j] = v / float32(factor)
		case length >= float32(float64(original)/high):
			s := (float32(original)/length - float32(low)) / float32(high-low)
			f[j] = float32((1-s)*v/float32(factor)) + float32(s*v)
		}
	}
}
