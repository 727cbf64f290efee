package transformer

import (
	"fmt"
	"math"
	"reflect"
	"slices"
)

// Check refuses a description that cannot be computed. The error names the field as packed
// files spell it. Check trusts no number, but sets no upper bounds.
func (s *Spec) Check() error {
	layers, inputs := len(s.Decoder)+len(s.Encoder), s.Vocab
	if s.Patch != 0 {
		inputs = s.Patch
	}
	if inputs < 1 || s.Context < 1 || s.Width < 1 || layers < 1 {
		return fmt.Errorf("a model of %d tokens, %d positions, width %d and %d layers", inputs, s.Context, s.Width, layers)
	}
	switch {
	case s.Patch != 0 && (s.Vocab != 0 || len(s.Decoder) > 0 || s.MaskedHead || s.TokenTypes != 0):
		return fmt.Errorf("patch: there are tokens, or types of them, or a decoder")
	case s.Class && s.Patch == 0:
		return fmt.Errorf("class: there are no patches")
	case s.Mutual != 0 && (s.Mutual < 0 || len(s.Encoder) > 0):
		return fmt.Errorf("mutual: %d is negative, or there is an encoder", s.Mutual)
	case s.MaskedHead && len(s.Decoder) > 0:
		return fmt.Errorf("masked_head: there is a decoder")
	case s.DecoderInput && (len(s.Encoder) == 0 || len(s.Decoder) == 0 || s.Position != Learned && !s.EmbedNorm):
		return fmt.Errorf("decoder_input: there is only one stack, or neither learned positions nor a norm of embeddings")
	case s.LayerInputs < 0 || (s.LayerInputs > 0 || s.LayerScale) && len(s.Encoder) > 0 || s.LayerInputs > 0 && s.Mutual > 0:
		return fmt.Errorf("layer_inputs: %d is negative, or there is an encoder, or inputs see each other", s.LayerInputs)
	case !s.ordered():
		return fmt.Errorf("order: there is a decoder, or it lacks a layer, or has one of more than %d", len(s.Encoder))
	case s.EmbedWidth < 0 || s.EmbedWidth > 0 && len(s.Encoder) > 0 && (len(s.Decoder) > 0 || s.MaskedHead || s.Patch > 0):
		return fmt.Errorf("embed_width: %d is negative, or there is an encoder with a decoder, a head or patches", s.EmbedWidth)
	case int(s.Position) >= len(positionNames):
		return fmt.Errorf("position %d is unknown", s.Position)
	case int(s.Norm) >= len(normNames):
		return fmt.Errorf("norm %d is unknown", s.Norm)
	case !(s.Eps >= 0 && s.Eps <= 1):
		return fmt.Errorf("eps: %v is not in 0..1", s.Eps)
	}
	for _, f := range []factor{
		{"embed_scale", s.EmbedScale, true}, {"residual_scale", s.ResidualScale, true}, {"logit_scale", s.LogitScale, true},
		{"logit_soft_cap", s.LogitSoftCap, false},
	} {
		if err := f.check(); err != nil {
			return err
		}
	}
	if err := s.checkUses(); err != nil {
		return err
	}
	if err := s.checkTables(); err != nil {
		return err
	}
	if _, err := s.headActivation(); err != nil {
		return fmt.Errorf("head_activation: %w", err)
	}
	if err := s.checkStreams(); err != nil {
		return err
	}
	if err := s.checkDeep(); err != nil {
		return err
	}
	original := 0
	for i := range s.Rotaries {
		r := &s.Rotaries[i]
		if err := r.check(); err != nil {
			return fmt.Errorf("rotaries[%d].%w", i, err)
		}
		if err := s.checkAxes(r); err != nil {
			return fmt.Errorf("rotaries[%d].%w", i, err)
		}
		if r.Original > 0 && original > 0 && r.Original != original {
			return fmt.Errorf("rotaries[%d].original: %d, and %d in another table", i, r.Original, original)
		}
		original = max(original, r.Original)
	}
	for i := range s.Kinds {
		if err := s.Kinds[i].check(s); err != nil {
			return fmt.Errorf("kinds[%d].%w", i, err)
		}
	}
	if !slices.ContainsFunc(s.Kinds, func(k Kind) bool { return k.Mixes() }) {
		return fmt.Errorf("kinds: no layer mixes tokens")
	}
	return nil
}

// checkUses refuses layers without a kind, and unused kinds and tables, which could be many.
func (s *Spec) checkUses() error {
	kinds, rotaries := make([]bool, len(s.Kinds)), make([]bool, len(s.Rotaries))
	for _, stack := range []struct {
		name    string
		layers  []int
		encoder bool
	}{{"decoder", s.Decoder, false}, {"encoder", s.Encoder, true}} {
		for i, kind := range stack.layers {
			if kind < 0 || kind >= len(kinds) {
				return fmt.Errorf("%s[%d]: kind %d of %d", stack.name, i, kind, len(kinds))
			}
			k := &s.Kinds[kind]
			switch kinds[kind] = true; {
			case s.Mutual > 0 && (k.Attention.Chunk > 0 || len(k.Attention.Slopes) > 0 || k.Attention.HeadDim == 0 || k.States != nil):
				return fmt.Errorf("%s[%d]: kinds[%d] mixes tokens in a way in which none see each other", stack.name, i, kind)
			case (k.Convolution != nil || k.States != nil || k.Deltas != nil) && len(s.Encoder) > 0:
				return fmt.Errorf("%s[%d]: kinds[%d].convolution, states and deltas are for models without an encoder only", stack.name, i, kind)
			case !k.Mixes() && len(s.Encoder) > 0:
				return fmt.Errorf("%s[%d]: kinds[%d] mixes no tokens, which is for models without an encoder only", stack.name, i, kind)
			case k.Attention.Gated && len(s.Encoder) > 0:
				return fmt.Errorf("%s[%d]: kinds[%d].attention.gated is for models without an encoder only", stack.name, i, kind)
			case k.Attention.Latent != nil && len(s.Encoder) > 0:
				return fmt.Errorf("%s[%d]: kinds[%d].attention.latent is for models without an encoder only", stack.name, i, kind)
			case s.LayerInputs > 0 && !k.FeedForward.Gated:
				return fmt.Errorf("%s[%d]: kinds[%d].feed_forward.gated: inputs of layers need a gated block", stack.name, i, kind)
			case k.Attention.KVLayer != 0 && !s.readsKV(i):
				return fmt.Errorf("%s[%d]: kinds[%d].attention.kv_layer: there is an encoder, or layer %d is not an earlier one with keys and values like these", stack.name, i, kind, k.Attention.KVLayer)
			case stack.encoder && len(k.Attention.Slopes) > 0 && (len(s.Decoder) > 0 || s.RelativeBuckets > 0 || k.Attention.Disentangled != nil):
				return fmt.Errorf("%s[%d]: kinds[%d].attention.slopes: there is a decoder, or there are biases by distance too", stack.name, i, kind)
			case stack.encoder && k.Attention.Chunk > 0:
				return fmt.Errorf("%s[%d]: kinds[%d].attention.chunk is for decoders only", stack.name, i, kind)
			case len(s.Encoder) > 0 && k.Parallel:
				return fmt.Errorf("%s[%d]: kinds[%d].parallel is for models without an encoder only", stack.name, i, kind)
			}
			switch table := k.Attention.Rotary; {
			case table < 0 || table > len(rotaries):
				return fmt.Errorf("kinds[%d].attention.rotary: table %d of %d", kind, table, len(rotaries))
			case table > 0:
				rotaries[table-1] = true
			}
		}
	}
	for i, used := range kinds {
		if !used {
			return fmt.Errorf("kinds[%d]: no layer is of this kind", i)
		}
	}
	for i, used := range rotaries {
		if !used {
			return fmt.Errorf("rotaries[%d]: no kind of layer uses this table", i)
		}
	}
	return nil
}

// ordered reports whether Order has all layers of an encoder alone, or is empty.
func (s *Spec) ordered() bool {
	seen := make([]bool, len(s.Encoder))
	for _, i := range s.Order {
		if i < 0 || i >= len(seen) {
			return false
		}
		seen[i] = true
	}
	return len(s.Order) == 0 || len(s.Decoder) == 0 && !slices.Contains(seen, false)
}

// readsKV reports whether layer i of the decoder can read the keys and values of another, which is
// before it.
func (s *Spec) readsKV(i int) bool {
	a := &s.Kinds[s.Decoder[i]].Attention
	if a.KVLayer < 1 || a.KVLayer > i || len(s.Encoder) > 0 {
		return false
	}
	from := &s.Kinds[s.Decoder[a.KVLayer-1]].Attention
	return from.KVLayer == 0 && from.Latent == nil && from.KVHeads == a.KVHeads && from.HeadDim == a.HeadDim
}

// checkTables refuses tables of encoders that cannot be used.
func (s *Spec) checkTables() error {
	switch {
	case s.TokenTypes < 0 || s.TokenTypes > 0 && len(s.Decoder) > 0:
		return fmt.Errorf("token_types: %d is negative, or there is a decoder", s.TokenTypes)
	case s.RelativeBuckets == 0 && s.RelativeDistance == 0 && !s.RelativeLayers:
		return nil
	case s.RelativeBuckets < 4 || s.RelativeBuckets%4 != 0 || len(s.Encoder) == 0:
		return fmt.Errorf("relative_buckets: %d is not a positive multiple of 4, or there is no encoder", s.RelativeBuckets)
	case s.RelativeDistance <= s.RelativeBuckets/2:
		return fmt.Errorf("relative_distance: %d is not greater than %d, half of the buckets", s.RelativeDistance, s.RelativeBuckets/2)
	}
	for _, stack := range []struct {
		name  string
		kinds []int
	}{{"encoder", s.Encoder}, {"decoder", s.Decoder}} {
		for i, kind := range stack.kinds {
			if first := stack.kinds[0]; s.Kinds[kind].Attention.Heads != s.Kinds[first].Attention.Heads {
				return fmt.Errorf("%s[%d]: %d heads share the relative biases of %d", stack.name, i, s.Kinds[kind].Attention.Heads, s.Kinds[first].Attention.Heads)
			}
		}
	}
	return nil
}

func (r *Rotary) check() error {
	if r.Dims < 2 || r.Dims != 2*len(r.Frequencies) {
		return fmt.Errorf("dims: %d rotary dimensions with %d frequencies", r.Dims, len(r.Frequencies))
	}
	if r.Original < 0 || r.Original > 0 != (len(r.Long) > 0) || r.Original > 0 && len(r.Long) != len(r.Frequencies) {
		return fmt.Errorf("long: %d frequencies beyond %d tokens, where there are %d", len(r.Long), r.Original, len(r.Frequencies))
	}
	return factor{"magnitude", r.Magnitude, false}.check()
}

func (k *Kind) check(s *Spec) error {
	f := &k.FeedForward
	if err := k.checkMixer(s); err != nil {
		return err
	}
	if reflect.ValueOf(*f).IsZero() && !k.Parallel {
		return nil
	}
	switch {
	case f.Width < 1:
		return fmt.Errorf("feed_forward.width: %d is not positive", f.Width)
	case int(f.Norms) >= len(placementNames):
		return fmt.Errorf("feed_forward.norms: %d is unknown", f.Norms)
	case k.SharedNorm && (!k.Parallel || k.mixerNorms() != PreNorm):
		return fmt.Errorf("shared_norm: the branches are not parallel behind one norm")
	case k.Parallel && (k.mixerNorms().After() || f.Norms.After()):
		return fmt.Errorf("parallel: there is a norm behind a branch")
	}
	act, err := newActivation(f)
	if err != nil {
		return fmt.Errorf("feed_forward.activation: %w", err)
	}
	for _, f := range []factor{{"limit", f.Limit, false}, {"gate_scale", f.GateScale, false}, {"out_scale", f.OutScale, false}} {
		if err := f.check(); err != nil {
			return fmt.Errorf("feed_forward.%w", err)
		}
	}
	switch {
	case f.Limit > 0 && !f.Gated:
		return fmt.Errorf("feed_forward.limit: there is no gate")
	case f.GateScale > 0 && !f.Gated:
		return fmt.Errorf("feed_forward.gate_scale: there is no gate")
	case f.Experts != nil && act.learned > 0:
		return fmt.Errorf("feed_forward.activation: %q has parameters, and there are experts", f.Activation)
	case f.Experts != nil && (f.GateScale > 0 || f.OutScale > 0):
		return fmt.Errorf("feed_forward.out_scale: there are experts")
	}
	if err := f.checkSparsity(); err != nil {
		return fmt.Errorf("feed_forward.%w", err)
	}
	if k.Parallel && f.Sparsity > 0 {
		return fmt.Errorf("parallel: the gate is cut off")
	}
	if err := f.checkExperts(); err != nil {
		return fmt.Errorf("feed_forward.experts.%w", err)
	}
	if f.Experts != nil && k.Parallel {
		return fmt.Errorf("parallel: there are experts")
	}
	return nil
}

// checkMixer refuses a kind whose tokens are not mixed in one way, or by attention and states. A
// feed-forward block can be alone.
func (k *Kind) checkMixer(s *Spec) error {
	c, states, deltas, attention := k.Convolution, k.States, k.Deltas, !reflect.ValueOf(k.Attention).IsZero()
	if attention || !k.Mixes() && !k.feeds() {
		if err := k.Attention.check(s); err != nil {
			return fmt.Errorf("attention.%w", err)
		}
	}
	switch {
	case c != nil && (attention || states != nil || deltas != nil):
		return fmt.Errorf("convolution: there is attention too, or states, or deltas")
	case deltas != nil && (attention || states != nil):
		return fmt.Errorf("deltas: there is attention too, or states")
	case k.Parallel && (!attention || states != nil):
		return fmt.Errorf("parallel: there is not attention alone")
	case k.Attention.Latent != nil && (k.Parallel || states != nil):
		return fmt.Errorf("attention.latent: there are states too, or a parallel branch")
	case states != nil && attention && (states.Norms != PreNorm || k.Attention.Norms != PreNorm):
		return fmt.Errorf("states.norms: they and attention are not behind one norm")
	case states != nil:
		return states.check()
	case deltas != nil:
		return deltas.check()
	case c == nil:
		return nil
	case int(c.Norms) >= len(placementNames):
		return fmt.Errorf("convolution.norms: %d is unknown", c.Norms)
	case c.Taps < 1:
		return fmt.Errorf("convolution.taps: %d is not positive", c.Taps)
	}
	return nil
}

func (s *StateSpace) check() error {
	switch {
	case int(s.Norms) >= len(placementNames):
		return fmt.Errorf("states.norms: %d is unknown", s.Norms)
	case min(s.Heads, s.HeadDim, s.Size, s.Groups, s.Taps) < 1:
		return fmt.Errorf("states: %d heads of %d, states of %d, %d groups and %d taps: all must be positive", s.Heads, s.HeadDim, s.Size, s.Groups, s.Taps)
	case s.Heads%s.Groups != 0:
		return fmt.Errorf("states.groups: %d do not divide %d heads", s.Groups, s.Heads)
	case int(s.Gating) >= len(gatingNames):
		return fmt.Errorf("states.gating: %d is unknown", s.Gating)
	}
	for _, f := range []factor{{"gate_scale", s.GateScale, false}, {"step_scale", s.StepScale, false}, {"out_scale", s.OutScale, false}} {
		if err := f.check(); err != nil {
			return fmt.Errorf("states.%w", err)
		}
	}
	return s.checkSteps()
}

func (d *DeltaNet) check() error {
	switch {
	case int(d.Norms) >= len(placementNames):
		return fmt.Errorf("deltas.norms: %d is unknown", d.Norms)
	case min(d.Heads, d.HeadDim, d.KeyHeads, d.KeyDim, d.Taps) < 1:
		return fmt.Errorf("deltas: %d heads of %d, %d of keys of %d and %d taps: all must be positive", d.Heads, d.HeadDim, d.KeyHeads, d.KeyDim, d.Taps)
	case d.Heads%d.KeyHeads != 0:
		return fmt.Errorf("deltas.key_heads: %d do not divide %d heads", d.KeyHeads, d.Heads)
	}
	return nil
}

func (f *FeedForward) checkExperts() error {
	e := f.Experts
	switch {
	case e == nil:
		return nil
	case e.Count < 1 || e.Used < 1 || e.Used > e.Count:
		return fmt.Errorf("used: %d of %d experts", e.Used, e.Count)
	case e.Shared < 0 || e.Shared == 0 && e.SharedGate:
		return fmt.Errorf("shared: %d is negative, or it has a gate only", e.Shared)
	case e.Groups < 0 || e.Groups > 0 && e.Count%e.Groups != 0:
		return fmt.Errorf("groups: %d do not divide %d experts", e.Groups, e.Count)
	case e.Groups == 0 && e.GroupsUsed != 0 || e.Groups > 0 && (e.GroupsUsed < 1 || e.GroupsUsed > e.Groups || e.Used > e.GroupsUsed*(e.Count/e.Groups)):
		return fmt.Errorf("groups_used: %d of %d have %d experts for each token", e.GroupsUsed, e.Groups, e.Used)
	case e.Floor != 0 && !(e.Renormalised && (e.Sigmoid || e.Corrected)):
		return fmt.Errorf("floor: nothing is divided by the sum of sigmoids or of corrected probabilities")
	case e.Apart && (e.Shared == 0 || e.SharedGate):
		return fmt.Errorf("apart: there is no shared block, or it has a gate")
	}
	for _, f := range []factor{{"floor", e.Floor, false}, {"scale", e.Scale, false}} {
		if err := f.check(); err != nil {
			return err
		}
	}
	return nil
}

func (a *Attention) check(s *Spec) error {
	switch {
	case int(a.Norms) >= len(placementNames):
		return fmt.Errorf("norms: %d is unknown", a.Norms)
	case a.Heads < 1 || a.KVHeads < 1 || a.Heads%a.KVHeads != 0:
		return fmt.Errorf("kv_heads: %d key-value heads do not divide %d attention heads", a.KVHeads, a.Heads)
	case a.HeadDim < 1:
		return fmt.Errorf("head_dim: %d is not positive", a.HeadDim)
	case a.Rotary > 0 && s.Rotaries[a.Rotary-1].Dims > a.HeadDim:
		return fmt.Errorf("rotary: %d rotary dimensions of heads of %d", s.Rotaries[a.Rotary-1].Dims, a.HeadDim)
	case a.Window < 0 || a.Chunk < 0:
		return fmt.Errorf("window: %d, chunk: %d are negative", a.Window, a.Chunk)
	case a.Local && (s.Patch == 0 || s.Class || a.Window > 0):
		return fmt.Errorf("local: there are no patches, or a class or a window too")
	case a.Window > 0 && a.Chunk > 0:
		return fmt.Errorf("window: there is a chunk too")
	case a.KeysAsValues && (a.KVLayer != 0 || a.QKNorm == QKNormAll):
		return fmt.Errorf("keys_as_values: the keys are those of another layer, or those of all heads have one norm")
	case int(a.QKNorm) >= len(qkNormNames):
		return fmt.Errorf("qk_norm: %d is unknown", a.QKNorm)
	case a.RotatedNorm && a.QKNorm != QKNormHead && a.QKNorm != QKNormEachHead:
		return fmt.Errorf("rotated_norm: there is no norm of each head")
	case a.SoftCap != 0 && a.Clamp != 0:
		return fmt.Errorf("soft_cap: there is a clamp too")
	case len(a.Slopes) > 0 && len(a.Slopes) != a.Heads:
		return fmt.Errorf("slopes: %d for %d heads", len(a.Slopes), a.Heads)
	case a.GrowthStep < 0 || (a.Growth > 0) != (a.GrowthStep > 0):
		return fmt.Errorf("growth_step: %d tokens, where growth is %v", a.GrowthStep, a.Growth)
	case a.HeadGates && !a.Gated:
		return fmt.Errorf("head_gates: there are no gates")
	case a.Growth > 0 && len(s.Encoder) > 0:
		return fmt.Errorf("growth: there is an encoder")
	}
	if err := a.Disentangled.check(a, s); err != nil {
		return fmt.Errorf("disentangled%w", err)
	}
	if err := a.checkLatent(s); err != nil {
		return fmt.Errorf("latent%w", err)
	}
	for _, f := range []factor{
		{"scale", a.Scale, false}, {"soft_cap", a.SoftCap, false}, {"clamp", a.Clamp, false}, {"out_scale", a.OutScale, false}, {"growth", a.Growth, false},
	} {
		if err := f.check(); err != nil {
			return err
		}
	}
	return nil
}

// checkLatent refuses a [Latent] that cannot be computed.
func (a *Attention) checkLatent(s *Spec) error {
	l := a.Latent
	switch {
	case l == nil:
		return nil
	case l.QueryRank < 0 || l.Shared < 0 || min(l.KeyDim, l.ValueDim) < 1 || l.Shared >= a.HeadDim:
		return fmt.Errorf(": vectors of %d, %d, %d and %d for heads of %d", l.QueryRank, l.KeyDim, l.Shared, l.ValueDim, a.HeadDim)
	case a.Rotary > 0 && s.Rotaries[a.Rotary-1].Dims > l.Shared:
		return fmt.Errorf(".shared: %d rotary dimensions of %d", s.Rotaries[a.Rotary-1].Dims, l.Shared)
	case !(l.Eps >= 0 && l.Eps <= 1):
		return fmt.Errorf(".eps: %v is not in 0..1", l.Eps)
	case a.KVHeads != 1 || !a.KeysAsValues || a.KVLayer != 0 || a.QKNorm != NoQKNorm || a.ValueNorm || a.Gated:
		return fmt.Errorf(": there are several heads of keys, values of their own, norms of heads or gates")
	}
	return nil
}

// A factor is a number of a description that scales or bounds results.
type factor struct {
	name   string
	value  float32
	signed bool
}

// check refuses a factor that is not finite, or that is negative unless that is allowed.
func (f factor) check() error {
	v := float64(f.value)
	if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 && !f.signed {
		return fmt.Errorf("%s: %v is not supported", f.name, f.value)
	}
	return nil
}

// check refuses weights whose number of layers or parameters of activations, which are given
// by kind, differ from the description.
func (w *Weights) check(s *Spec, activations []activation) error {
	for _, stack := range []struct {
		name    string
		kinds   []int
		weights []Layer
	}{{"decoder", s.Decoder, w.Decoder}, {"encoder", s.Encoder, w.Encoder}} {
		if len(stack.kinds) != len(stack.weights) {
			return fmt.Errorf("%s: %d layers of weights for a stack of %d", stack.name, len(stack.weights), len(stack.kinds))
		}
		for i, kind := range stack.kinds {
			if n, want := len(stack.weights[i].Learned), activations[kind].learned; n != want {
				return fmt.Errorf("%s.%d: %d vectors for an activation of %d", stack.name, i, n, want)
			}
			want := 0
			if e := s.Kinds[kind].FeedForward.Experts; e != nil {
				want = e.Count
			}
			if n := len(stack.weights[i].Experts); n != want {
				return fmt.Errorf("%s.%d: %d experts of weights, %d are needed", stack.name, i, n, want)
			}
			if n, want := len(stack.weights[i].DistanceHeads), s.Kinds[kind].Attention.distanceHeads(); n != want {
				return fmt.Errorf("%s.%d: %d heads of distances, %d are needed", stack.name, i, n, want)
			}
			if n, want := len(stack.weights[i].LatentHeads), s.Kinds[kind].Attention.latentHeads(); n != want {
				return fmt.Errorf("%s.%d: %d heads of latent attention, %d are needed", stack.name, i, n, want)
			}
		}
	}
	if n := max(0, s.Streams-1); len(w.StreamsOut) != n {
		return fmt.Errorf("streams_out: %d matrices, %d are needed", len(w.StreamsOut), n)
	}
	return nil
}
