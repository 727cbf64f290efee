package arch

import (
	"reflect"
	"slices"

	"glossa/pkg/engine/transformer"
)

// Types of layers in layer_types.
const (
	fullAttention    = "full_attention"
	slidingAttention = "sliding_attention"
)

// windowed reports for each layer of a stack whether it has a window: by layer_types, or,
// if that is absent, by the architecture's rule.
func (c *config) windowed(depth int, rule func(layer int) bool) []bool {
	windowed := make([]bool, depth)
	name, list, ok := read[[]string](c, "layer_types", "list of strings")
	if ok && len(list) < depth {
		c.reject(name, "%d types of %d layers", len(list), depth)
		return windowed
	}
	for i := range windowed {
		if !ok {
			windowed[i] = rule(i)
			continue
		}
		switch list[i] {
		case slidingAttention:
			windowed[i] = true
		case fullAttention, "attention":
		default:
			c.reject(name, "layer %d is of type %.40q; only %s and %s are supported", i, list[i], fullAttention, slidingAttention)
		}
	}
	return windowed
}

// everyLayer is the rule of architectures whose layers all have a window.
func everyLayer(int) bool { return true }

// eachLayer changes the description of every layer of the decoder, or of the encoder of a
// model without one. Equal descriptions become one kind.
func eachLayer(s *transformer.Spec, change func(layer int, k *transformer.Kind)) {
	before, stack := s.Kinds, s.Decoder
	if len(stack) == 0 {
		stack = s.Encoder
	}
	s.Kinds = nil
	for i, kind := range stack {
		k := before[kind]
		change(i, &k)
		stack[i] = addKind(s, k)
	}
}

// addKind returns the index of a kind, which it adds if no kind equals it.
func addKind(s *transformer.Spec, k transformer.Kind) int {
	for i := range s.Kinds {
		if reflect.DeepEqual(s.Kinds[i], k) {
			return i
		}
	}
	s.Kinds = append(s.Kinds, k)
	return len(s.Kinds) - 1
}

// setWindows gives layers the window of the configuration.
func setWindows(c *config, s *transformer.Spec, windowed []bool, window field) {
	size := c.integer(window.names, window.absent, 0, maxContext)
	if *c.err != nil || size >= s.Context {
		return // a window of the whole context is none
	}
	eachLayer(s, func(layer int, k *transformer.Kind) {
		if !windowed[layer] {
			return
		}
		if k.Attention.Window = size; size == 0 {
			c.reject(window.names, "missing: layer %d is of type %s", layer, slidingAttention)
		}
	})
}

// replaced reports for each layer whether something other than attention mixes its tokens: by a list of
// types, each one of mixers or of attentions, or, if it is absent, as absent returns it for a number of
// layers.
func (c *config) replaced(names string, depth int, mixers, attentions []string, absent func(depth int) []bool) []bool {
	name, types, ok := read[[]string](c, names, "list of strings")
	if !ok {
		return absent(depth)
	}
	replaced := make([]bool, depth)
	if len(types) < depth {
		c.reject(name, "%d types of %d layers", len(types), depth)
		return replaced
	}
	for i := range replaced {
		if replaced[i] = slices.Contains(mixers, types[i]); !replaced[i] && !slices.Contains(attentions, types[i]) {
			c.reject(name, "layer %d is of type %.40q; only %s and %s are supported", i, types[i], mixers[0], attentions[0])
		}
	}
	return replaced
}

// replaceAttention has set say what mixes the tokens of some layers instead of attention. If no layer
// has attention, no table of rotary embeddings is left.
func replaceAttention(s *transformer.Spec, replaced []bool, set func(k *transformer.Kind)) {
	eachLayer(s, func(layer int, k *transformer.Kind) {
		if replaced[layer] {
			k.Attention = transformer.Attention{}
			set(k)
		}
	})
	if !slices.Contains(replaced, false) {
		s.Rotaries = nil
	}
}
