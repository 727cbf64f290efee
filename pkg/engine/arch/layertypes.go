package arch

import (
	"reflect"

	"glossa/pkg/engine/transformer"
)

// Types of layers in layer_types.
const (
	fullAttention    = "full_attention"
	slidingAttention = "sliding_attention"
)

// layerTypes returns the types of the decoder's layers: layer_types, or, if that is absent,
// what each of them is by default.
func (c *config) layerTypes(depth int, absent func(layer int) string) []string {
	name, list, ok := read[[]string](c, "layer_types", "list of strings")
	if !ok {
		list = make([]string, depth)
		for i := range list {
			list[i] = absent(i)
		}
		return list
	}
	if len(list) < depth {
		c.reject(name, "%d types of %d layers", len(list), depth)
		return make([]string, depth)
	}
	for i, t := range list[:depth] {
		switch t {
		case fullAttention, slidingAttention:
		case "attention":
			list[i] = fullAttention
		default:
			c.reject(name, "layer %d is of type %.40q; only %s and %s are supported", i, t, fullAttention, slidingAttention)
		}
	}
	return list[:depth]
}

// sliding returns a function that says sliding_attention of every layer if so is true.
func sliding(so bool) func(int) string {
	return func(int) string {
		if so {
			return slidingAttention
		}
		return fullAttention
	}
}

// eachLayer changes the description of every layer of the decoder. Equal descriptions become
// one kind.
func eachLayer(s *transformer.Spec, change func(layer int, k *transformer.Kind)) {
	before := s.Kinds
	s.Kinds = nil
	for i, kind := range s.Decoder {
		k := before[kind]
		change(i, &k)
		s.Decoder[i] = addKind(s, k)
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

// setWindows gives the layers of type sliding_attention the window of the configuration.
func setWindows(c *config, s *transformer.Spec, types []string, window field) {
	size := c.integer(window.names, window.absent, 0, maxContext)
	if *c.err != nil || size >= s.Context {
		return // a window of the whole context is none
	}
	eachLayer(s, func(layer int, k *transformer.Kind) {
		if types[layer] != slidingAttention {
			return
		}
		if k.Attention.Window = size; size == 0 {
			c.reject(window.names, "missing: layer %d is of type %s", layer, slidingAttention)
		}
	})
}
