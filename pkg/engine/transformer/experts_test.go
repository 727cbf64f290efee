package transformer_test

import (
	"slices"
	"strings"
	"testing"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/engine/transformer/transformertest"
)

// A token multiplies the matrices of the experts that it uses, whatever their number.
func TestProductBytes(t *testing.T) {
	bytes := func(count, used int) int64 {
		spec := rich()
		for i := range spec.Kinds {
			spec.Kinds[i].FeedForward.Experts = &transformer.Experts{Count: count, Used: used}
		}
		m := transformertest.New(spec, 5)
		m.Weights.Head = transformer.Linear{} // which some seeds have
		return m.Weights.ProductBytes(spec, transformer.Q8_0)
	}
	few, many := bytes(4, 2), bytes(8, 2)
	router := int64(len(rich().Decoder) * 16 * 24 * 4) // panels of 16 rows: four and eight experts take as much
	if d := many - few; d < 0 || d > router {
		t.Errorf("with twice as many experts, a token uses %d bytes instead of %d", many, few)
	}
	if more := bytes(4, 3); more <= few {
		t.Errorf("with three of four experts, a token uses %d bytes, with two %d", more, few)
	}
}

// Routers are not rounded: that would choose other experts.
func TestRouterFormat(t *testing.T) {
	m := transformertest.New(rich(), 5)
	layout, err := transformer.NewLayout(m.Spec, m.Weights, kernel.Best(), transformer.Q4_0)
	if err != nil {
		t.Fatal(err)
	}
	exact := 0
	for _, tensor := range layout.Tensors {
		switch {
		case strings.HasSuffix(tensor.Name, ".router") || strings.HasSuffix(tensor.Name, ".shared_gate"):
			if exact++; tensor.Format != transformer.F32 {
				t.Errorf("%s is in %v", tensor.Name, tensor.Format)
			}
		case strings.Contains(tensor.Name, ".expert.") && strings.HasSuffix(tensor.Name, ".up") && tensor.Format != transformer.Q4_0:
			t.Errorf("%s is in %v", tensor.Name, tensor.Format)
		}
	}
	if exact != 2*len(m.Spec.Decoder) {
		t.Errorf("%d routers and gates", exact)
	}
}

// Of equal logits those of the lowest indices are used.
func TestEqualLogits(t *testing.T) {
	for _, c := range []struct {
		logits []float32
		want   []int
	}{
		{[]float32{0, 0, 0, 0}, []int{0, 1}},
		{[]float32{1, 2, 1, 1}, []int{0, 1}},
		{[]float32{-1, 3, 0, 3, 3}, []int{1, 3}},
		{[]float32{1, 1, 1, 2}, []int{0, 3}},
	} {
		e := transformer.Experts{Count: len(c.logits), Used: 2, Renormalised: true}
		chosen, shares := e.Choose(c.logits)
		if !slices.Equal(chosen, c.want) {
			t.Errorf("%v: experts %v, want %v", c.logits, chosen, c.want)
		}
		if sum := shares[0] + shares[1]; sum < 0.9999 || sum > 1.0001 {
			t.Errorf("%v: the shares are %v", c.logits, shares)
		}
	}
}

// Experts of groups that are not among the best are not used, though their probabilities are high.
func TestGroups(t *testing.T) {
	e := transformer.Experts{Count: 6, Used: 2, Groups: 3, GroupsUsed: 1}
	chosen, shares := e.Choose([]float32{2, 2.5, 3, 0, 2.9, 2.9})
	if !slices.Equal(chosen, []int{2, 3}) || shares[0] < 10*shares[1] {
		t.Errorf("experts %v, shares %v", chosen, shares)
	}
	if e.GroupsUsed = 2; !slices.Equal(first(e.Choose([]float32{2, 2.5, 3, 0, 2.9, 2.9})), []int{2, 4}) {
		t.Error("experts of the best two groups are not chosen")
	}
}

func first(chosen []int, _ []float32) []int { return chosen }

// Groups of experts that do not fit are refused.
func TestSpecRefusesGroups(t *testing.T) {
	for want, change := range map[string]func(*transformer.Spec, *transformer.Kind){
		"kinds[0].feed_forward.experts.groups: 2 do not divide 5": func(_ *transformer.Spec, k *transformer.Kind) { k.FeedForward.Experts.Groups = 2 },
		"kinds[0].feed_forward.experts.groups: -1":                func(_ *transformer.Spec, k *transformer.Kind) { k.FeedForward.Experts.Groups = -1 },
		"kinds[0].feed_forward.experts.groups_used: 1 of 0":       func(_ *transformer.Spec, k *transformer.Kind) { k.FeedForward.Experts.GroupsUsed = 1 },
		"kinds[0].feed_forward.experts.groups_used: 1 of 5 have 2": func(_ *transformer.Spec, k *transformer.Kind) {
			k.FeedForward.Experts.Groups, k.FeedForward.Experts.GroupsUsed = 5, 1
		},
		"kinds[0].feed_forward.experts.groups_used: 6 of 5": func(_ *transformer.Spec, k *transformer.Kind) {
			k.FeedForward.Experts.Groups, k.FeedForward.Experts.GroupsUsed = 5, 6
		},
	} {
		s := rich()
		change(s, &s.Kinds[0])
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
