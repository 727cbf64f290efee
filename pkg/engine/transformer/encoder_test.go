package transformer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/engine/transformer/transformertest"
)

// encoder returns a description of an encoder alone.
func encoder() *transformer.Spec {
	kind := transformer.Kind{
		Attention:   transformer.Attention{Norms: transformer.PostResidualNorm, Heads: 3, KVHeads: 3, HeadDim: 8},
		FeedForward: transformer.FeedForward{Norms: transformer.PostResidualNorm, Width: 40, Activation: transformer.GELUErf},
	}
	return &transformer.Spec{
		Vocab: 31, Context: 200, Width: 24, Kinds: []transformer.Kind{kind}, Encoder: []int{0, 0, 0},
		Position: transformer.Learned, EmbedNorm: true, Eps: 1e-6, NoLastNorm: true,
	}
}

// encoded returns the vectors of a text's tokens.
func (m formulas) encoded(ids []int) rows {
	x := m.embed(ids, "")
	if len(m.Spec.Order) == 0 {
		return m.run("encoder", m.Spec.Encoder, ids, x, nil)
	}
	for _, layer := range m.Spec.Order {
		x = m.layer(fmt.Sprintf("encoder.%d.", layer), &m.Spec.Kinds[m.Spec.Encoder[layer]], x, nil, false, &keyValues{})
	}
	return x
}

// compareEncoder compares the vectors of texts, computed together by teams with every kernel, with those of
// the formulas, and to the bit with those of each text alone. It returns those of the first text.
func compareEncoder(t *testing.T, name string, s *transformer.Spec) rows {
	t.Helper()
	m := transformertest.New(s, 5)
	list := [][]int{tokens(60, 31), {7}, tokens(150, 29)}
	var want []rows
	for _, ids := range list {
		want = append(want, formulas{Model: m}.encoded(ids))
	}
	for _, k := range kernel.Implementations() {
		model := load(t, m, k, transformer.F32)
		for _, workers := range []int{1, 3, -3} { // below 0: each computes texts or parts of them
			team := transformer.NewTeam(max(workers, -workers))
			pass := model.NewPass(team)
			pass.ShareAll, pass.ShareTexts = workers > 0, workers < 0
			must(pass.Encode(list))
			all, alone := slices.Clone(pass.Last()), model.NewPass(nil)
			for i, ids := range list {
				n := len(ids) * s.Width
				must(alone.Encode([][]int{ids}))
				if !slices.Equal(alone.Last(), all[:n]) {
					t.Errorf("%s, %s, %d workers: a text of %d tokens has other vectors with others", name, k.Name(), workers, len(ids))
				}
				compare(t, fmt.Sprintf("%s, %s, %d tokens", name, k.Name(), len(ids)), all[:n], want[i])
				all = all[n:]
			}
			team.Close()
		}
	}
	return want[0]
}

// The embeddings of an encoder may be narrower or wider than its layers: positions and the norm are as
// wide, and the projection comes last.
func TestEncoderEmbedWidth(t *testing.T) {
	for _, position := range []transformer.Position{transformer.NoPosition, transformer.Learned, transformer.Sinusoidal, transformer.SinusoidalFirst} {
		for _, width := range []int{10, 40} {
			s := encoder()
			s.Position, s.EmbedWidth, s.EmbedScale = position, width, 1.5
			compareEncoder(t, fmt.Sprintf("position %d, width %d", position, width), s)
		}
	}
	for want, change := range map[string]func(s *transformer.Spec){
		"embed_width: 10 is negative, or there is an encoder with a decoder": func(s *transformer.Spec) { s.Decoder = []int{0} },
		"embed_width: -1":                   func(s *transformer.Spec) { s.EmbedWidth = -1 },
		"with a decoder, a head or patches": func(s *transformer.Spec) { s.MaskedHead = true },
	} {
		s := encoder()
		s.EmbedWidth = 10
		change(s)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Scores of an encoder decrease by distance on both sides of a token, by a slope of each head of queries.
func TestEncoderSlopes(t *testing.T) {
	plain := compareEncoder(t, "no slopes", encoder())
	for _, window := range []int{0, 20} {
		s := encoder()
		a := &s.Kinds[0].Attention
		a.Heads, a.KVHeads, a.HeadDim, a.Window, a.Slopes = 4, 2, 6, window, []float32{0.5, 0.05, 0.25, 0.01}
		compareEncoder(t, fmt.Sprintf("slopes, window %d", window), s)
		model, text := load(t, transformertest.New(s, 5), kernel.Best(), transformer.F32), [][]int{tokens(150, 29)}
		team := transformer.NewTeam(3)
		shared, alone := model.NewPass(team), model.NewPass(nil)
		shared.ShareAll = true // two heads of keys are too few for three workers
		must(shared.Encode(text))
		must(alone.Encode(text))
		if !slices.Equal(shared.Last(), alone.Last()) {
			t.Errorf("window %d: a team computes other vectors", window)
		}
		team.Close()
	}
	s := encoder()
	s.Kinds[0].Attention.Slopes = []float32{0.5, 0.25, 0.1}
	if d := far(compareEncoder(t, "three slopes", s), plain); !(d > 1e-3) {
		t.Errorf("slopes change vectors by %v: the test shows nothing", d)
	}
	for _, change := range []func(s *transformer.Spec){
		func(s *transformer.Spec) { s.Decoder = []int{0} },
		func(s *transformer.Spec) { s.RelativeBuckets, s.RelativeDistance = 32, 128 },
	} {
		s := encoder()
		s.Kinds[0].Attention.Slopes = []float32{0.5, 0.25, 0.1}
		change(s)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), "slopes") {
			t.Error(err)
		}
	}
}

// Experts of an encoder's layers may have no gates.
func TestEncoderExperts(t *testing.T) {
	s := encoder()
	dense := s.Kinds[0]
	dense.FeedForward.Experts = &transformer.Experts{Count: 5, Used: 2}
	s.Kinds, s.Encoder = append(s.Kinds, dense), []int{0, 1, 0}
	compareEncoder(t, "experts", s)
	dense.FeedForward.Experts = &transformer.Experts{Count: 3, Used: 1, Shared: 16, Renormalised: true}
	s.Kinds[1] = dense
	compareEncoder(t, "a shared block too", s)
	s.Kinds[1].FeedForward.Activation = transformer.Universal
	if err := s.Check(); err == nil || !strings.Contains(err.Error(), "kinds[1].feed_forward.activation: ") {
		t.Error(err)
	}
}

// Layers may be computed in another order than that of their weights, and more than once.
func TestEncoderOrder(t *testing.T) {
	s := encoder()
	plain := compareEncoder(t, "each once", s)
	s.Order = []int{0, 1, 2}
	if d := far(compareEncoder(t, "each once in order", s), plain); d != 0 {
		t.Errorf("the usual order differs by %v", d)
	}
	s.Order = []int{1, 1, 2, 0, 1}
	if d := far(compareEncoder(t, "in another order", s), plain); !(d > 1e-3) || s.Depth() != 5 {
		t.Errorf("the order changes vectors by %v: the test shows nothing; depth %d", d, s.Depth())
	}
	for _, order := range [][]int{{0, 1}, {0, 1, 3}, {0, 1, 2, -1}} {
		s.Order = order
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), "order: there is a decoder, or it lacks a layer") {
			t.Errorf("%v: %v", order, err)
		}
	}
	s.Order, s.Decoder = []int{0, 1, 2}, []int{0}
	if err := s.Check(); err == nil || !strings.Contains(err.Error(), "order: ") {
		t.Error(err)
	}
}
