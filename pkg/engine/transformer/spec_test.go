package transformer_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/engine/transformer/transformertest"
)

// architectures are the seeds of random architectures. In the last two, convolutions and delta rules
// come after layers that read the keys and values of others.
var architectures = func() (seeds []int) {
	for seed := range 80 {
		seeds = append(seeds, seed)
	}
	return append(seeds, 98, 169, 202, 232, 253)
}()

// load makes a model of random weights.
func load(t testing.TB, m *transformertest.Model, k *kernel.Kernels, f transformer.Format) *transformer.Model {
	t.Helper()
	model, err := transformer.New(m.Spec, m.Weights, k, f)
	if err != nil {
		t.Fatal(err)
	}
	return model
}

// texts are a source of a random architecture, if it has an encoder, and tokens. Every
// fourth is longer than a block of keys.
func texts(seed int) (source, ids []int) {
	n := 45
	if seed%4 == 0 {
		n = 150
	}
	return tokens(n/2, 31), tokens(n, 29)
}

// Every field of a description means what its formula says, by every implementation of the
// kernels.
func TestRandomArchitectures(t *testing.T) {
	for _, seed := range architectures {
		m := transformertest.Random(uint64(seed))
		source, ids := texts(seed)
		want := formulas{Model: m}.logits(source, ids)
		for _, k := range kernel.Implementations() {
			model := load(t, m, k, transformer.F32)
			pass := model.NewPass(nil)
			seq := transformer.Sequence{Cache: model.NewCache(len(ids)), Tokens: ids, Logits: len(ids)}
			if len(m.Spec.Encoder) > 0 {
				seq.Memory = must(pass.Encode([][]int{source}))[0]
			}
			compare(t, fmt.Sprintf("seed %d, %s", seed, k.Name()), must(pass.Forward([]transformer.Sequence{seq})), want)
		}
	}
}

// The random architectures cover every feature of a description several times.
func TestRandomArchitecturesCover(t *testing.T) {
	seen := map[string]int{}
	for _, seed := range architectures {
		s := transformertest.Random(uint64(seed)).Spec
		seen[fmt.Sprint("position ", s.Position)]++
		seen[fmt.Sprint("norm ", s.Norm)]++
		for name, said := range map[string]bool{
			"encoder": s.Encoder != nil, "relative biases": s.RelativeBuckets > 0 && !s.RelativeLayers, "relative biases of layers": s.RelativeLayers, "several kinds": len(s.Kinds)-len(s.Encoder) > 1, "several tables": len(s.Rotaries) > 1, "embed norm": s.EmbedNorm, "decoder input": s.DecoderInput,
			"no last norm": s.NoLastNorm, "embed width": s.EmbedWidth > 0, "scales": s.EmbedScale*s.ResidualScale*s.LogitScale != 0, "logit soft cap": s.LogitSoftCap > 0, "layer inputs": s.LayerInputs > 0, "layer scale": s.LayerScale, "streams": s.Streams > 0, "streams and inputs of layers": s.Streams*s.LayerInputs > 0, "laurel": s.Laurel > 0, "head activation": s.HeadActivation != "",
		} {
			if said {
				seen[name]++
			}
		}
		for i, k := range s.Kinds {
			a, encoder := &k.Attention, slices.Contains(s.Encoder, i)
			seen[fmt.Sprint("attention norms ", a.Norms)]++
			seen[fmt.Sprint("feed-forward norms ", k.FeedForward.Norms)]++
			seen[fmt.Sprint("activation ", k.FeedForward.Activation)]++
			seen[fmt.Sprint("qk norm ", a.QKNorm)]++
			if k.States != nil {
				seen[fmt.Sprint("gating ", k.States.Gating)]++
			}
			for name, said := range map[string]bool{
				"window": a.Window > 0 && !encoder, "window of an encoder": a.Window > 0 && encoder, "chunk": a.Chunk > 0, "sinks": a.Sinks, "clamp": a.Clamp > 0,
				"soft cap": a.SoftCap > 0, "scale": a.Scale > 0, "value norm": a.ValueNorm, "keys as values": a.KeysAsValues, "keys of another layer": a.KVLayer > 0, "rotary": a.Rotary > 0, "no rotary beside tables": a.Rotary == 0 && len(s.Rotaries) > 0,
				"experts": k.FeedForward.Experts != nil, "shared expert": k.FeedForward.Experts != nil && k.FeedForward.Experts.Shared > 0,
				"renormalised": k.FeedForward.Experts != nil && k.FeedForward.Experts.Renormalised, "shared gate": k.FeedForward.Experts != nil && k.FeedForward.Experts.SharedGate,
				"experts apart": k.FeedForward.Experts != nil && k.FeedForward.Experts.Apart,
				"sigmoid":       k.FeedForward.Experts != nil && k.FeedForward.Experts.Sigmoid, "corrected": k.FeedForward.Experts != nil && k.FeedForward.Experts.Corrected,
				"corrected softmax": k.FeedForward.Experts != nil && k.FeedForward.Experts.Corrected && !k.FeedForward.Experts.Sigmoid, "floor": k.FeedForward.Experts != nil && k.FeedForward.Experts.Floor > 0,
				"limit": k.FeedForward.Limit > 0, "states": k.States != nil, "steps of inputs": k.States != nil && k.States.StepRank > 0, "norms of steps": k.States != nil && k.States.StepEps > 0,
				"groups": k.States != nil && k.States.Groups > 1, "states and attention": k.States != nil && a.Heads > 0,
				"deltas": k.Deltas != nil, "deltas in turn": k.Deltas != nil && k.Deltas.Turns && k.Deltas.KeyHeads > 1 && k.Deltas.Heads > k.Deltas.KeyHeads,
				"heads share keys": k.Deltas != nil && !k.Deltas.Turns && k.Deltas.KeyHeads > 1 && k.Deltas.Heads > k.Deltas.KeyHeads, "gated attention": a.Gated && !a.HeadGates, "gated heads": a.HeadGates,
				"scales of states": k.States != nil && k.States.GateScale*k.States.StepScale > 0, "out scale": a.OutScale > 0, "gate scale": k.FeedForward.GateScale > 0, "convolution": k.Convolution != nil, "many taps": k.Convolution != nil && k.Convolution.Taps > 3,
				"groups of experts": k.FeedForward.Experts != nil && k.FeedForward.Experts.Groups > 0, "groups of corrected experts": k.FeedForward.Experts != nil && k.FeedForward.Experts.Groups > 0 && k.FeedForward.Experts.Corrected,
				"latents": a.Latent != nil, "latents of queries": a.Latent != nil && a.Latent.QueryRank > 0, "latents of keys alone": a.Latent != nil && a.Latent.QueryRank == 0, "rotated latents": a.Latent != nil && a.Rotary > 0,
				"feed-forward alone": !k.Mixes(), "experts without gates": k.FeedForward.Experts != nil && !k.FeedForward.Gated,
				"gated": k.FeedForward.Gated, "sparsity": k.FeedForward.Sparsity > 0, "parallel": k.Parallel && !k.SharedNorm, "shared norm": k.SharedNorm,
			} {
				if said {
					seen[name]++
				}
			}
		}
	}
	if len(seen) != 4+4+8+5+5+9+5+3+57 {
		t.Errorf("%d things are said", len(seen))
	}
	for name, n := range seen {
		if n < 3 {
			t.Errorf("%s: %d times", name, n)
		}
	}
}

// A prompt at once, in pieces, token by token, batched with others, in copied caches and by
// several workers gives the same logits to the bit, in every architecture and format.
func TestRandomArchitecturesInvariant(t *testing.T) {
	formats := []transformer.Format{transformer.F32, transformer.BF16, transformer.Q8_0, transformer.Q8W, transformer.Q4_0}
	for _, seed := range architectures {
		m := transformertest.Random(uint64(seed))
		source, ids := texts(seed)
		for i, k := range transformertest.Tiers() {
			model := load(t, m, k, formats[(seed+i)%len(formats)])
			want := run(model, nil, source, ids, []int{len(ids)}, nil)
			for workers, pieces := range map[int][]int{1: {1}, 2: {7, 1, 1, 30, 2}, 3: {40, 16, 1, 3}} {
				team := transformer.NewTeam(workers)
				if got := run(model, team, source, ids, pieces, tokens(9, 31)); !slices.Equal(got, want) {
					t.Errorf("seed %d, %s, %d workers, pieces %v: differs from one full pass", seed, k.Name(), workers, pieces)
				}
				team.Close()
			}
		}
	}
}

// run returns the logits after every token. It computes pieces of these lengths, cyclically,
// each batched with a piece of another text, if there is one.
func run(m *transformer.Model, team *transformer.Team, source, ids, pieces, other []int) (out []float32) {
	pass := m.NewPass(team)
	pass.ShareAll = true
	main, side := transformer.Sequence{Cache: m.NewCache(1)}, transformer.Sequence{Cache: m.NewCache(len(other) + 1)}
	if len(m.Encoder) > 0 {
		both := must(pass.Encode([][]int{source[:3], source}))
		side.Memory, main.Memory = both[0], both[1]
	}
	for i := 0; len(ids) > 0; i++ {
		n := min(pieces[i%len(pieces)], len(ids))
		main.Cache = m.Prefix(main.Cache, main.Cache.Len, main.Cache.Len+n)
		main.Tokens, main.Logits, ids = ids[:n], n, ids[n:]
		seqs := []transformer.Sequence{main}
		if len(other) > 0 {
			side.Tokens, side.Logits, other = other[:1], 1, other[1:]
			seqs = slices.Insert(seqs, i%2, side)
		}
		logits := must(pass.Forward(seqs))
		if seqs[0].Cache == side.Cache {
			logits = logits[m.Vocab:]
		}
		out = append(out, logits[:n*m.Vocab]...)
	}
	return out
}

// A description survives a round trip through JSON.
func TestSpecJSON(t *testing.T) {
	for _, seed := range architectures {
		spec := transformertest.Random(uint64(seed)).Spec
		raw := must(json.Marshal(spec))
		var got transformer.Spec
		if err := json.Unmarshal(raw, &got); err != nil || !reflect.DeepEqual(&got, spec) {
			t.Errorf("%s: %+v, %v", raw, got, err)
		}
	}
}

// rich returns a description with every field set that has an effect of its own.
func rich() *transformer.Spec {
	kind := func(window, rotary int) transformer.Kind {
		return transformer.Kind{
			Attention: transformer.Attention{
				Norms: transformer.SandwichNorm, Heads: 4, KVHeads: 2, HeadDim: 8, Window: window, Rotary: rotary,
				QKNorm: transformer.QKNormHead, Scale: 0.5, SoftCap: 2, Sinks: true,
			},
			FeedForward: transformer.FeedForward{
				Norms: transformer.SandwichNorm, Width: 40, Activation: transformer.SiLU, Gated: true,
				Experts: &transformer.Experts{Count: 5, Used: 2, Renormalised: true, Shared: 24, SharedGate: true},
			},
		}
	}
	return &transformer.Spec{
		Vocab: 31, Context: 64, Width: 24, Kinds: []transformer.Kind{kind(5, 1), kind(0, 2)}, Decoder: []int{0, 0, 1, 0},
		Rotaries: []transformer.Rotary{
			{Dims: 8, Magnitude: 1.3, Frequencies: transformer.Frequencies(100, 8)},
			{Dims: 4, Interleaved: true, Frequencies: transformer.Frequencies(10000, 4)},
		},
		Position: transformer.Learned, EmbedScale: 2, EmbedNorm: true, Norm: transformer.RMSNorm, Eps: 0.01,
		ResidualScale: 0.7, LogitScale: 0.5, LogitSoftCap: 3,
	}
}

// Every field has an effect, so the tests above would detect a model that ignores it.
func TestFieldsMatter(t *testing.T) {
	ids := tokens(30, 31)
	logits := func(s *transformer.Spec) rows { return formulas{Model: transformertest.New(s, 5)}.logits(nil, ids) }
	computed := func(s *transformer.Spec) []float32 {
		m := transformertest.New(s, 5)
		model := load(t, m, kernel.Best(), transformer.F32)
		return must(model.NewPass(nil).Forward([]transformer.Sequence{{Cache: model.NewCache(30), Tokens: ids, Logits: 30}}))
	}
	want := logits(rich())
	compare(t, "rich", computed(rich()), want)
	experts := func(change func(e *transformer.Experts)) func(*transformer.Spec, *transformer.Attention, *transformer.FeedForward) {
		return func(_ *transformer.Spec, _ *transformer.Attention, f *transformer.FeedForward) { change(f.Experts) }
	}
	for name, change := range map[string]func(s *transformer.Spec, a *transformer.Attention, f *transformer.FeedForward){
		"window": func(_ *transformer.Spec, a *transformer.Attention, _ *transformer.FeedForward) { a.Window = 6 },
		"chunk": func(_ *transformer.Spec, a *transformer.Attention, _ *transformer.FeedForward) {
			a.Window, a.Chunk = 0, 5
		},
		"layers": func(s *transformer.Spec, _ *transformer.Attention, _ *transformer.FeedForward) { s.Decoder[1] = 1 },
		"rotary": func(s *transformer.Spec, a *transformer.Attention, _ *transformer.FeedForward) {
			a.Rotary, s.Rotaries = 0, s.Rotaries[1:]
			s.Kinds[1].Attention.Rotary = 1
		},
		"tables": func(s *transformer.Spec, _ *transformer.Attention, _ *transformer.FeedForward) {
			s.Kinds[1].Attention.Rotary, s.Rotaries = 1, s.Rotaries[:1]
		},
		"magnitude": func(s *transformer.Spec, _ *transformer.Attention, _ *transformer.FeedForward) {
			s.Rotaries[0].Magnitude = 0
		},
		"pairs": func(s *transformer.Spec, _ *transformer.Attention, _ *transformer.FeedForward) {
			s.Rotaries[1].Interleaved = false
		},
		"scale":    func(_ *transformer.Spec, a *transformer.Attention, _ *transformer.FeedForward) { a.Scale = 0 },
		"soft cap": func(_ *transformer.Spec, a *transformer.Attention, _ *transformer.FeedForward) { a.SoftCap = 0 },
		"clamp": func(_ *transformer.Spec, a *transformer.Attention, _ *transformer.FeedForward) {
			a.SoftCap, a.Clamp = 0, 2
		},
		"rotated norm": func(_ *transformer.Spec, a *transformer.Attention, _ *transformer.FeedForward) { a.RotatedNorm = true },
		"growth": func(_ *transformer.Spec, a *transformer.Attention, _ *transformer.FeedForward) {
			a.Growth, a.GrowthStep = 0.7, 4
		},
		"limit": func(_ *transformer.Spec, _ *transformer.Attention, f *transformer.FeedForward) { f.Limit = 0.5 },
		"gated": func(_ *transformer.Spec, _ *transformer.Attention, f *transformer.FeedForward) {
			f.Gated, f.Experts, f.Limit = false, nil, 0
		},
		"experts":           func(_ *transformer.Spec, _ *transformer.Attention, f *transformer.FeedForward) { f.Experts = nil },
		"used experts":      experts(func(e *transformer.Experts) { e.Used = 3 }),
		"renormalised":      experts(func(e *transformer.Experts) { e.Renormalised = false }),
		"shared expert":     experts(func(e *transformer.Experts) { e.Shared, e.SharedGate = 0, false }),
		"shared gate":       experts(func(e *transformer.Experts) { e.SharedGate = false }),
		"groups":            experts(func(e *transformer.Experts) { e.Count, e.Groups, e.GroupsUsed = 6, 3, 1 }),
		"used groups":       experts(func(e *transformer.Experts) { e.Count, e.Groups, e.GroupsUsed = 6, 3, 2 }),
		"scale of experts":  experts(func(e *transformer.Experts) { e.Scale = 1.5 }),
		"sigmoid":           experts(func(e *transformer.Experts) { e.Sigmoid = true }),
		"corrected":         experts(func(e *transformer.Experts) { e.Sigmoid, e.Corrected = true, true }),
		"corrected softmax": experts(func(e *transformer.Experts) { e.Corrected = true }),
		"floor":             experts(func(e *transformer.Experts) { e.Sigmoid, e.Floor = true, 0.4 }),
		"out scale":         func(_ *transformer.Spec, a *transformer.Attention, _ *transformer.FeedForward) { a.OutScale = 0.6 },
		"scales of the block": func(_ *transformer.Spec, _ *transformer.Attention, f *transformer.FeedForward) {
			f.Experts, f.GateScale, f.OutScale = nil, 0.6, 1.4
		},
		"convolution": func(s *transformer.Spec, a *transformer.Attention, _ *transformer.FeedForward) {
			s.Kinds[0].Convolution, *a, s.Rotaries = &transformer.Convolution{Taps: 3}, transformer.Attention{}, s.Rotaries[1:]
			s.Kinds[1].Attention.Rotary = 1
		},
		"activation": func(_ *transformer.Spec, _ *transformer.Attention, f *transformer.FeedForward) {
			f.Activation = transformer.GELU
		},
		"xielu": func(_ *transformer.Spec, _ *transformer.Attention, f *transformer.FeedForward) {
			f.Activation, f.Gated, f.Experts, f.Limit = transformer.XIELU, false, nil, 0
		},
		"embed scale":    func(s *transformer.Spec, _ *transformer.Attention, _ *transformer.FeedForward) { s.EmbedScale = 0 },
		"residual scale": func(s *transformer.Spec, _ *transformer.Attention, _ *transformer.FeedForward) { s.ResidualScale = 0 },
		"logit scale":    func(s *transformer.Spec, _ *transformer.Attention, _ *transformer.FeedForward) { s.LogitScale = 0 },
		"logit soft cap": func(s *transformer.Spec, _ *transformer.Attention, _ *transformer.FeedForward) { s.LogitSoftCap = 0 },
		"value norm":     func(_ *transformer.Spec, a *transformer.Attention, _ *transformer.FeedForward) { a.ValueNorm = true },
		"keys as values": func(_ *transformer.Spec, a *transformer.Attention, _ *transformer.FeedForward) { a.KeysAsValues = true },
		"layer inputs":   func(s *transformer.Spec, _ *transformer.Attention, _ *transformer.FeedForward) { s.LayerInputs = 6 },
		"streams":        func(s *transformer.Spec, _ *transformer.Attention, _ *transformer.FeedForward) { s.Streams = 3 },
		"laurel":         func(s *transformer.Spec, _ *transformer.Attention, _ *transformer.FeedForward) { s.Laurel = 5 },
		"sparsity": func(_ *transformer.Spec, _ *transformer.Attention, f *transformer.FeedForward) {
			f.Experts, f.Sparsity = nil, 0.7
		},
		"layer scale": func(s *transformer.Spec, _ *transformer.Attention, _ *transformer.FeedForward) { s.LayerScale = true },
		"keys of another layer": func(s *transformer.Spec, a *transformer.Attention, _ *transformer.FeedForward) {
			k := s.Kinds[0]
			k.Attention.KVLayer, s.Decoder[3] = 2, 2
			s.Kinds = append(s.Kinds, k)
		},
		"eps": func(s *transformer.Spec, _ *transformer.Attention, _ *transformer.FeedForward) { s.Eps = 1e-6 },
	} {
		spec := rich()
		change(spec, &spec.Kinds[0].Attention, &spec.Kinds[0].FeedForward)
		other := logits(spec)
		compare(t, name, computed(spec), other)
		if d := far(want, other); !(d > 1e-3) || math.IsNaN(d) {
			t.Errorf("%s: changes logits by %v: the test shows nothing", name, d)
		}
	}
}

// Descriptions that cannot be computed are refused with the name of the field.
func TestSpecRefuses(t *testing.T) {
	type spec = transformer.Spec
	nan := float32(math.NaN())
	mixedBy := func(c transformer.Convolution) func(*spec, *transformer.Kind) {
		return func(s *spec, k *transformer.Kind) {
			k.Attention, k.Convolution, s.Rotaries = transformer.Attention{}, &c, s.Rotaries[1:]
			s.Kinds[1].Attention.Rotary = 1
		}
	}
	for want, change := range map[string]func(s *spec, k *transformer.Kind){
		"0 tokens":                           func(s *spec, _ *transformer.Kind) { s.Vocab = 0 },
		"and 0 layers":                       func(s *spec, _ *transformer.Kind) { s.Decoder = nil },
		"decoder[1]: kind 2 of 2":            func(s *spec, _ *transformer.Kind) { s.Decoder[1] = 2 },
		"decoder[3]: kind -1 of 2":           func(s *spec, _ *transformer.Kind) { s.Decoder[3] = -1 },
		"kinds[1]: no layer":                 func(s *spec, _ *transformer.Kind) { s.Decoder[2] = 0 },
		"rotaries[0]: no kind":               func(_ *spec, k *transformer.Kind) { k.Attention.Rotary = 2 },
		"kinds[0].attention.rotary: table 3": func(_ *spec, k *transformer.Kind) { k.Attention.Rotary = 3 },
		"kinds[0].attention.rotary: 8 rotary dimensions of heads of 6": func(_ *spec, k *transformer.Kind) { k.Attention.HeadDim = 6 },
		"rotaries[1].dims: 4":                func(s *spec, _ *transformer.Kind) { s.Rotaries[1].Frequencies = nil },
		"rotaries[1].dims: 0":                func(s *spec, _ *transformer.Kind) { s.Rotaries[1] = transformer.Rotary{} },
		"rotaries[0].magnitude: NaN":         func(s *spec, _ *transformer.Kind) { s.Rotaries[0].Magnitude = nan },
		"kinds[0].attention.kv_heads: 3":     func(_ *spec, k *transformer.Kind) { k.Attention.KVHeads = 3 },
		"kinds[0].attention.head_dim: 0":     func(_ *spec, k *transformer.Kind) { k.Attention.HeadDim = 0 },
		"kinds[0].attention.window: -1":      func(_ *spec, k *transformer.Kind) { k.Attention.Window = -1 },
		"kinds[0].attention.window: there":   func(_ *spec, k *transformer.Kind) { k.Attention.Chunk = 1 },
		"kinds[0].attention.qk_norm: 9":      func(_ *spec, k *transformer.Kind) { k.Attention.QKNorm = 9 },
		"kinds[0].attention.norms: 9":        func(_ *spec, k *transformer.Kind) { k.Attention.Norms = 9 },
		"kinds[0].attention.scale: -1":       func(_ *spec, k *transformer.Kind) { k.Attention.Scale = -1 },
		"kinds[0].attention.soft_cap: there": func(_ *spec, k *transformer.Kind) { k.Attention.Clamp = 1 },
		"kinds[0].convolution: there is attention too, or states": func(_ *spec, k *transformer.Kind) {
			k.Convolution = &transformer.Convolution{Taps: 3}
		},
		"kinds[0].convolution.taps: 0":  mixedBy(transformer.Convolution{}),
		"kinds[0].convolution.norms: 9": mixedBy(transformer.Convolution{Taps: 3, Norms: 9}),
		"decoder[0]: kinds[0].convolution, states and deltas are for models without an encoder": func(s *spec, k *transformer.Kind) {
			mixedBy(transformer.Convolution{Taps: 3})(s, k)
			s.Encoder = []int{1}
		},
		"kinds[0].parallel: there is not attention alone": func(s *spec, k *transformer.Kind) {
			mixedBy(transformer.Convolution{Taps: 3})(s, k)
			k.Parallel = true
		},
		"kinds[0].states.norms: they and attention": func(_ *spec, k *transformer.Kind) {
			k.States = &transformer.StateSpace{Heads: 1, HeadDim: 1, Size: 1, Groups: 1, Taps: 1}
		},
		"kinds[0].states.gating: 9": func(_ *spec, k *transformer.Kind) {
			k.Attention.Norms, k.States = transformer.PreNorm, &transformer.StateSpace{Heads: 1, HeadDim: 1, Size: 1, Groups: 1, Taps: 1, Gating: 9}
		},
		"kinds[0].states.step_scale: NaN": func(_ *spec, k *transformer.Kind) {
			k.Attention.Norms, k.States = transformer.PreNorm, &transformer.StateSpace{Heads: 1, HeadDim: 1, Size: 1, Groups: 1, Taps: 1, StepScale: nan}
		},
		"kinds[0].attention.out_scale: -1":           func(_ *spec, k *transformer.Kind) { k.Attention.OutScale = -1 },
		"kinds[0].feed_forward.out_scale: there are": func(_ *spec, k *transformer.Kind) { k.FeedForward.OutScale = 2 },
		"kinds[0].feed_forward.gate_scale: there is no": func(_ *spec, k *transformer.Kind) {
			k.FeedForward.Experts, k.FeedForward.Gated, k.FeedForward.GateScale = nil, false, 2
		},
		"kinds[0].feed_forward.experts.floor: nothing": func(_ *spec, k *transformer.Kind) { k.FeedForward.Experts.Floor = 1 },
		"kinds[0].feed_forward.experts.floor: -1": func(_ *spec, k *transformer.Kind) {
			k.FeedForward.Experts.Sigmoid, k.FeedForward.Experts.Floor = true, -1
		},
		"kinds[0].feed_forward.experts.apart: there is no shared block, or it has a gate": func(_ *spec, k *transformer.Kind) { k.FeedForward.Experts.Apart = true },
		"kinds[0].feed_forward.experts.scale: NaN":                                        func(_ *spec, k *transformer.Kind) { k.FeedForward.Experts.Scale = nan },
		"kinds[0].feed_forward.width: 0":                                                  func(_ *spec, k *transformer.Kind) { k.FeedForward.Width = 0 },
		"kinds[0].feed_forward.width: 0 is not positive": func(s *spec, k *transformer.Kind) {
			k.Attention.Norms, k.Parallel, k.FeedForward = transformer.PreNorm, true, transformer.FeedForward{}
		},
		"kinds[0].feed_forward.norms: 9":            func(_ *spec, k *transformer.Kind) { k.FeedForward.Norms = 9 },
		"kinds[0].feed_forward.activation: unknown": func(_ *spec, k *transformer.Kind) { k.FeedForward.Activation = "mish" },
		"kinds[0].shared_norm":                      func(_ *spec, k *transformer.Kind) { k.SharedNorm = true },
		"kinds[0].parallel: there is a norm behind": func(_ *spec, k *transformer.Kind) { k.Parallel = true },
		"encoder[0]: kinds[2].attention.chunk": func(s *spec, k *transformer.Kind) {
			s.Kinds, s.Encoder = append(s.Kinds, *k), []int{2}
			s.Kinds[2].Attention.Window, s.Kinds[2].Attention.Chunk = 0, 4
		},
		"decoder[0]: kinds[0].parallel": func(s *spec, k *transformer.Kind) { k.Parallel, s.Encoder = true, []int{1} },
		"decoder_input: there is only":  func(s *spec, _ *transformer.Kind) { s.DecoderInput = true },
		"decoder_input: there is only one stack, or neither": func(s *spec, _ *transformer.Kind) {
			s.DecoderInput, s.Encoder, s.Position, s.EmbedNorm = true, []int{1}, transformer.Sinusoidal, false
		},
		"position 9":         func(s *spec, _ *transformer.Kind) { s.Position = 9 },
		"norm 9":             func(s *spec, _ *transformer.Kind) { s.Norm = 9 },
		"eps: 2":             func(s *spec, _ *transformer.Kind) { s.Eps = 2 },
		"embed_scale: NaN":   func(s *spec, _ *transformer.Kind) { s.EmbedScale = nan },
		"logit_soft_cap: -1": func(s *spec, _ *transformer.Kind) { s.LogitSoftCap = -1 },
	} {
		s := rich()
		change(s, &s.Kinds[0])
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := rich().Check(); err != nil {
		t.Error(err)
	}
}

// The same of delta rules and attention with gates.
func TestSpecRefusesDeltas(t *testing.T) {
	type spec = transformer.Spec
	deltas := func(d transformer.DeltaNet) func(*spec, *transformer.Kind) {
		return func(s *spec, k *transformer.Kind) {
			k.Attention, k.Deltas, s.Rotaries = transformer.Attention{}, &d, s.Rotaries[1:]
			s.Kinds[1].Attention.Rotary = 1
		}
	}
	for want, change := range map[string]func(s *spec, k *transformer.Kind){
		"kinds[0].deltas: there is attention too": func(_ *spec, k *transformer.Kind) {
			k.Deltas = &transformer.DeltaNet{Heads: 1, HeadDim: 1, KeyHeads: 1, KeyDim: 1, Taps: 1}
		},
		"kinds[0].deltas.norms: 9":                      deltas(transformer.DeltaNet{Norms: 9, Heads: 1, HeadDim: 1, KeyHeads: 1, KeyDim: 1, Taps: 1}),
		"kinds[0].deltas: 2 heads of 1, 1 of keys of 0": deltas(transformer.DeltaNet{Heads: 2, HeadDim: 1, KeyHeads: 1, Taps: 1}),
		"kinds[0].deltas.key_heads: 2":                  deltas(transformer.DeltaNet{Heads: 3, HeadDim: 1, KeyHeads: 2, KeyDim: 1, Taps: 1}),
		"kinds[0].attention.head_gates: there are no":   func(_ *spec, k *transformer.Kind) { k.Attention.HeadGates = true },
		"decoder[0]: kinds[0].attention.gated":          func(s *spec, k *transformer.Kind) { k.Attention.Gated, s.Encoder = true, []int{1} },
	} {
		s := rich()
		change(s, &s.Kinds[0])
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
