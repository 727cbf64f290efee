package transformer_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/engine/transformer/transformertest"
)

// deepen adds what the vectors of a layer add.
func (m formulas) deepen(x rows, layer int, tokens []int) {
	vectors := m.vectors
	for i, t := range tokens {
		if t < 0 {
			add(x[i], vectors[0][1+layer])
			vectors = vectors[1:]
		}
	}
}

// turn applies the rotary embedding of a position to all heads of dim values.
func (m formulas) turn(a *transformer.Attention, dim, pos int, x []float64) []float64 {
	if a.Rotary == 0 {
		return x
	}
	r, out := &m.Spec.Rotaries[a.Rotary-1], append([]float64{}, x...)
	for h := 0; h < len(x); h += dim {
		for j, f := range r.Frequencies {
			first, second := h+j, h+j+r.Dims/2
			if r.Interleaved {
				first, second = h+2*j, h+2*j+1
			}
			at := pos
			if r.Axes != nil && m.place != nil {
				at = m.place(pos, r.Axes[j])
			}
			sin, cos := math.Sincos(float64(float32(at) * f))
			if r.Magnitude != 0 {
				sin, cos = sin*float64(r.Magnitude), cos*float64(r.Magnitude)
			}
			out[first] = x[first]*cos - x[second]*sin
			out[second] = x[second]*cos + x[first]*sin
		}
	}
	return out
}

// walk returns the position of a token on an axis, counting words and pictures from the first token on.
func walk(grids []transformer.Grid) func(token, axis int) int {
	return func(token, axis int) int {
		at, next := 0, 0 // a token, and its position
		for {
			if i := slices.IndexFunc(grids, func(g transformer.Grid) bool { return g.At == at }); i >= 0 {
				for row := range grids[i].Rows {
					for column := range grids[i].Columns {
						if at == token {
							return []int{next, next + row, next + column}[axis]
						}
						at++
					}
				}
				next += max(grids[i].Rows, grids[i].Columns)
				continue
			}
			if at == token {
				return next
			}
			at, next = at+1, next+1
		}
	}
}

// placed returns random decoders whose rotary tables have axes, and which add vectors to two layers.
func placed(t *testing.T) (list []*transformertest.Model) {
	for seed := uint64(0); len(list) < 12; seed++ {
		s := transformertest.Random(seed).Spec
		if len(s.Encoder) > 0 || len(s.Rotaries) == 0 || s.Streams > 0 || s.LayerInputs > 0 || len(s.Decoder) < 2 {
			continue
		}
		for i := range s.Rotaries {
			for j := range s.Rotaries[i].Frequencies {
				s.Rotaries[i].Axes = append(s.Rotaries[i].Axes, (i+j+1)%3)
			}
		}
		s.Deep = 2
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		list = append(list, transformertest.New(s, seed))
	}
	return list
}

// Tokens of pictures turn by their rows and columns, those behind them follow, and the first layers add
// vectors of pictures: as the formulas say, however a text is divided into passes.
func TestPlaces(t *testing.T) {
	grids := []transformer.Grid{{At: 3, Rows: 2, Columns: 4}, {At: 11, Rows: 3, Columns: 1}, {At: 20, Rows: 5, Columns: 5}}
	ids := tokens(60, 29)
	for _, g := range grids {
		for i := range g.Rows * g.Columns {
			ids[g.At+i] = -1 - i
		}
	}
	for n, m := range placed(t) {
		want, flat := formulas{Model: m, place: walk(grids)}, []float32(nil)
		width := m.Spec.Width
		for i := range 36 {
			var token rows
			for layer := range 3 {
				x := make([]float64, width)
				for j := range x {
					x[j] = float64((i*7+layer*5+j*3)%11)/5 - 1
					flat = append(flat, float32(x[j]))
				}
				token = append(token, x)
			}
			want.vectors = append(want.vectors, token)
		}
		logits := want.logits(nil, ids)
		if plain := (formulas{Model: m, vectors: want.vectors}).logits(nil, ids); !(far(logits, plain) > 1e-3) {
			t.Errorf("%d: places change nothing", n)
		}
		for _, k := range kernel.Implementations() {
			model := load(t, m, k, transformer.F32)
			for _, step := range []int{60, 13, 1} {
				team := transformer.NewTeam(1 + step%2)
				pass, cache, got, vectors := model.NewPass(team), model.NewCache(60), []float32(nil), flat
				pass.ShareAll, cache.Grids = true, grids
				for at := 0; at < 60; at += step {
					part := ids[at:min(at+step, 60)]
					seq := transformer.Sequence{Cache: cache, Tokens: part, Logits: len(part), Vectors: vectors}
					for _, id := range part {
						if id < 0 {
							vectors = vectors[3*width:]
						}
					}
					got = append(got, must(pass.Forward([]transformer.Sequence{seq}))...)
					cache = model.Fork(cache, 60)
				}
				team.Close()
				compare(t, fmt.Sprintf("%d, %s, passes of %d", n, k.Name(), step), got, logits)
			}
		}
	}
}

// A text without pictures has the bits of a model without axes.
func TestPlacesOfWords(t *testing.T) {
	for n, m := range placed(t) {
		plain := *m.Spec
		plain.Rotaries, plain.Deep = slices.Clone(plain.Rotaries), 0
		for i := range plain.Rotaries {
			plain.Rotaries[i].Axes = nil
		}
		ids := tokens(40, 29)
		logits := func(s *transformer.Spec) []float32 {
			model := must(transformer.New(s, m.Weights, kernel.Best(), transformer.F32))
			return must(model.NewPass(nil).Forward([]transformer.Sequence{{Cache: model.NewCache(40), Tokens: ids, Logits: 40}}))
		}
		if !slices.Equal(logits(m.Spec), logits(&plain)) {
			t.Errorf("%d: axes change a text", n)
		}
	}
}

// patched is an encoder of patches with places, which keeps two results.
func patched() *transformer.Spec {
	each := transformer.Frequencies(50, 4)
	return &transformer.Spec{
		Patch: 12, Context: 9, Width: 20, Position: transformer.Learned, Eps: 1e-6, Encoder: []int{0, 0, 0}, Kept: []int{1, 3},
		Rotaries: []transformer.Rotary{{Dims: 8, Frequencies: slices.Concat(each, each), Axes: []int{1, 1, 2, 2}}},
		Kinds: []transformer.Kind{{
			Attention:   transformer.Attention{Heads: 2, KVHeads: 2, HeadDim: 8, Rotary: 1},
			FeedForward: transformer.FeedForward{Width: 24, Activation: transformer.GELU},
		}},
	}
}

// Patches turn by their rows and columns, their positions are shares of a table, and layers keep their
// results.
func TestPatchPlaces(t *testing.T) {
	const rows, columns = 3, 5
	m := transformertest.New(patched(), 7)
	picture := transformer.Patches{}
	for i := range rows * columns {
		for j := range m.Spec.Patch {
			picture.Values = append(picture.Values, float32((i*5+j*3)%13)/6-1)
		}
		picture.Places = append(picture.Places, transformer.Place{0, i / columns, i % columns})
		picture.Positions = append(picture.Positions, i%9, (i*2+1)%9)
		picture.Shares = append(picture.Shares, 0.25, float32(i+1)/16)
	}
	f := formulas{Model: m, place: func(token, axis int) int { return picture.Places[token][axis] }}
	var x [][]float64
	for i := range picture.Places {
		patch := make([]float64, m.Spec.Patch)
		for j := range patch {
			patch[j] = float64(picture.Values[i*m.Spec.Patch+j])
		}
		y := f.linear("patches", patch)
		for k := range 2 {
			add(y, times(f.row("positions", picture.Positions[2*i+k]), picture.Shares[2*i+k]))
		}
		x = append(x, y)
	}
	for _, k := range kernel.Implementations() {
		model := load(t, m, k, transformer.F32)
		for threads := range 3 {
			team := transformer.NewTeam(1 + threads)
			pass := model.NewPass(team)
			pass.ShareAll = true
			must(0, pass.EncodePatches([]transformer.Patches{picture}))
			for i, layer := range m.Spec.Kept {
				compare(t, fmt.Sprintf("%s, layer %d", k.Name(), layer), pass.Kept(i), f.run("encoder", m.Spec.Encoder[:layer], nil, x, nil))
			}
			compare(t, k.Name(), pass.Last(), f.run("encoder", m.Spec.Encoder, nil, x, nil))
			team.Close()
		}
	}
}

// Descriptions of places and of what layers keep or add that cannot be computed are refused.
func TestPlacesRefused(t *testing.T) {
	for want, change := range map[string]func(s *transformer.Spec){
		"rotaries[0].axes: 3 of 4 frequencies": func(s *transformer.Spec) { s.Rotaries[0].Axes = []int{1, 1, 2} },
		"rotaries[0].axes: one is not below 3": func(s *transformer.Spec) { s.Rotaries[0].Axes[3] = 3 },
		"rotaries[0].axes: one":                func(s *transformer.Spec) { s.Rotaries[0].Axes[3] = -1 },
		"rotaries[0].axes: there is":           func(s *transformer.Spec) { s.Class = true },
		"kept: layer 4 of 3":                   func(s *transformer.Spec) { s.Kept[1] = 4 },
		"kept: layer 0 of 3":                   func(s *transformer.Spec) { s.Kept[0] = 0 },
		"kept: layer 1 of 3":                   func(s *transformer.Spec) { s.Kept[1] = 1 },
		"kept: there are no patches":           func(s *transformer.Spec) { s.Patch, s.Vocab = 0, 30 },
		"deep: 1 of 0 layers":                  func(s *transformer.Spec) { s.Deep = 1 },
		"deep: -1":                             func(s *transformer.Spec) { s.Deep = -1 },
	} {
		s := patched()
		change(s)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
