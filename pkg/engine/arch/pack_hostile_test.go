package arch_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/checkpoint/checkpointtest"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// A rewriting changes a packed model and recomputes its checksums.
type rewriting struct {
	meta    func(map[string]string)
	tensors func([]checkpoint.TensorInfo)
	data    func(info *checkpoint.TensorInfo, raw []byte)
}

func (r rewriting) of(t testing.TB, data []byte) []byte {
	t.Helper()
	f := must(checkpoint.Open(inMemory(data), "m.safetensors"))
	meta, infos := map[string]string{}, slices.Clone(f.Tensors)
	for key, value := range f.Meta {
		if key != "glossa.version" && key != "glossa.checksums" {
			meta[key] = value.(string)
		}
	}
	if r.meta != nil {
		r.meta(meta)
	}
	if r.tensors != nil {
		r.tensors(infos)
	}
	var tensors []checkpoint.PackTensor
	for _, info := range infos {
		tensors = append(tensors, checkpoint.PackTensor{Name: info.Name, Type: info.Type, Shape: info.Shape})
	}
	var b checkpointtest.File
	w := must(checkpoint.NewPackWriter(&b, meta, tensors))
	for i := range infos {
		raw := must(io.ReadAll(must(f.Raw(infos[i].Name))))
		if r.data != nil {
			r.data(&infos[i], raw)
		}
		if err := w.Write(i, raw); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Data
}

// newInVersion2 returns changes of llama's description that version 1 could not express.
// Some need tensors that it does not have.
func newInVersion2() []map[string]any {
	const a, f = "kinds.0.attention.", "kinds.0.feed_forward."
	return []map[string]any{
		{a + "window": 2}, {a + "window": 1}, {a + "chunk": 2}, {a + "chunk": 1, a + "window": 1}, {a + "window": -1}, {a + "chunk": -1},
		{a + "window": math.MaxInt}, {a + "chunk": math.MaxInt}, {a + "rotary": 0, "rotaries": []any{}}, {a + "rotary": 0}, {a + "rotary": 2}, {a + "rotary": -1},
		{a + "qk_norm": "head"}, {a + "qk_norm": "each_head"}, {a + "qk_norm": "all"}, {a + "qk_norm": "some"}, {a + "sinks": true},
		{a + "scale": 0.5}, {a + "scale": -0.5}, {a + "scale": 1e39}, {a + "soft_cap": 30}, {a + "clamp": 30}, {a + "soft_cap": 30, a + "clamp": 30}, {a + "soft_cap": -1},
		{a + "norms": "post"}, {a + "norms": "sandwich"}, {a + "norms": "post_residual"}, {a + "norms": "none"}, {a + "norms": "before"},
		{f + "norms": "post"}, {f + "norms": "none"}, {f + "width": 0}, {f + "gated": false},
		{"norm": "plain_layer_norm"}, {"no_last_norm": true}, {"embed_norm": true}, {"decoder_input": true}, {"decoder_input": true, "embed_norm": true}, {"embed_scale": -3}, {"residual_scale": 0.2}, {"residual_scale": 3e38},
		{"logit_scale": 0.1}, {"logit_soft_cap": 30}, {"logit_soft_cap": -1},
		{"rotaries.0.magnitude": 1.3}, {"rotaries.0.magnitude": -1}, {"rotaries": []any{}}, {"rotaries.0.frequencies": []any{}},
		{"decoder": []any{}}, {"decoder": []int{0, 1}}, {"decoder": []int{0, -1}}, {"decoder": slices.Repeat([]int{0}, 1001)}, {"decoder": nil},
		{"kinds": []any{}}, {"kinds": slices.Repeat([]any{map[string]any{}}, 2000)}, {"kinds.0": map[string]any{}},
		{"encoder": []int{0}}, {"rotaries": slices.Repeat([]any{map[string]any{}}, 2000)},
	}
}

// Any description of a packed model is rejected or computes: none of these may
// end the process.
func TestPackSays(t *testing.T) {
	graph := map[string]any{"type": "basis", "op": "silu"}
	const k, f = "kinds.0.", "kinds.0.feed_forward."
	changes := append(newInVersion2(), []map[string]any{
		{k + "attention.head_dim": 1 << 50}, {k + "attention.heads": -5}, {f + "width": math.MaxInt64}, {k + "shared_norm": true}, {k + "shared_norm": false},
		{k + "parallel": true}, {k + "parallel": false}, {k + "parallel": true, k + "shared_norm": true},
		{f + "activation": "composed", f + "graph": graph}, {f + "activation": "composed"}, {f + "activation": "universal"},
		{"norm": "layer_norm"}, {"norm": "rms_norm"}, {"position": "learned"}, {"position": "rotary"}, {"position": "sinusoidal"}, {"position": "none"},
		{"context": math.MaxInt32}, {"context": 1}, {"width": 1}, {"vocab": 1}, {"eps": -1}, {"eps": 2},
	}...)
	for _, name := range []string{"llama", "gpt2", "m2m_100", "gptj"} {
		data := packed(t, name, transformer.Q8_0)
		for _, change := range changes {
			r := rewriting{meta: func(meta map[string]string) {
				meta["glossa.model"] = changedDescription(t, meta["glossa.model"], change)
			}}
			computes(t, fmt.Sprint(name, " with ", change), r.of(t, data))
		}
	}
}

// Any description of version 1 is rejected or computes too.
func TestPackVersion1Says(t *testing.T) {
	graph := map[string]any{"type": "basis", "op": "silu"}
	for _, name := range []string{"llama", "gpt2", "m2m_100", "gptj"} {
		data := packed(t, name, transformer.Q8_0)
		for _, change := range []map[string]any{
			{"encoder.head_dim": 1 << 50}, {"encoder.heads": -5}, {"decoder.depth": -1}, {"encoder.depth": -1}, {"decoder.ffn": math.MaxInt64},
			{"decoder.depth": math.MaxInt64}, {"encoder.depth": 1000}, {"inverse_layer_scale": true}, {"inverse_layer_scale": true, "decoder.head_dim": 0},
			{"shared_norm": true}, {"shared_norm": false}, {"parallel": true}, {"parallel": false}, {"parallel": true, "shared_norm": true},
			{"activation": "composed", "graph": graph}, {"activation": "composed"}, {"activation": "universal"},
			{"norm": "layer_norm"}, {"norm": "rms_norm"}, {"norm": "plain_layer_norm"}, {"position": "learned"}, {"position": "rotary"}, {"position": "sinusoidal"}, {"position": "none"},
			{"rotary.frequencies": []float32{3e38, 3e38, 3e38, 3e38}}, {"rotary.dims": -2}, {"context": math.MaxInt32}, {"context": 1}, {"width": 1}, {"vocab": 1},
		} {
			computes(t, fmt.Sprint(name, " with ", change), relabelled(t, repacked(t, data, changedDescription(t, version1(t, name), change))))
		}
	}
}

// computes runs a packed model, if it is not rejected.
func computes(t *testing.T, what string, data []byte) {
	t.Helper()
	m, err := arch.Open(inMemory(data), ".")
	if err != nil {
		return
	}
	model, err := transformer.New(m.Spec, m.Weights, kernel.Best(), transformer.Stored)
	if err != nil {
		return
	}
	pass := model.NewPass(nil)
	seq := transformer.Sequence{Cache: model.NewCache(1), Tokens: []int{0}, Logits: 1}
	if len(m.Spec.Encoder) > 0 {
		seq.Memory = must(pass.Encode([][]int{{0}}))[0]
	}
	if _, err := pass.Forward([]transformer.Sequence{seq}); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// A description that cannot be computed is rejected when the model is listed, with the
// file and the field.
func TestPackSaysField(t *testing.T) {
	data := packed(t, "llama", transformer.Q8_0)
	for _, c := range []struct {
		path, want string
		value      any
	}{
		{"kinds.0.attention.kv_heads", "kinds[0].attention.kv_heads: 3 key-value heads", 3},
		{"kinds.0.attention.window", "kinds[0].attention.window: -1", -1},
		{"kinds.0.attention.window", "kinds[0].attention.window: 16777217 is not in", 1<<24 + 1},
		{"kinds.0.attention.chunk", "kinds[0].attention.chunk: 16777217 is not in", 1<<24 + 1},
		{"kinds.0.attention.rotary", "kinds[0].attention.rotary: table 2 of 1", 2},
		{"kinds.0.attention.rotary", "rotaries[0]: no kind of layer uses this table", 0},
		{"kinds.0.attention.qk_norm", `qk_norm: "some" is not one of`, "some"},
		{"kinds.0.attention.qk_norm", `tensor "decoder.0.q_norm": missing`, "head"},
		{"kinds.0.attention.sinks", `tensor "decoder.0.sinks": missing`, true},
		{"kinds.0.attention.norms", `tensor "decoder.0.attention_post_norm": missing`, "sandwich"},
		{"kinds.0.attention.norms", `tensor "decoder.0.attention_norm": unknown in this model`, "none"},
		{"kinds.0.attention.soft_cap", "kinds[0].attention.soft_cap: -1", -1},
		{"kinds.0.feed_forward.activation", `kinds[0].feed_forward.activation: unknown activation "mish"`, "mish"},
		{"kinds.0.feed_forward.mixture", `unknown field "mixture"`, 8},
		{"kinds.0.feed_forward.experts", "kinds[0].feed_forward.experts.used: 3 of 2 experts", map[string]any{"count": 2, "used": 3}},
		{"kinds.0.feed_forward.experts", "kinds[0].feed_forward.experts: 65537 experts", map[string]any{"count": 65537, "used": 3}},
		{"kinds.0.feed_forward.experts", "kinds[0].feed_forward.experts.shared: -1 is negative", map[string]any{"count": 2, "used": 1, "shared": -1}},
		{"kinds.0.feed_forward.experts", `tensor "decoder.0.router": missing`, map[string]any{"count": 30000, "used": 3}},
		{"kinds.0.recurrence", `unknown field "recurrence"`, 3},
		{"kinds.0.states", `tensor "decoder.0.states_in": missing`, map[string]any{"norms": "pre", "heads": 2, "head_dim": 4, "size": 8, "groups": 1, "taps": 4}},
		{"kinds.0.states", "kinds[0].states.head_dim: 131073 is not in", map[string]any{"norms": "pre", "heads": 2, "head_dim": 131073, "size": 8, "groups": 1, "taps": 4}},
		{"kinds.0.states", "kinds[0].states: 4096 heads of 256 with states of 128 in 1 groups are too many", map[string]any{"norms": "pre", "heads": 4096, "head_dim": 256, "size": 128, "groups": 1, "taps": 4}},
		{"kinds.0.convolution", "kinds[0].convolution: there is attention too", map[string]any{"norms": "pre", "taps": 3}},
		{"kinds.0.convolution", "kinds[0].convolution.taps: 65 are more than 64", map[string]any{"norms": "pre", "taps": 65}},
		{"rotaries.0.dims", "rotaries[0].dims: 6 rotary dimensions with 4 frequencies", 6},
		{"rotaries.0.magnitude", "rotaries[0].magnitude: -1", -1},
		{"decoder.1", "decoder[1]: kind 1 of 1", 1},
		{"logit_soft_cap", "logit_soft_cap: -1", -1},
		{"decoder", "layers of the decoder: 1001 is not in 0..1000", slices.Repeat([]int{0}, 1001)},
		{"kinds", "kinds of layers: 3 is not in 1..2", slices.Repeat([]any{map[string]any{}}, 3)},
		{"kinds", "bytes, at most 1048576", slices.Repeat([]any{map[string]any{}}, 1<<20)},
		{"rotaries", "rotary tables: 2 is not in 0..1", slices.Repeat([]any{map[string]any{}}, 2)},
	} {
		r := rewriting{meta: func(meta map[string]string) {
			meta["glossa.model"] = changedDescription(t, meta["glossa.model"], map[string]any{c.path: c.value})
		}}
		_, err := arch.Describe(inMemory(r.of(t, data)), ".")
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "m.safetensors") {
			t.Errorf("%s: %v, want %q and the file", c.path, err, c.want)
		}
	}
}

// changedDescription returns a description with other values in its spec, at paths of
// members and indices.
func changedDescription(t testing.TB, text string, change map[string]any) string {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatal(err)
	}
	for path, value := range change {
		all["spec"] = with(all["spec"], strings.Split(path, "."), value)
	}
	return string(must(json.Marshal(all)))
}

// with returns a JSON value with another value at a path; if the path does not exist, it
// returns v unchanged.
func with(v any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	if list, ok := v.([]any); ok || v == nil {
		if i, err := strconv.Atoi(path[0]); err == nil && i < len(list) {
			list[i] = with(list[i], path[1:], value)
		}
		return v
	}
	object := v.(map[string]any)
	object[path[0]] = with(object[path[0]], path[1:], value)
	return object
}

// Tensors in another order than that of execution are waited for too: damage in any of
// them is found.
func TestPackOrder(t *testing.T) {
	for _, name := range []string{"gptj", "gpt2", "m2m_100"} { // with a head of its own, without, with an encoder
		data := rewriting{tensors: slices.Reverse[[]checkpoint.TensorInfo]}.of(t, packed(t, name, transformer.Q8_0))
		f := must(checkpoint.Open(inMemory(data), "m.safetensors"))
		for i := range f.Tensors {
			info := &f.Tensors[i]
			broken := slices.Clone(data)
			broken[info.Offset] ^= 1
			m := must(arch.Open(inMemory(broken), "."))
			if err := m.Weights.Await(math.MaxInt); err == nil || !strings.Contains(err.Error(), info.Name) {
				t.Errorf("%s, %s: %v", name, info.Name, err)
			}
		}
	}
}

// A changed description is rejected when the model is opened, not by a pass.
func TestPackSaysWhenOpened(t *testing.T) {
	data := packed(t, "gpt2", transformer.Q8_0)
	broken := bytes.Replace(data, []byte(`\"eps\":0.00001`), []byte(`\"eps\":0.00002`), 1)
	for what, fsys := range map[string]fs.FS{"read": inMemory(broken), "mapped": onDisk(t, broken)} {
		if _, err := arch.Open(fsys, "."); err == nil || !strings.Contains(err.Error(), "checksum") || !strings.Contains(err.Error(), "m.safetensors") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A packed model that is packed again in its format has the same bytes, for any blocks:
// 4-bit blocks with an unused part of the range would be rounded again.
func TestPackAgainSame(t *testing.T) {
	const block, quants = 576, 512 // bytes of a superblock of Q4_0, and of its values
	odd := func(info *checkpoint.TensorInfo, raw []byte) {
		for at := 0; len(info.Shape) == 3 && info.Shape[2] == block && at < len(raw); at += block {
			for i := range raw[at : at+quants] {
				raw[at+i] = raw[at+i]&0x77 + 0x11
			}
		}
	}
	for _, f := range []transformer.Format{transformer.F32, transformer.BF16, transformer.Q8_0, transformer.Q4_0} {
		data := rewriting{data: odd}.of(t, packed(t, "llama", f))
		for what, fsys := range map[string]fs.FS{"read": inMemory(data), "mapped": onDisk(t, data)} {
			var b checkpointtest.File
			if err := arch.Pack(&b, must(arch.Open(fsys, ".")), kernel.Best(), f, func(_, _ int64) error { return nil }); err != nil {
				t.Fatal(err)
			}
			was, is := must(checkpoint.Open(inMemory(data), "m.safetensors")), must(checkpoint.Open(inMemory(b.Data), "m.safetensors"))
			for _, info := range was.Tensors {
				if !bytes.Equal(must(io.ReadAll(must(is.Raw(info.Name)))), must(io.ReadAll(must(was.Raw(info.Name))))) {
					t.Errorf("format %v, %s: %s differs", f, what, info.Name)
				}
			}
		}
	}
}

// A model's mapped memory stays while a pass needs it, even if nothing else references
// it.
func TestPackStaysMapped(t *testing.T) {
	data := packed(t, "m2m_100", transformer.Q8_0)
	for range 10 {
		m := must(arch.Open(onDisk(t, data), "."))
		pass := must(transformer.New(m.Spec, m.Weights, kernel.Best(), transformer.Stored)).NewPass(nil)
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		pass.Hidden = func(bool, int, []float32) { runtime.GC() }
		if _, err := pass.Encode([][]int{{1, 2, 3}}); err != nil {
			t.Fatal(err)
		}
	}
}

// A copy of a tied embedding must be equal in the stored type.
func TestTiedStored(t *testing.T) {
	fsys := bare(t, "gpt2")
	tensors(t, fsys, func(all map[string]stored) {
		half := func(x stored) stored { // as bfloat16
			out := stored{dtype: "BF16", shape: x.shape}
			for at := 0; at < len(x.data); at += 4 {
				out.data = append(out.data, x.data[at+2], x.data[at+3])
			}
			return out
		}
		for name, x := range maps.Clone(all) {
			all[name] = half(x)
		}
		head := all["wte.weight"]
		head.data = slices.Clone(head.data)
		head.data[len(head.data)-2] ^= 1
		all["lm_head.weight"] = head
	})
	m := openIn(t, fsys, "m")
	for _, f := range []transformer.Format{transformer.F32, transformer.BF16, transformer.Stored} {
		if _, err := transformer.New(m.Spec, m.Weights, kernel.Best(), f); err == nil || !strings.Contains(err.Error(), `"lm_head.weight"`) {
			t.Errorf("format %v: another head: %v", f, err)
		}
	}
}
