package transformer_test

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/engine/transformer/transformertest"
)

// Portions of a pass compute the same to the bit as the whole pass, whatever the architecture: the
// encoded texts, what is left of the last layer, and logits after some of the tokens.
func TestPortions(t *testing.T) {
	lengths := []int{9, 11, 10, 10, 11, 9}
	for _, seed := range architectures {
		m := transformertest.Random(uint64(seed))
		model := load(t, m, kernel.Best(), transformer.Q8_0)
		comparePortions(t, fmt.Sprint("seed ", seed), model, func(team *transformer.Team, pass *transformer.Pass) (results []float32) {
			var seqs []transformer.Sequence
			var sources [][]int
			for i, n := range lengths {
				seqs = append(seqs, transformer.Sequence{Cache: model.NewCache(n + 5), Tokens: tokens(n, 29), Logits: i % 2})
				sources = append(sources, tokens(n+1, 31))
			}
			if len(m.Spec.Encoder) > 0 {
				for i, memory := range must(pass.Encode(sources)) {
					seqs[i].Memory = memory
				}
				results = append(results, pass.Last()...)
			}
			for step := range 5 { // the next passes use the memory of the last
				switch step {
				case 3:
					pass.ShareAll = true // no portions
				case 4:
					pass.ShareAll = false
					team.Close() // nor does it work any more
				}
				results = append(results, must(pass.Forward(seqs))...)
				results = append(results, pass.Last()...)
				if pass.PortionsHold() {
					t.Errorf("seed %d: portions keep what they were lent", seed)
				}
				for i := range seqs {
					seqs[i].Tokens, seqs[i].Logits = []int{i}, 1
				}
			}
			return results
		})
	}
}

// comparePortions checks that teams of two and of three compute in portions what one worker does.
func comparePortions(t *testing.T, what string, model *transformer.Model, compute func(*transformer.Team, *transformer.Pass) []float32) {
	t.Helper()
	var want []float32
	for workers := 1; workers <= 3; workers++ {
		team := transformer.NewTeam(workers)
		pass := model.NewPass(team)
		pass.ShareTexts = true
		got := compute(team, pass)
		team.Close()
		if pass.PortionsHold() {
			t.Errorf("%s: portions keep what they were lent", what)
		}
		if workers == 1 {
			want = got
		} else if n := pass.Portions(); n != workers || !slices.Equal(got, want) {
			t.Errorf("%s, %d workers: %d portions compute something else than the whole", what, workers, n)
		}
	}
}

// Workers compute parts of the same text to the same bits, whatever the architecture: one text and two, the
// rest of a long one, and single tokens behind it.
func TestChains(t *testing.T) {
	for _, seed := range architectures {
		m := transformertest.Random(uint64(seed))
		if len(m.Spec.Decoder) == 0 {
			continue
		}
		model := load(t, m, kernel.Best(), transformer.Q8_0)
		comparePortions(t, fmt.Sprint("seed ", seed), model, func(_ *transformer.Team, pass *transformer.Pass) (results []float32) {
			var seqs []transformer.Sequence
			for range 2 {
				s := transformer.Sequence{Cache: model.NewCache(40)}
				if len(m.Spec.Encoder) > 0 {
					s.Memory = must(pass.Encode([][]int{tokens(7, 29)}))[0]
				}
				seqs = append(seqs, s)
			}
			for _, step := range []struct{ first, second, logits int }{{13, 0, 2}, {11, 4, 9}, {2, 9, 3}, {1, 1, 1}} {
				seqs[0].Tokens, seqs[0].Logits = tokens(step.first, 29), min(step.logits, step.first)
				seqs[1].Tokens, seqs[1].Logits = tokens(step.second, 29), min(step.logits, step.second)
				some := seqs
				if step.second == 0 {
					some = seqs[:1]
				}
				results = append(results, must(pass.Forward(some))...)
				results = append(results, pass.Last()...)
			}
			return results
		})
	}
}

// A portion mixes the tokens of a layer after the portion before it has, but the first waits for nobody.
func TestChainWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		passes := transformer.Chain(transformer.NewTeam(2), 2)
		var mixed atomic.Int32
		go func() {
			for range 2 {
				passes[1].Follow()
				mixed.Add(1)
				passes[1].Precede()
			}
		}()
		for layer := range int32(2) {
			synctest.Wait()
			if n := mixed.Load(); n != layer {
				t.Fatalf("the second portion has mixed %d layers, the first %d", n, layer)
			}
			passes[0].Follow()
			passes[0].Precede()
		}
		synctest.Wait()
		if n := mixed.Load(); n != 2 {
			t.Errorf("the second portion has mixed %d layers, the first 2", n)
		}
	})
}

// A text is cut where its tokens cost half of all, of which later ones see more, and its last rows of logits
// are those of its parts. Vectors are not cut from their tokens.
func TestCuts(t *testing.T) {
	spec, w := plain(64, 2, 300)
	spec.Context, w.Positions = 2000, matrix("positions", 2000, 64)
	m := must(transformer.New(spec, w, kernel.Best(), transformer.F32))
	pass := m.NewPass(nil)
	seq := func(start, n, logits int) transformer.Sequence {
		c := m.NewCache(start + n)
		c.Len = start
		return transformer.Sequence{Cache: c, Tokens: tokens(n, 300), Logits: logits}
	}
	for _, test := range []struct {
		seqs    []transformer.Sequence
		workers int
		parts   [][3]int
		starts  []int
		chained bool
	}{
		{[]transformer.Sequence{seq(0, 16, 10)}, 2, [][3]int{{0, 9, 3}, {9, 7, 7}}, []int{0, 1, 2}, true},
		{[]transformer.Sequence{seq(0, 1000, 1)}, 2, [][3]int{{0, 650, 0}, {650, 350, 1}}, []int{0, 1, 2}, true},
		{[]transformer.Sequence{seq(5, 8, 1), seq(5, 8, 8)}, 2, [][3]int{{5, 8, 1}, {5, 8, 8}}, []int{0, 1, 2}, false},
		{[]transformer.Sequence{seq(5, 1, 1), seq(5, 1, 1), seq(5, 1, 1)}, 3, [][3]int{{5, 1, 1}, {5, 1, 1}, {5, 1, 1}}, []int{0, 1, 2, 3}, false},
		{[]transformer.Sequence{seq(5, 3, 1), seq(5, 9, 2)}, 3, [][3]int{{5, 3, 1}, {5, 2, 0}, {7, 4, 0}, {11, 3, 2}}, []int{0, 2, 3, 4}, true},
		{[]transformer.Sequence{{Cache: m.NewCache(8), Tokens: tokens(8, 300), Vectors: make([]float32, 64)}}, 2, nil, nil, false},
	} {
		parts, starts, chained := pass.Cut(test.seqs, test.workers)
		if !slices.Equal(parts, test.parts) || !slices.Equal(starts, test.starts) || chained != test.chained {
			t.Errorf("%d workers: %v from %v, chained %v, want %v from %v, %v", test.workers, parts, starts, chained, test.parts, test.starts, test.chained)
		}
	}
}

// What some portions fail with is the result of the pass, and the next one has nothing of it.
func TestPortionsStop(t *testing.T) {
	texts := [][]int{{1, 2, 3}, {2, 3, 1}}
	seed := uint64(0)
	for len(transformertest.Random(seed).Spec.Encoder) < 2 {
		seed++
	}
	model := load(t, transformertest.Random(seed), kernel.Best(), transformer.F32)
	team := transformer.NewTeam(2)
	defer team.Close()
	pass := model.NewPass(team)
	pass.ShareTexts = true
	must(pass.Encode(texts))
	want := slices.Clone(pass.Last())
	var asked atomic.Int32
	pass.Stop = func() bool { return asked.Add(1) == 2 } // one of the two portions
	if memories, err := pass.Encode(texts); !errors.Is(err, transformer.ErrStopped) || memories != nil {
		t.Errorf("a stopped portion: %v, %v", memories, err)
	}
	pass.Stop = nil
	if must(pass.Encode(texts)); !slices.Equal(pass.Last(), want) {
		t.Error("after a stop the pass computes something else")
	}
}

// Texts are divided where the portions cost about the same.
func TestLikePortions(t *testing.T) {
	for _, test := range []struct {
		costs   []int64
		workers int
		want    []int
	}{
		{[]int64{1, 1, 1, 1}, 2, []int{0, 2, 4}},
		{[]int64{1, 1, 1, 1, 1, 1}, 3, []int{0, 2, 4, 6}},
		{[]int64{2, 2, 4}, 2, []int{0, 2, 3}},
		{[]int64{4, 2, 2}, 2, []int{0, 1, 3}},
		{[]int64{17, 15}, 2, []int{0, 1, 2}},
		{[]int64{18, 14}, 2, nil},
		{[]int64{14, 18}, 2, nil},
		{[]int64{1, 1, 1}, 2, nil},
		{[]int64{9, 1, 1}, 2, nil},
		{[]int64{1, 1, 9}, 2, nil},
		{[]int64{5, 0, 5}, 3, nil},
	} {
		if got := transformer.LikePortions(test.costs, test.workers); !slices.Equal(got, test.want) {
			t.Errorf("%v for %d workers: %v, want %v", test.costs, test.workers, got, test.want)
		}
	}
}

// A pass has portions only if each has tokens enough, and nobody watches the layers.
func TestNoPortions(t *testing.T) {
	team := transformer.NewTeam(2)
	defer team.Close()
	for _, test := range []struct {
		name  string
		rows  int
		each  int // tokens of a row
		later int // rows whose tokens come late
		set   func(*transformer.Pass)
		has   bool
	}{
		{"enough", 16, 1, 0, nil, true},
		{"one more", 17, 1, 0, nil, true},
		{"too few", 14, 1, 0, nil, false},
		{"one", 1, 1, 0, nil, false},
		{"tokens of one", 1, 17, 0, nil, true},
		{"too few of one", 1, 14, 0, nil, false},
		{"7 that see many tokens and 9 that do not", 16, 1, 7, nil, false},
		{"watched", 16, 1, 0, func(p *transformer.Pass) { p.Hidden = func(bool, int, []float32) {} }, false},
		{"one way for all", 16, 1, 0, func(p *transformer.Pass) { p.ShareAll = true }, false},
		{"a portion for each", 2, 1, 0, func(p *transformer.Pass) { p.ShareTexts = true }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			spec, w := plain(256, 2, 300)
			spec.Context, w.Positions = 2000, matrix("positions", 2000, 256)
			m := must(transformer.New(spec, w, kernel.Best(), transformer.F32)) // which knows no speeds
			pass := m.NewPass(team)
			if test.set != nil {
				test.set(pass)
			}
			var seqs []transformer.Sequence
			for i := range test.rows {
				c := m.NewCache(1600)
				if i < test.later {
					c.Len = 1500
				}
				seqs = append(seqs, transformer.Sequence{Cache: c, Tokens: tokens(test.each, 300), Logits: 1})
			}
			must(pass.Forward(seqs))
			if got := pass.Portions() > 0; got != test.has {
				t.Errorf("portions: %v, want %v", got, test.has)
			}
		})
	}
}
