package transformer

import (
	"fmt"
	"slices"
)

// The names of the numbered kinds, as packed files spell them.
var (
	positionNames  = []string{NoPosition: "none", Learned: "learned", Sinusoidal: "sinusoidal", SinusoidalFirst: "sinusoidal_first"}
	normNames      = []string{LayerNorm: "layer_norm", RMSNorm: "rms_norm", PlainLayerNorm: "plain_layer_norm", PlainRMSNorm: "plain_rms_norm"}
	placementNames = []string{PreNorm: "pre", PostNorm: "post", SandwichNorm: "sandwich", PostResidualNorm: "post_residual", NoNorm: "none"}
	qkNormNames    = []string{NoQKNorm: "none", QKNormHead: "head", QKNormEachHead: "each_head", QKNormAll: "all"}
	gatingNames    = []string{GateThenNorm: "gate_then_norm", NormThenGate: "norm_then_gate", GateAlone: "gate_alone"}
)

// MarshalText implements [encoding.TextMarshaler].
func (p Position) MarshalText() ([]byte, error) {
	return encodeName("position", positionNames, uint8(p))
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (p *Position) UnmarshalText(text []byte) error {
	return decodeName("position", positionNames, text, (*uint8)(p))
}

// MarshalText implements [encoding.TextMarshaler].
func (n NormKind) MarshalText() ([]byte, error) { return encodeName("norm", normNames, uint8(n)) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (n *NormKind) UnmarshalText(text []byte) error {
	return decodeName("norm", normNames, text, (*uint8)(n))
}

// MarshalText implements [encoding.TextMarshaler].
func (p Placement) MarshalText() ([]byte, error) {
	return encodeName("norms", placementNames, uint8(p))
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (p *Placement) UnmarshalText(text []byte) error {
	return decodeName("norms", placementNames, text, (*uint8)(p))
}

// MarshalText implements [encoding.TextMarshaler].
func (n QKNorm) MarshalText() ([]byte, error) { return encodeName("qk_norm", qkNormNames, uint8(n)) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (n *QKNorm) UnmarshalText(text []byte) error {
	return decodeName("qk_norm", qkNormNames, text, (*uint8)(n))
}

// MarshalText implements [encoding.TextMarshaler].
func (g Gating) MarshalText() ([]byte, error) { return encodeName("gating", gatingNames, uint8(g)) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (g *Gating) UnmarshalText(text []byte) error {
	return decodeName("gating", gatingNames, text, (*uint8)(g))
}

func encodeName(field string, names []string, v uint8) ([]byte, error) {
	if int(v) >= len(names) {
		return nil, fmt.Errorf("%s %d has no name", field, v)
	}
	return []byte(names[v]), nil
}

func decodeName(field string, names []string, text []byte, v *uint8) error {
	i := slices.Index(names, string(text))
	if i < 0 {
		return fmt.Errorf("%s: %.40q is not one of %q", field, text, names)
	}
	*v = uint8(i)
	return nil
}
