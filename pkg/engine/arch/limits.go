package arch

import (
	"fmt"

	"glossa/pkg/engine/transformer"
)

// Upper bounds of what a file may say. They are far above any model that fits a
// machine and keep every product of two dimensions within an int.
const (
	maxVocab   = 1 << 21
	maxContext = 1 << 24
	maxWidth   = 1 << 17
	maxFFN     = 1 << 20
	maxDepth   = 1000
	maxHeads   = 4096
	maxEnds    = 256
)

// checkStack refuses heads that do not fit together.
func checkStack(s *transformer.Stack) error {
	switch {
	case s.Heads < 1 || s.Heads > maxHeads:
		return fmt.Errorf("%d attention heads are not in 1..%d", s.Heads, maxHeads)
	case s.KVHeads < 1 || s.Heads%s.KVHeads != 0:
		return fmt.Errorf("%d key-value heads do not divide %d attention heads", s.KVHeads, s.Heads)
	case s.HeadDim < 1:
		return fmt.Errorf("attention heads of %d", s.HeadDim)
	case int64(s.Heads)*int64(s.HeadDim) > maxFFN:
		return fmt.Errorf("%d attention heads of %d are more than %d", s.Heads, s.HeadDim, maxFFN)
	case s.FFN < 1 || s.FFN > maxFFN:
		return fmt.Errorf("feed-forward width %d is not in 1..%d", s.FFN, maxFFN)
	}
	return nil
}

// checkSpec refuses what the tables could not.
func checkSpec(s *transformer.Spec) error {
	if err := checkStack(&s.Decoder); err != nil {
		return err
	}
	if s.Encoder.Depth > 0 {
		if err := checkStack(&s.Encoder); err != nil {
			return fmt.Errorf("encoder: %w", err)
		}
	}
	if s.Position != transformer.RotaryEmbedding {
		return nil
	}
	if d := s.Rotary.Dims; d < 2 || d%2 != 0 || d > s.Decoder.HeadDim {
		return fmt.Errorf("%d rotary dimensions of heads of %d: they must be even and from 2 to that", d, s.Decoder.HeadDim)
	}
	return nil
}
