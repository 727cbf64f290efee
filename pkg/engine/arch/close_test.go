package arch_test

import (
	"reflect"
	"testing"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// A model that is closed during a pass keeps its weights until the pass has ended, and
// computes no other.
func TestCloseInAPass(t *testing.T) {
	data := packed(t, "m2m_100", transformer.Q8_0)
	texts := [][]int{{1, 2, 3}}
	for _, what := range []string{"mapped", "read"} {
		open := func() *transformer.Model {
			fsys := onDisk(t, data)
			if what == "read" {
				fsys = inMemory(data)
			}
			m := must(arch.Open(fsys, "."))
			t.Cleanup(func() { m.Close() })
			return must(transformer.New(m.Spec, m.Weights, kernel.Best(), transformer.Stored))
		}
		want := must(open().NewPass(nil).Encode(texts))
		model := open()
		pass, closed := model.NewPass(nil), 0
		pass.Hidden = func(bool, int, []float32) {
			closed++
			model.Close()
		}
		got, err := pass.Encode(texts)
		if err != nil || closed < 2 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: closed %d times, %v", what, closed, err)
		}
		if _, err := pass.Encode(texts); err == nil {
			t.Errorf("%s: a closed model computes", what)
		}
		if _, err := model.NewPass(nil).Forward(nil); err == nil {
			t.Errorf("%s: a closed model computes", what)
		}
	}
}
