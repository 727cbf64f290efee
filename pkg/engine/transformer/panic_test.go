package transformer_test

import (
	"slices"
	"testing"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/engine/transformer/transformertest"
)

// A panic in a portion is that of the pass, whose caches are empty then, also where another portion waits for
// it. The team computes the next pass as ever.
func TestPortionsPanic(t *testing.T) {
	spec, w := plain(64, 2, 300)
	m := must(transformer.New(spec, w, kernel.Best(), transformer.F32))
	team := transformer.NewTeam(2)
	defer team.Close()
	compute := func(texts ...[]int) (logits []float32, kept int, cause any) {
		pass := m.NewPass(team)
		pass.ShareTexts = true
		var seqs []transformer.Sequence
		for _, ids := range texts {
			seqs = append(seqs, transformer.Sequence{Cache: m.NewCache(20), Tokens: ids, Logits: 1})
		}
		defer func() {
			cause = recover()
			for i := range seqs {
				kept += seqs[i].Cache.Len
			}
			if pass.Portions() != 2 {
				t.Errorf("%d portions", pass.Portions())
			}
		}()
		return slices.Clone(must(pass.Forward(seqs))), 0, nil
	}
	ids := tokens(16, 300)
	want, _, _ := compute(ids)
	broken := func(at int) []int {
		list := slices.Clone(ids)
		list[at] = 1 << 40 // no embedding has this row
		return list
	}
	for name, texts := range map[string][][]int{
		"the first text": {broken(0), ids}, "the second text": {ids, broken(0)}, "the first part of a text": {broken(0)}, "the last part": {broken(15)},
	} {
		if _, kept, cause := compute(texts...); cause == nil || kept > 0 {
			t.Errorf("%s: %d tokens are in caches after the panic %v", name, kept, cause)
		}
		if got, kept, cause := compute(ids); cause != nil || kept != 16 || !slices.Equal(got, want) {
			t.Errorf("%s: the next pass computes something else, or panics: %v", name, cause)
		}
	}
}

// A panic in one worker's part of a layer ends the parts of the others.
func TestLayerPanics(t *testing.T) {
	seed := uint64(0)
	for len(transformertest.Random(seed).Spec.Encoder) < 2 {
		seed++
	}
	model := load(t, transformertest.Random(seed), kernel.Best(), transformer.F32)
	team := transformer.NewTeam(3)
	defer team.Close()
	compute := func(stop func() bool) (last []float32, cause any) {
		pass := model.NewPass(team)
		pass.ShareAll, pass.Stop = true, stop
		defer func() { cause = recover() }()
		must(pass.Encode([][]int{{1, 2, 3}, {2}}))
		return slices.Clone(pass.Last()), nil
	}
	want, _ := compute(nil)
	if _, cause := compute(func() bool { panic("a fault") }); cause == nil { // of the first worker
		t.Error("no panic")
	}
	if got, cause := compute(nil); cause != nil || !slices.Equal(got, want) {
		t.Errorf("the next pass computes something else, or panics: %v", cause)
	}
}

// fallen is a shelf that panics where an expert leaves it.
type fallen struct{ shelf }

func (*fallen) Drop(int) { panic("a fault") }

// A panic while experts are brought into memory leaves nothing locked for which other passes would wait.
func TestPagesPanic(t *testing.T) {
	spec, w, _ := mixture(t)
	w.Pages, w.PageMemory = &fallen{}, 0
	m := must(transformer.New(spec, w, kernel.Best(), transformer.Stored))
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		must(decodeEach(m, []int{1}))
	}()
	if m.PagesLocked() {
		t.Error("the experts are locked after the panic")
	}
}
