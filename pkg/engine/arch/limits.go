package arch

import (
	"fmt"
	"slices"

	"glossa/pkg/engine/transformer"
)

// Upper bounds of values in files. They are far above any model that fits a machine and
// keep every product of two dimensions within an int.
const (
	maxVocab   = 1 << 21
	maxContext = 1 << 24
	maxWidth   = 1 << 17
	maxFFN     = 1 << 20
	maxDepth   = 1000
	maxHeads   = 4096
	maxEnds    = 256
	maxExperts = 1 << 16 // of all layers together, and heads of latent or disentangled attention
	maxTaps    = 64
	maxStreams = 64
	maxStates  = 1 << 26 // of a layer: 256 MiB
)

// checkSpec rejects dimensions out of bounds and features that the transformer does not
// support.
func checkSpec(s *transformer.Spec) error {
	for _, n := range []struct {
		name            string
		value, low, max int
	}{
		{"vocab", s.Vocab, 0, maxVocab}, {"patch", s.Patch, 0, 3 * maxPatch * maxPatch}, {"mutual", s.Mutual, 0, maxContext}, {"context", s.Context, 1, maxContext}, {"width", s.Width, 1, maxWidth}, {"embed_width", s.EmbedWidth, 0, maxWidth},
		{"layer_inputs", s.LayerInputs, 0, maxFFN / max(1, len(s.Decoder))}, {"streams", s.Streams, 0, maxStreams}, {"laurel", s.Laurel, 0, maxWidth},
		{"token_types", s.TokenTypes, 0, maxHeads}, {"relative_buckets", s.RelativeBuckets, 0, maxHeads}, {"relative_distance", s.RelativeDistance, 0, maxContext},
		{"layers of the decoder", len(s.Decoder), 0, maxDepth}, {"layers of the encoder", len(s.Encoder), 0, maxDepth}, {"order of the encoder", len(s.Order), 0, maxDepth},
		{"kinds of layers", len(s.Kinds), 1, len(s.Decoder) + len(s.Encoder)}, {"rotary tables", len(s.Rotaries), 0, len(s.Kinds)},
	} {
		if n.value < n.low || n.value > n.max {
			return fmt.Errorf("%s: %d is not in %d..%d", n.name, n.value, n.low, n.max)
		}
	}
	for i := range s.Kinds {
		if err := checkKind(&s.Kinds[i]); err != nil {
			return fmt.Errorf("kinds[%d].%w", i, err)
		}
	}
	if err := s.Check(); err != nil {
		return err
	}
	experts, heads, distances := 0, 0, 0
	for _, kind := range append(slices.Clip(s.Decoder), s.Encoder...) {
		k := &s.Kinds[kind]
		if e := k.FeedForward.Experts; e != nil {
			experts += e.Count
		}
		if k.Attention.Disentangled != nil {
			distances += k.Attention.Heads
		}
		if k.Attention.Latent != nil {
			heads += k.Attention.Heads
		}
	}
	if experts > maxExperts {
		return fmt.Errorf("feed_forward.experts.count: %d experts in all layers, at most %d", experts, maxExperts)
	}
	if heads > maxExperts {
		return fmt.Errorf("attention.latent: %d heads in all layers, at most %d", heads, maxExperts)
	}
	if distances > maxExperts {
		return fmt.Errorf("attention.disentangled: %d heads in all layers, at most %d", distances, maxExperts)
	}
	return nil
}

// checkKind rejects dimensions of a layer that are out of bounds, so that their products
// fit an int.
func checkKind(k *transformer.Kind) error {
	if !k.Mixes() && k.FeedForward.Width > 0 {
		return checkFeedForward(&k.FeedForward)
	}
	if c := k.Convolution; c != nil {
		if c.Taps > maxTaps {
			return fmt.Errorf("convolution.taps: %d are more than %d", c.Taps, maxTaps)
		}
		return checkFeedForward(&k.FeedForward)
	}
	if d := k.Deltas; d != nil {
		if err := checkDeltas(d); err != nil {
			return err
		}
		return checkFeedForward(&k.FeedForward)
	}
	a, distances := &k.Attention, &transformer.Disentangled{Buckets: 1}
	if a.Disentangled != nil {
		distances = a.Disentangled
	}
	if s := k.States; s != nil {
		if err := checkStates(s); err != nil {
			return err
		}
		if a.Heads == 0 {
			return checkFeedForward(&k.FeedForward)
		}
	}
	for _, n := range []struct {
		name       string
		value, max int
	}{
		{"attention.heads", a.Heads, maxHeads}, {"attention.kv_heads", a.KVHeads, maxHeads}, {"attention.head_dim", a.HeadDim, maxFFN},
		{"attention.disentangled.buckets", distances.Buckets, maxDistance}, {"attention.disentangled.distance", max(distances.Distance, 1), maxDistance},
		{"attention.window", max(a.Window, 1), maxContext}, {"attention.chunk", max(a.Chunk, 1), maxContext},
	} {
		if n.value < 1 || n.value > n.max {
			return fmt.Errorf("%s: %d is not in 1..%d", n.name, n.value, n.max)
		}
	}
	if a.Heads*a.HeadDim > maxFFN {
		return fmt.Errorf("attention.heads: %d attention heads of %d are more than %d", a.Heads, a.HeadDim, maxFFN)
	}
	if l := a.Latent; l != nil && (max(l.QueryRank, l.KeyDim, l.Shared, l.ValueDim) > maxWidth || a.Heads*max(l.KeyDim+l.Shared, l.ValueDim) > maxFFN) {
		return fmt.Errorf("attention.latent: vectors of %d, %d, %d and %d for %d heads are too wide", l.QueryRank, l.KeyDim, l.Shared, l.ValueDim, a.Heads)
	}
	return checkFeedForward(&k.FeedForward)
}

// checkStates rejects dimensions of states that are out of bounds.
func checkStates(s *transformer.StateSpace) error {
	for _, n := range []struct {
		name       string
		value, max int
	}{
		{"heads", s.Heads, maxHeads}, {"head_dim", s.HeadDim, maxWidth}, {"size", s.Size, maxWidth}, {"groups", s.Groups, maxHeads}, {"taps", s.Taps, maxTaps}, {"step_rank", max(s.StepRank, 1), maxWidth},
	} {
		if n.value < 1 || n.value > n.max {
			return fmt.Errorf("states.%s: %d is not in 1..%d", n.name, n.value, n.max)
		}
	}
	if inner := s.Heads * s.HeadDim; inner > maxFFN || s.Groups*s.Size > maxFFN || inner*s.Size > maxStates {
		return fmt.Errorf("states: %d heads of %d with states of %d in %d groups are too many", s.Heads, s.HeadDim, s.Size, s.Groups)
	}
	return nil
}

// checkDeltas rejects dimensions of a delta rule that are out of bounds.
func checkDeltas(d *transformer.DeltaNet) error {
	for _, n := range []struct {
		name       string
		value, max int
	}{
		{"heads", d.Heads, maxHeads}, {"head_dim", d.HeadDim, maxWidth}, {"key_heads", d.KeyHeads, maxHeads}, {"key_dim", d.KeyDim, maxWidth}, {"taps", d.Taps, maxTaps},
	} {
		if n.value < 1 || n.value > n.max {
			return fmt.Errorf("deltas.%s: %d is not in 1..%d", n.name, n.value, n.max)
		}
	}
	if inner := d.Heads * d.HeadDim; inner > maxFFN || d.KeyHeads*d.KeyDim > maxFFN || inner*d.KeyDim > maxStates {
		return fmt.Errorf("deltas: %d heads of %d with keys of %d in %d heads are too many", d.Heads, d.HeadDim, d.KeyDim, d.KeyHeads)
	}
	return nil
}

func checkFeedForward(f *transformer.FeedForward) error {
	if f.Width < 0 || f.Width > maxFFN {
		return fmt.Errorf("feed_forward.width: %d is not in 0..%d", f.Width, maxFFN)
	}
	if e := f.Experts; e != nil && (e.Count > maxExperts || e.Shared > maxFFN) {
		return fmt.Errorf("feed_forward.experts: %d experts, or a shared one of %d, are too many", e.Count, e.Shared)
	}
	return nil
}
