package arch_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/dtype"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/engine/transformer/transformertest"
)

// tolerance is the maximum difference of a logit or a hidden state from that of the
// original implementation. Logits have a standard deviation of 1 and more.
const tolerance = 1e-4

// A golden holds the results of the original implementation, see testdata/README.md.
type golden struct {
	t    testing.TB
	file *checkpoint.File
}

func openGolden(t testing.TB, dir, name string) *golden {
	t.Helper()
	f, err := checkpoint.Open(os.DirFS("testdata"), path.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return &golden{t, f}
}

func (g *golden) has(name string) bool {
	_, ok := g.file.Tensor(name)
	return ok
}

func (g *golden) shape(name string) []int {
	info, ok := g.file.Tensor(name)
	if !ok {
		g.t.Fatalf("no golden %q", name)
	}
	return info.Shape
}

func (g *golden) floats(name string) []float32 {
	g.t.Helper()
	v, err := g.file.Float32(name, nil)
	if err != nil {
		g.t.Fatal(err)
	}
	return v
}

func (g *golden) ints(name string) []int {
	g.t.Helper()
	r, err := g.file.Raw(name)
	if err != nil {
		g.t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		g.t.Fatal(err)
	}
	out := make([]int, len(b)/8)
	for i := range out {
		out[i] = int(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return out
}

// rows splits a matrix of ids into rows, without the padding given by mask.
func (g *golden) rows(ids, mask string) [][]int {
	var out [][]int
	width := g.shape(ids)[1]
	masks := slices.Collect(slices.Chunk(g.ints(mask), width))
	for i, row := range slices.Collect(slices.Chunk(g.ints(ids), width)) {
		var kept []int
		for j, id := range row {
			if masks[i][j] != 0 {
				kept = append(kept, id)
			}
		}
		out = append(out, kept)
	}
	return out
}

// models returns the names of the golden directories.
func models(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*/golden.safetensors")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d golden models, %v", len(files), err)
	}
	var dirs []string
	for _, f := range files {
		dirs = append(dirs, filepath.Base(filepath.Dir(f)))
	}
	return dirs
}

func open(t testing.TB, dir string) *arch.Model {
	t.Helper()
	m, err := arch.Open(os.DirFS("testdata"), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func build(t testing.TB, m *arch.Model, k *kernel.Kernels) *transformer.Model {
	t.Helper()
	return buildAs(t, m, k, transformer.F32)
}

func buildAs(t testing.TB, m *arch.Model, k *kernel.Kernels, f transformer.Format) *transformer.Model {
	t.Helper()
	model, err := transformer.New(m.Spec, m.Weights, k, f)
	if err != nil {
		t.Fatal(err)
	}
	return model
}

// check returns the largest difference from the golden with that name.
func (g *golden) check(name string, got []float32) float64 {
	g.t.Helper()
	want, worst := g.floats(name), 0.0
	if len(got) != len(want) {
		g.t.Fatalf("%s: %d values, want %d", name, len(got), len(want))
	}
	for i := range want {
		worst = max(worst, math.Abs(float64(got[i]-want[i])))
		if got[i] != got[i] {
			worst = math.Inf(1)
		}
	}
	return worst
}

// A trace holds the largest difference of each golden.
type trace map[string]float64

// run computes everything in the goldens of a directory.
func run(t testing.TB, m *transformer.Model, g *golden) trace {
	t.Helper()
	out := trace{}
	note := func(name string, got []float32) {
		if g.has(name) { // those of GGUF files have no hidden states
			out[name] = max(out[name], g.check(name, got))
		}
	}
	pass := m.NewPass(nil)
	var memory *transformer.Memory
	if len(m.Encoder) > 0 {
		last := []float32(nil)
		pass.Hidden = func(_ bool, layer int, x []float32) {
			note(fmt.Sprintf("encoder.hidden.%d", layer), x)
			last = slices.Clone(x)
		}
		memory = must(pass.Encode([][]int{g.ints("source.ids")}))[0]
		for row := range slices.Chunk(last, m.Width) {
			m.FinalNorm(true, row, row)
		}
		note("encoder.output", last)
	}
	pass.Hidden = func(_ bool, layer int, x []float32) { note(fmt.Sprintf("hidden.%d", layer), x) }
	ids := g.ints("ids")
	note("logits", must(pass.Forward([]transformer.Sequence{{Cache: m.NewCache(len(ids)), Tokens: ids, Logits: len(ids), Memory: memory}})))
	pass.Hidden = nil
	runLong(m, pass, g, note)
	runBatch(m, pass, g, note)
	return out
}

func runLong(m *transformer.Model, pass *transformer.Pass, g *golden, note func(string, []float32)) {
	if !g.has("long.ids") {
		return
	}
	var memory *transformer.Memory
	if len(m.Encoder) > 0 {
		memory = must(pass.Encode([][]int{g.ints("long.source.ids")}))[0]
	}
	ids, wanted := g.ints("long.ids"), g.shape("long.logits")[0]
	note("long.logits", must(pass.Forward([]transformer.Sequence{{Cache: m.NewCache(len(ids)), Tokens: ids, Logits: wanted, Memory: memory}})))
}

// runBatch computes rows of different lengths together, for which the original used
// padding on either side, and got the same logits.
func runBatch(m *transformer.Model, pass *transformer.Pass, g *golden, note func(string, []float32)) {
	for _, side := range []string{"left", "right"} {
		name := "batch." + side
		if !g.has(name + ".ids") {
			continue
		}
		var seqs []transformer.Sequence
		for _, row := range g.rows(name+".ids", name+".mask") {
			seqs = append(seqs, transformer.Sequence{Cache: m.NewCache(len(row)), Tokens: row, Logits: len(row)})
		}
		note(name+".logits", must(pass.Forward(seqs)))
	}
	if !g.has("batch.source.ids") {
		return
	}
	width := g.shape("batch.ids")[1]
	rows := slices.Collect(slices.Chunk(g.ints("batch.ids"), width))
	var seqs []transformer.Sequence
	for i, memory := range must(pass.Encode(g.rows("batch.source.ids", "batch.source.mask"))) {
		seqs = append(seqs, transformer.Sequence{Cache: m.NewCache(width), Tokens: rows[i], Logits: width, Memory: memory})
	}
	note("batch.logits", must(pass.Forward(seqs)))
}

// Every layer and every logit of every golden model, on every implementation of the
// kernels, equals that of the original implementation.
func TestGoldens(t *testing.T) {
	for _, dir := range models(t) {
		t.Run(dir, func(t *testing.T) { compareGolden(t, dir) })
	}
}

// compareGolden compares all that a model computes with the goldens of its directory.
func compareGolden(t *testing.T, dir string) {
	t.Helper()
	g := openGolden(t, dir, "golden.safetensors")
	m := open(t, dir)
	for _, k := range transformertest.Tiers() {
		got := run(t, build(t, m, k), g)
		for name, d := range got {
			if limit := tolerance * scale(g.floats(name), name); !(d <= limit) {
				t.Errorf("%s: %s is %.3g from the original (limit %.3g)", k.Name(), name, d, limit)
			}
		}
		for i := range g.file.Tensors {
			name := g.file.Tensors[i].Name
			if _, ok := got[name]; !ok && g.file.Tensors[i].Type == dtype.F32 {
				t.Errorf("golden %q is not compared", name)
			}
		}
	}
}

// Packed weights give results within their rounding: those of BF16 and F16 files the same bits as
// in float32; 8 bits differ by some per cent, 4 bits by some ten (small random models
// magnify it).
func TestFormats(t *testing.T) {
	if testing.Short() {
		t.Skip("computes alone, with each format")
	}
	for _, dir := range models(t) {
		g, m := openGolden(t, dir, "golden.safetensors"), open(t, dir)
		half := halves(t, dir, m.Weights)
		for _, k := range transformertest.Tiers() {
			exact := logits(g, buildAs(t, m, k, transformer.F32))
			for f, limit := range map[transformer.Format]float64{transformer.BF16: 0.05, transformer.F16: 0.05, transformer.Q8_0: 0.1, transformer.Q8W: 0.1, transformer.Q4_0: 0.6} {
				limit *= float64(max(4, len(m.Spec.Decoder))) / 4
				if slices.ContainsFunc(m.Spec.Kinds, func(k transformer.Kind) bool { return k.FeedForward.Experts != nil || k.Deltas != nil }) {
					limit *= 2 // rounding may choose other experts, or change much of what a norm of few values magnifies
				}
				if dir == "jamba" {
					limit *= 1.5 // both, in three layers
				}
				if d := rms(logits(g, buildAs(t, m, k, f)), exact); !(d > 0 && d < limit) && !(d == 0 && half && (f == transformer.BF16 || f == transformer.F16)) {
					t.Errorf("%s, %s: format %v is %.4f away, at most %.2f", dir, k.Name(), f, d, limit)
				}
			}
			if m.Weights.Quantised() {
				if d := rms(logits(g, buildAs(t, m, k, transformer.Stored)), exact); !(d > 0 && d < 0.1) {
					t.Errorf("%s, %s: quantised weights as they are stored are %.4f away", dir, k.Name(), d)
				}
			}
			if half {
				if d := rms(logits(g, buildAs(t, m, k, transformer.Stored)), exact); d != 0 {
					t.Errorf("%s, %s: weights as they are stored are %v away", dir, k.Name(), d)
				}
			}
		}
	}
}

// halves reports whether all matrices of a model are stored in a type of 16 bits, or have values of bfloat16.
func halves(t *testing.T, dir string, w *transformer.Weights) bool {
	t.Helper()
	types := map[string]bool{}
	addTypes(t, types, weights(t, dir))
	if len(types) == 1 && (types[string(dtype.BF16)] || types[string(dtype.F16)]) {
		return true
	}
	short := true
	each(w, func(m *transformer.Tensor) {
		if m.Packed != nil || m.Rows == 1 || m.Cols == 1 {
			return
		}
		for _, v := range valuesOf(t, []transformer.Tensor{*m}) {
			short = short && math.Float32bits(v)<<16 == 0
		}
	})
	return short
}

// logits returns the logits of a golden's text.
func logits(g *golden, m *transformer.Model) []float32 {
	pass, ids, memory := m.NewPass(nil), g.ints("ids"), (*transformer.Memory)(nil)
	if len(m.Encoder) > 0 {
		memory = must(pass.Encode([][]int{g.ints("source.ids")}))[0]
	}
	return must(pass.Forward([]transformer.Sequence{{Cache: m.NewCache(len(ids)), Tokens: ids, Logits: len(ids), Memory: memory}}))
}

// rms returns the root mean square of the differences, relative to that of b.
func rms(a, b []float32) float64 {
	sum, all := 0.0, 0.0
	for i := range a {
		sum += float64(a[i]-b[i]) * float64(a[i]-b[i])
		all += float64(b[i]) * float64(b[i])
	}
	return math.Sqrt(sum / all)
}

// The logits of a pass are the same to the bit with any number of workers.
func TestTeams(t *testing.T) {
	for _, dir := range models(t) {
		g, m := openGolden(t, dir, "golden.safetensors"), build(t, open(t, dir), kernel.Best())
		var want []float32
		for _, size := range []int{1, 2, 3, 5} {
			team := transformer.NewTeam(size)
			pass := m.NewPass(team)
			pass.ShareAll = true
			var memory *transformer.Memory
			if len(m.Encoder) > 0 {
				memory = must(pass.Encode([][]int{g.ints("source.ids")}))[0]
			}
			ids, cache := g.ints("ids"), m.NewCache(64)
			var got []float32
			for part := range slices.Chunk(ids, 5) {
				got = append(got, must(pass.Forward([]transformer.Sequence{{Cache: cache, Tokens: part, Logits: len(part), Memory: memory}}))...)
			}
			team.Close()
			if size == 1 {
				want = got
			} else if !slices.Equal(got, want) {
				t.Errorf("%s: %d workers differ from one", dir, size)
			}
		}
	}
}

// scale returns 1 for logits. Hidden states grow from layer to layer: their scale is
// their largest value.
func scale(values []float32, name string) float64 {
	top := 1.0
	if path.Ext(name) == ".logits" || name == "logits" {
		return top
	}
	for _, v := range values {
		top = max(top, math.Abs(float64(v)))
	}
	return top
}

// A sequence fed in pieces, after a fork, or together with others gives the same bits as
// one full pass.
func TestCachedChunkedAndBatched(t *testing.T) {
	for _, dir := range models(t) {
		t.Run(dir, func(t *testing.T) {
			g, m := openGolden(t, dir, "golden.safetensors"), build(t, open(t, dir), kernel.Best())
			ids := g.ints("ids")
			pass, memory, other := m.NewPass(nil), (*transformer.Memory)(nil), (*transformer.Memory)(nil)
			if len(m.Encoder) > 0 {
				source := g.ints("source.ids")
				both := must(pass.Encode([][]int{source[1:], source}))
				other, memory = both[0], both[1]
			}
			want := slices.Clone(must(pass.Forward([]transformer.Sequence{{Cache: m.NewCache(len(ids)), Tokens: ids, Logits: len(ids), Memory: memory}})))
			var got []float32
			main, side := m.NewCache(len(ids)), m.NewCache(len(ids))
			for at, step := 0, 1; at < len(ids); step++ {
				n := min(1+step%3, len(ids)-at)
				beside := transformer.Sequence{Cache: side, Tokens: ids[:min(step, len(ids)-side.Len)], Logits: 0, Memory: other}
				seqs := []transformer.Sequence{{Cache: main, Tokens: ids[at : at+n], Logits: n, Memory: memory}}
				if len(beside.Tokens) > 0 {
					seqs = slices.Insert(seqs, step%2, beside)
				}
				got = append(got, must(pass.Forward(seqs))...)
				at += n
				main = m.Fork(main, len(ids))
			}
			if !slices.Equal(got, want) {
				t.Error("the pieces differ from the full pass")
			}
		})
	}
}

// must returns v, the result of a call that must not fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
