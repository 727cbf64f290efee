package transformer_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/checkpoint/checkpointtest"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// open builds the model of ck with the cap that override names.
func open(t testing.TB, ck *checkpoint.Alpha, k *kernel.Kernels, override string) *transformer.Model {
	t.Helper()
	m, err := arch.FromAlpha(ck, override)
	if err != nil {
		t.Fatal(err)
	}
	model, err := transformer.New(m.Spec, m.Weights, k, transformer.F32)
	if err != nil {
		t.Fatal(err)
	}
	return model
}

// all returns the logits after every token, computed in one pass.
func all(m *transformer.Model, tokens []int) []float32 {
	p := m.NewPass(nil)
	return must(p.Forward([]transformer.Sequence{{Cache: m.NewCache(len(tokens)), Tokens: tokens, Logits: len(tokens)}}))
}

// The logits of upstream's code for the golden checkpoint.
func TestGoldenLogits(t *testing.T) {
	for _, test := range []struct {
		override string
		tokens   []int
		want     []float64
	}{
		{"", []int{1}, []float64{0.78016621, -0.14802673, 0.70530152}},
		{"", []int{1, 2}, []float64{-0.60464686, -0.25985014, -0.66253716}},
		{"none", []int{1, 2, 0, 2}, []float64{-0.90267611, 1.4191508, -0.97111875}},
		{"clamp30", []int{1, 2, 0, 2}, []float64{-0.90267611, 1.4191508, -0.97111875}}, // no score is near 30
		{"tanh30", []int{1, 2}, []float64{-0.6047436, -0.25973272, -0.66263384}},
		{"30", []int{1, 2, 0, 2}, []float64{-0.90262979, 1.4192327, -0.97107375}},
	} {
		for _, k := range kernel.Implementations() {
			got := all(open(t, checkpointtest.Golden(), k, test.override), test.tokens)
			for i, want := range test.want {
				if g := float64(got[len(got)-3+i]); math.Abs(g-want) > 1e-6 {
					t.Errorf("%s, cap %q, %v: logit %d is %.8f, want %.8f", k.Name(), test.override, test.tokens, i, g, want)
				}
			}
		}
	}
}

// random returns a checkpoint with every tensor random and scores large enough
// that a cap of 30 matters.
func random(activation string, fused bool) *checkpoint.Alpha {
	c := checkpoint.ModelConfig{VocabSize: 37, BlockSize: 24, NLayer: 2, NEmbd: 40, NHead: 4, FFNActivation: activation}
	if activation == checkpoint.Composed {
		c.ActivationGraph = json.RawMessage(composedGraph)
	}
	return randomShape(c, fused)
}

// randomShape is random with that configuration.
func randomShape(c checkpoint.ModelConfig, fused bool) *checkpoint.Alpha {
	rng := rand.New(rand.NewPCG(7, uint64(len(c.FFNActivation))))
	ck := &checkpoint.Alpha{Params: map[string]checkpoint.Tensor{}}
	ck.ModelConfig = c
	ck.Tokenizer = json.RawMessage(`{"type":"char","vocabSize":1,"vocab":["\n"]}`)
	for _, p := range checkpoint.Params(&ck.ModelConfig, fused) {
		data := make([]float32, p.Elements())
		for i := range data {
			data[i] = float32(rng.NormFloat64()) * 0.3
			if strings.Contains(p.Name, "attn.w") {
				data[i] *= 3
			}
			if len(p.Shape) == 1 || p.Shape[0] == 1 {
				data[i] += 1
			}
		}
		ck.Params[p.Name] = checkpoint.Tensor{Shape: p.Shape, Data: data}
	}
	return ck
}

func tokens(n, vocab int) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = (i*i + 5*i + 3) % vocab
	}
	return ids
}

// Every activation, attention layout and cap against the float64 reference.
func TestAgainstReference(t *testing.T) {
	caps := map[string]func(float64) float64{
		"none":    func(s float64) float64 { return s },
		"clamp30": func(s float64) float64 { return min(max(s, -30), 30) },
		"tanh30":  func(s float64) float64 { return 30 * math.Tanh(s/30) },
		"12.5":    func(s float64) float64 { return 12.5 * math.Tanh(s/12.5) },
	}
	for _, activation := range []string{
		"", checkpoint.SiLU, checkpoint.ReLU, checkpoint.SwiGLU, checkpoint.Universal, checkpoint.KANSpline, checkpoint.Composed,
	} {
		for _, fused := range []bool{false, true} {
			ck, ids := random(activation, fused), tokens(20, 37)
			outputs := map[string][][]float64{}
			for name, limit := range caps {
				want := reference{ck, limit}.logits(ids)
				outputs[name] = want
				for _, k := range kernel.Implementations() {
					compare(t, k.Name()+" "+activation+" "+name, all(open(t, ck, k, name), ids), want)
				}
			}
			if far(outputs["none"], outputs["clamp30"]) < 1e-3 || far(outputs["clamp30"], outputs["tanh30"]) < 1e-3 {
				t.Errorf("%q: the caps make no difference: the test shows nothing", activation)
			}
		}
	}
}

func compare(t *testing.T, what string, got []float32, want [][]float64) {
	t.Helper()
	flat := slices.Concat(want...)
	scale := 0.0
	for _, w := range flat {
		scale = max(scale, math.Abs(w))
	}
	for i, w := range flat {
		if d := math.Abs(float64(got[i]) - w); !(d <= 4e-5*scale) {
			t.Errorf("%s: logit %d is %v, want %v (scale %v)", what, i, got[i], w, scale)
			return
		}
	}
}

func far(a, b [][]float64) (d float64) {
	for i := range a {
		for j := range a[i] {
			d = max(d, math.Abs(a[i][j]-b[i][j]))
		}
	}
	return d
}

// Cached, chunked, forked and batched runs give the exact bits of one full pass.
func TestBatchInvariance(t *testing.T) {
	for _, k := range kernel.Implementations() {
		m := open(t, random(checkpoint.SwiGLU, true), k, "")
		ids, other := tokens(20, m.Vocab), tokens(9, m.Vocab-1)
		want := slices.Clone(all(m, ids))
		p := m.NewPass(nil)
		main, side := m.NewCache(m.Context), m.NewCache(m.Context)
		var got []float32
		for i, at := 0, 0; at < len(ids); i++ {
			n := min(1+i%3, len(ids)-at)
			seqs := []transformer.Sequence{{Cache: main, Tokens: ids[at : at+n], Logits: n}}
			if side.Len+i < len(other) {
				seqs = slices.Insert(seqs, i%2, transformer.Sequence{Cache: side, Tokens: other[side.Len : side.Len+i], Logits: i})
			}
			logits := must(p.Forward(seqs))
			for _, s := range seqs {
				if s.Cache == main {
					got = append(got, logits[:n*m.Vocab]...)
				}
				logits = logits[s.Logits*m.Vocab:]
			}
			at += n
			main = m.Fork(main, m.Context-i%2)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: a chunked run beside another differs from the full pass", k.Name())
		}
	}
}

func TestComposedGraphRefused(t *testing.T) {
	deep := `{"type":"basis","op":"silu"}`
	for range 100 {
		deep = `{"type":"scale","factor":1,"child":` + deep + `}`
	}
	for _, graph := range []string{"", "null", "[]", `{"type":"loop"}`, `{"type":"add","left":{"type":"basis"}}`, deep} {
		ck := random(checkpoint.Composed, false)
		ck.ModelConfig.ActivationGraph = json.RawMessage(graph)
		m, err := arch.FromAlpha(ck, "")
		if err == nil {
			_, err = transformer.New(m.Spec, m.Weights, kernel.Best(), transformer.F32)
		}
		if err == nil {
			t.Errorf("graph %.40q is accepted", graph)
		}
	}
}

// A pass that has seen its largest input allocates nothing more.
func TestForwardAllocatesNothing(t *testing.T) {
	m := open(t, random("", false), kernel.Best(), "")
	p, cache := m.NewPass(nil), m.NewCache(m.Context)
	seqs := []transformer.Sequence{{Cache: cache, Tokens: []int{1}, Logits: 1}}
	if n := testing.AllocsPerRun(10, func() { must(p.Forward(seqs)) }); n != 0 {
		t.Errorf("%v allocations a token", n)
	}
}

// must returns v and panics on an error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
