package transformer

import (
	"fmt"
	"slices"
)

// The names of the numbered kinds, as packed files spell them.
var (
	positionNames = []string{Learned: "learned", Sinusoidal: "sinusoidal", RotaryEmbedding: "rotary"}
	normNames     = []string{LayerNorm: "layer_norm", RMSNorm: "rms_norm"}
)

// MarshalText implements [encoding.TextMarshaler].
func (p Position) MarshalText() ([]byte, error) { return nameOf("position", positionNames, uint8(p)) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (p *Position) UnmarshalText(text []byte) error {
	return named("position", positionNames, text, (*uint8)(p))
}

// MarshalText implements [encoding.TextMarshaler].
func (n NormKind) MarshalText() ([]byte, error) { return nameOf("norm", normNames, uint8(n)) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (n *NormKind) UnmarshalText(text []byte) error {
	return named("norm", normNames, text, (*uint8)(n))
}

func nameOf(what string, names []string, v uint8) ([]byte, error) {
	if int(v) >= len(names) {
		return nil, fmt.Errorf("%s %d has no name", what, v)
	}
	return []byte(names[v]), nil
}

func named(what string, names []string, text []byte, v *uint8) error {
	i := slices.Index(names, string(text))
	if i < 0 {
		return fmt.Errorf("%s: %.40q is none of %q", what, text, names)
	}
	*v = uint8(i)
	return nil
}
