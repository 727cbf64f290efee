package arch_test

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/checkpoint/checkpointtest"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// A rewriting changes a packed model, whose checksums are right again then.
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

// Whatever a packed model says of itself, it is refused or computes: none of these may
// end the process.
func TestPackSays(t *testing.T) {
	graph := map[string]any{"type": "basis", "op": "silu"}
	for _, name := range []string{"llama", "gpt2", "m2m_100", "gptj"} {
		data := packed(t, name, transformer.Q8_0)
		for _, change := range []map[string]any{
			{"encoder.head_dim": 1 << 50}, {"encoder.heads": -5}, {"decoder.depth": -1}, {"encoder.depth": -1}, {"decoder.ffn": math.MaxInt64},
			{"shared_norm": true}, {"shared_norm": false}, {"parallel": true}, {"parallel": false}, {"parallel": true, "shared_norm": true},
			{"activation": "composed", "graph": graph}, {"activation": "composed"}, {"activation": "universal"},
			{"norm": "layer_norm"}, {"norm": "rms_norm"}, {"position": "learned"}, {"position": "rotary"}, {"position": "sinusoidal"},
			{"rotary.frequencies": []float32{3e38, 3e38, 3e38, 3e38}}, {"rotary.dims": -2}, {"context": math.MaxInt32}, {"context": 1}, {"width": 1}, {"vocab": 1},
		} {
			r := rewriting{meta: func(meta map[string]string) { meta["glossa.model"] = saying(t, meta["glossa.model"], change) }}
			m, err := arch.Open(inMemory(r.of(t, data)), ".")
			if err != nil {
				continue
			}
			model, err := transformer.New(m.Spec, m.Weights, kernel.Best(), transformer.Stored)
			if err != nil {
				continue
			}
			pass := model.NewPass(nil)
			seq := transformer.Sequence{Cache: model.NewCache(1), Tokens: []int{0}, Logits: 1}
			if m.Spec.Encoder.Depth > 0 {
				seq.Memory = must(pass.Encode([][]int{{0}}))[0]
			}
			if _, err := pass.Forward([]transformer.Sequence{seq}); err != nil {
				t.Errorf("%s with %v: %v", name, change, err)
			}
		}
	}
}

// saying is a description with other values in its spec.
func saying(t testing.TB, text string, change map[string]any) string {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatal(err)
	}
	for path, value := range change {
		at := all["spec"].(map[string]any)
		first, second, deep := strings.Cut(path, ".")
		if deep {
			at, first = at[first].(map[string]any), second
		}
		at[first] = value
	}
	return string(must(json.Marshal(all)))
}

// Tensors that lie in another order than that of execution are waited for too: damage
// in any is found.
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

// A description that was changed is refused when the model is opened, not by a pass.
func TestPackSaysWhenOpened(t *testing.T) {
	data := packed(t, "gpt2", transformer.Q8_0)
	broken := bytes.Replace(data, []byte(`\"eps\":0.00001`), []byte(`\"eps\":0.00002`), 1)
	for what, fsys := range map[string]fs.FS{"read": inMemory(broken), "mapped": onDisk(t, broken)} {
		if _, err := arch.Open(fsys, "."); err == nil || !strings.Contains(err.Error(), "checksum") || !strings.Contains(err.Error(), "m.safetensors") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A packed model that is packed again in its format has the same bytes, whatever its
// blocks hold: 4 bits whose range is not used up would be rounded again.
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

// What a model is mapped from stays while a pass needs it, even if it is held by nothing
// else.
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

// A copy of a tied embedding must be the same in the type that is kept as it is stored.
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
