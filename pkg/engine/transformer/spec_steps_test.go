package transformer_test

import (
	"math"
	"strings"
	"testing"

	"glossa/pkg/engine/transformer"
)

// Descriptions of states whose inputs have steps of their own that cannot be computed are refused as well.
func TestSpecRefusesSteps(t *testing.T) {
	for want, change := range map[string]func(s *transformer.StateSpace){
		"kinds[0].states.step_rank: -1":                             func(s *transformer.StateSpace) { s.StepRank = -1 },
		"kinds[0].states.step_rank: there are several heads":        func(s *transformer.StateSpace) { s.Heads = 2 },
		"kinds[0].states.step_rank: there are several heads, norms": func(s *transformer.StateSpace) { s.Gating = transformer.NormThenGate },
		"kinds[0].states.step_eps: NaN":                             func(s *transformer.StateSpace) { s.StepEps = float32(math.NaN()) },
		"kinds[0].states.step_eps: there is no step_rank":           func(s *transformer.StateSpace) { s.StepRank, s.StepEps = 0, 0.1 },
	} {
		s := rich()
		k := &s.Kinds[0]
		k.Attention.Norms, k.States = transformer.PreNorm, &transformer.StateSpace{Heads: 1, HeadDim: 1, Size: 1, Groups: 1, Taps: 1, Gating: transformer.GateAlone, StepRank: 1}
		if change(k.States); s.Check() == nil || !strings.Contains(s.Check().Error(), want) {
			t.Errorf("%v, want %q", s.Check(), want)
		}
	}
}
