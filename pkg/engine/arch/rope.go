package arch

import (
	"math"

	"glossa/pkg/engine/transformer"
)

// A rope is how a configuration describes the rotary embedding of heads of dim dimensions.
type rope struct {
	dim        int
	base, part real   // the base and the rotated share of a head: names outside of rope_parameters, and defaults
	layers     string // type of layers whose embedding it is; "": all have the same
}

// read reads a rotary embedding: rope_parameters, as transformers writes it since version
// 5, or the earlier rope_theta and rope_scaling. If rope_parameters has one object for each
// type of layers, it is that of r.layers.
func (r rope) read(c *config) transformer.Rotary {
	return r.readFrom(c, r.scaling(c))
}

// scaling returns the object that describes the embedding; nil if there is none.
func (r rope) scaling(c *config) *config {
	scaling := c.object("rope_parameters")
	if scaling == nil || len(scaling.fields) == 0 {
		scaling = c.object("rope_scaling")
	}
	if scaling == nil || !scaling.nested() {
		return scaling
	}
	if r.layers == "" {
		for name, raw := range scaling.fields {
			if raw[0] == '{' {
				scaling.reject(name, "one rotary embedding for some layers and another for others is not supported in this architecture")
			}
		}
		return nil
	}
	return scaling.object(r.layers)
}

// nested reports whether the members of an object are objects.
func (c *config) nested() bool {
	for _, raw := range c.fields {
		if raw[0] == '{' {
			return true
		}
	}
	return false
}

// readFrom reads a rotary embedding with the settings of an object, which may be nil.
func (r rope) readFrom(c, scaling *config) transformer.Rotary {
	theta := c.number(r.base.names, r.base.absent, 1, 1e12)
	factor := c.number(r.part.names, r.part.absent, 0, 1)
	kind := "default"
	if scaling != nil {
		theta = scaling.number("rope_theta", theta, 1, 1e12)
		factor = scaling.number("partial_rotary_factor", factor, 0, 1)
		kind = scaling.text("rope_type type", kind)
	}
	out := transformer.Rotary{Dims: int(float64(r.dim) * factor)}
	if out.Dims < 2 || out.Dims%2 != 0 {
		c.reject("rotary dimensions", "%v of heads of %d are %d, which is not even and at least 2", factor, r.dim, out.Dims)
	}
	if *c.err != nil {
		return transformer.Rotary{}
	}
	out.Frequencies = transformer.Frequencies(theta, out.Dims)
	switch kind {
	case "default", "dynamic", "mrope": // mrope is that of places, see [family.sectioned]; dynamic changes frequencies only beyond the context
	case "linear":
		by := float32(scaling.number("factor", math.NaN(), 1e-3, 1e6))
		scaling.needs("factor")
		for j := range out.Frequencies {
			out.Frequencies[j] /= by
		}
	case "llama3":
		scaling.needs("factor", "low_freq_factor", "high_freq_factor")
		scaleLlama3(c, scaling, out.Frequencies)
	case "yarn":
		scaleYaRN(c, scaling, theta, &out)
	case "longrope", "su":
		scaleLongRoPE(c, scaling, theta, &out)
	default:
		name, _ := scaling.find("rope_type type")
		scaling.reject(name, "%.40q is not supported, only default, dynamic, linear, llama3, longrope and yarn", kind)
	}
	return out
}

// needs rejects an object without the members.
func (c *config) needs(names ...string) {
	for _, name := range names {
		if !c.has(name) {
			c.reject(name, "missing")
		}
	}
}

// originalContext returns the context that a model had before its rotary embedding was
// scaled.
func originalContext(c, scaling *config) int {
	context := c.integer("max_position_embeddings", 2048, 1, maxContext)
	original := scaling.integer("original_max_position_embeddings", context, 1, maxContext)
	return c.integer("original_max_position_embeddings", original, 1, maxContext)
}

// scaleLlama3 divides low frequencies by a factor, keeps high ones and interpolates
// between them (transformers, modeling_rope_utils; Llama 3.1).
func scaleLlama3(c, scaling *config, f []float32) {
	factor := scaling.number("factor", 1, 1e-3, 1e6)
	low := scaling.number("low_freq_factor", 1, 1e-6, 1e6)
	high := scaling.number("high_freq_factor", 4, 1e-6, 1e6)
	original := originalContext(c, scaling)
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

// A yarn has the parameters of Peng et al. 2023 (YaRN).
type yarn struct {
	theta, factor      float64
	fast, slow         float64 // rotations within the original context: above fast frequencies are kept, below slow divided
	original           int     // context
	round              bool    // the bounds to whole dimensions
	magnitude          float64 // 0: by factor
	mscale, mscaleDims float64
}

// scaleYaRN reads and applies YaRN (transformers, modeling_rope_utils).
func scaleYaRN(c, scaling *config, theta float64, r *transformer.Rotary) {
	scaling.needs("factor")
	y := yarn{
		theta: theta, original: originalContext(c, scaling),
		factor:    scaling.number("factor", 0, 0, 1e6),
		fast:      scaling.number("beta_fast", 0, 0, 1e6),
		slow:      scaling.number("beta_slow", 0, 0, 1e6),
		round:     scaling.flag("truncate", true),
		magnitude: scaling.number("attention_factor", 0, 0, 1e6),
		mscale:    scaling.number("mscale", 0, 0, 1e6), mscaleDims: scaling.number("mscale_all_dim", 0, 0, 1e6),
	}
	if *c.err == nil {
		y.scale(r)
	}
}

// scale changes a table of frequencies, and its magnitude.
func (y *yarn) scale(r *transformer.Rotary) {
	if y.fast == 0 {
		y.fast = 32
	}
	if y.slow == 0 {
		y.slow = 1
	}
	dim := func(rotations float64) float64 {
		return float64(r.Dims) * math.Log(float64(y.original)/(rotations*2*math.Pi)) / (2 * math.Log(y.theta))
	}
	low, high := dim(y.fast), dim(y.slow)
	if y.round {
		low, high = math.Floor(low), math.Ceil(high)
	}
	low, high = max(low, 0), min(high, float64(r.Dims-1))
	if low == high {
		high += 0.001
	}
	for j, v := range r.Frequencies {
		ramp := min(max((float32(j)-float32(low))/float32(high-low), 0), 1)
		divided := 1 / (float32(y.factor) * (1 / v))
		r.Frequencies[j] = float32(divided*ramp) + float32(v*(1-ramp))
	}
	grow := func(by float64) float64 {
		if y.factor <= 1 {
			return 1
		}
		return 0.1*by*math.Log(y.factor) + 1
	}
	switch {
	case y.magnitude != 0:
	case y.mscale != 0 && y.mscaleDims != 0:
		y.magnitude = grow(y.mscale) / grow(y.mscaleDims)
	default:
		y.magnitude = grow(1)
	}
	if y.magnitude != 1 {
		r.Magnitude = float32(y.magnitude)
	}
}

// scaleLongRoPE reads LongRoPE (Ding et al. 2024): factors of each frequency, one list for
// sequences within the original context, one for longer ones.
func scaleLongRoPE(c, scaling *config, theta float64, r *transformer.Rotary) {
	scaling.needs("short_factor", "long_factor")
	original, context := originalContext(c, scaling), c.integer("max_position_embeddings", 2048, 1, maxContext)
	factor := scaling.number("factor", float64(context)/float64(original), 0, 1e6)
	if c.has("original_max_position_embeddings") { // Phi-3: the ratio takes precedence
		factor = float64(context) / float64(original)
	}
	short, long := scaling.reals("short_factor", r.Dims/2), scaling.reals("long_factor", r.Dims/2)
	magnitude := 1.0
	if factor > 1 {
		magnitude = math.Sqrt(1 + math.Log(factor)/math.Log(float64(original)))
	}
	magnitude = scaling.number("attention_factor", magnitude, 0, 1e6)
	if *c.err != nil {
		return
	}
	setLongRoPE(r, theta, short, long, original, magnitude)
}

// setLongRoPE makes the two tables of a rotary embedding.
func setLongRoPE(r *transformer.Rotary, theta float64, short, long []float32, original int, magnitude float64) {
	table := func(factors []float32) []float32 {
		f := make([]float32, len(factors))
		for j, by := range factors {
			exponent := float32(2*j) / float32(r.Dims)
			f[j] = 1 / (by * float32(math.Pow(theta, float64(exponent))))
		}
		return f
	}
	r.Frequencies, r.Long, r.Original = table(short), table(long), original
	if magnitude != 1 {
		r.Magnitude = float32(magnitude)
	}
}

// reals returns a list of n positive numbers.
func (c *config) reals(names string, n int) []float32 {
	name, list, ok := read[[]float64](c, names, "list of numbers")
	if !ok {
		return nil
	}
	if len(list) != n {
		c.reject(name, "%d numbers where the rotary embedding has %d frequencies", len(list), n)
		return nil
	}
	out := make([]float32, n)
	for i, v := range list {
		if !(v > 0) || v > 1e9 {
			c.reject(name, "%v is not a positive number", v)
			return nil
		}
		out[i] = float32(v)
	}
	return out
}
