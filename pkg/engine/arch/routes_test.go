package arch_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// An expertAt is an expert of a layer.
type expertAt struct{ layer, expert int }

// A watcher sees which experts of a model that stay in its file are brought and dropped.
type watcher struct {
	transformer.Pages
	of       map[int]expertAt // by the page of a tensor
	brought  map[expertAt]bool
	resident map[expertAt]bool
}

func (w *watcher) Bring(page int) {
	w.brought[w.of[page]], w.resident[w.of[page]] = true, true
	w.Pages.Bring(page)
}

func (w *watcher) Drop(page int) {
	delete(w.resident, w.of[page])
	w.Pages.Drop(page)
}

// watch watches the experts of m.
func watch(m *arch.Model) *watcher {
	w := &watcher{Pages: m.Weights.Pages, of: map[int]expertAt{}, resident: map[expertAt]bool{}}
	for layer := range m.Weights.Decoder {
		for i := range m.Weights.Decoder[layer].Experts {
			e := &m.Weights.Decoder[layer].Experts[i]
			for _, l := range []transformer.Linear{e.Up, e.Gate, e.Down} {
				for _, t := range slices.Concat(l.Weight, []transformer.Tensor(l.Bias)) {
					w.of[t.Page] = expertAt{layer, i}
				}
			}
		}
	}
	m.Weights.Pages = w
	return w
}

// chosen returns the experts by layer that the last pass, of one token, used. Memory holds only
// those of the last layer with experts, so all others are brought anew.
func (w *watcher) chosen(layers int) map[string][]int {
	used := w.brought
	if layers == 1 {
		used = w.resident
	}
	by := map[string][]int{}
	for e := range used {
		name := strconv.Itoa(e.layer)
		by[name] = append(by[name], e.expert)
	}
	for _, list := range by {
		slices.Sort(list)
	}
	return by
}

// Every token goes to the experts that transformers' own routers choose for it.
func TestRoutes(t *testing.T) {
	files, err := filepath.Glob("testdata/*/routes.json")
	if err != nil || len(files) < 14 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		var golden struct {
			Tokens []int
			Layers map[string][][]int
		}
		if raw, err := os.ReadFile(file); err != nil || json.Unmarshal(raw, &golden) != nil {
			t.Fatal(file, err)
		}
		name := filepath.Base(filepath.Dir(file))
		m := must(arch.OpenPaged(os.DirFS(packedFiles(t, packed(t, name, transformer.F32))), ".", 1))
		w := watch(m)
		model := must(transformer.New(m.Spec, m.Weights, kernel.Best(), transformer.Stored))
		pass, cache := model.NewPass(nil), model.NewCache(len(golden.Tokens))
		for i, id := range golden.Tokens {
			w.brought = map[expertAt]bool{}
			must(pass.Forward([]transformer.Sequence{{Cache: cache, Tokens: []int{id}, Logits: 1}}))
			want := map[string][]int{}
			for layer, routes := range golden.Layers {
				want[layer] = routes[i]
			}
			if got := w.chosen(len(golden.Layers)); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: token %d goes to %v, want %v", name, i, got, want)
			}
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}
