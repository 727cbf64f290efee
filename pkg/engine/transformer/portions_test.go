package transformer_test

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"

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
		compute := func(workers int) (results []float32, portions int) {
			team := transformer.NewTeam(workers)
			defer team.Close()
			pass := model.NewPass(team)
			pass.ShareTexts = true
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
			return results, pass.Portions()
		}
		want, _ := compute(1)
		for _, workers := range []int{2, 3} {
			got, portions := compute(workers)
			if portions != workers {
				t.Fatalf("seed %d: %d portions for %d workers", seed, portions, workers)
			}
			if !slices.Equal(got, want) {
				t.Errorf("seed %d, %d workers: portions compute something else than the whole", seed, workers)
			}
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
		later int // rows whose token comes late
		set   func(*transformer.Pass)
		has   bool
	}{
		{"enough", 16, 0, nil, true},
		{"one more", 17, 0, nil, true},
		{"too few", 14, 0, nil, false},
		{"one", 1, 0, nil, false},
		{"7 that see many tokens and 9 that do not", 16, 7, nil, false},
		{"watched", 16, 0, func(p *transformer.Pass) { p.Hidden = func(bool, int, []float32) {} }, false},
		{"one way for all", 16, 0, func(p *transformer.Pass) { p.ShareAll = true }, false},
		{"a portion for each", 2, 0, func(p *transformer.Pass) { p.ShareTexts = true }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			spec, w := plain(256, 2, 300)
			m := must(transformer.New(spec, w, kernel.Best(), transformer.F32)) // which knows no speeds
			pass := m.NewPass(team)
			if test.set != nil {
				test.set(pass)
			}
			var seqs []transformer.Sequence
			for i := range test.rows {
				c := m.NewCache(64)
				if i < test.later {
					c.Len = 62
				}
				seqs = append(seqs, transformer.Sequence{Cache: c, Tokens: []int{1}, Logits: 1})
			}
			must(pass.Forward(seqs))
			if got := pass.Portions() > 0; got != test.has {
				t.Errorf("portions: %v, want %v", got, test.has)
			}
		})
	}
}
