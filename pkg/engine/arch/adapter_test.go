package arch_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// adapters returns the names of the adapters, see testdata/README.md.
func adapters(t testing.TB) (names []string) {
	t.Helper()
	entries, err := os.ReadDir("testdata/adapters")
	if err != nil || len(entries) < 3 {
		t.Fatalf("%d adapters, %v", len(entries), err)
	}
	for _, e := range entries {
		names = append(names, "adapters/"+e.Name())
	}
	return names
}

// The logits of a model with an adapter are those that PEFT computes without merging.
func TestAdapters(t *testing.T) {
	for _, dir := range adapters(t) {
		g, m := openGolden(t, dir, "golden.safetensors"), open(t, dir)
		for _, k := range kernel.Implementations() {
			ids, model := g.ints("ids"), build(t, m, k)
			got := must(model.NewPass(nil).Forward([]transformer.Sequence{{Cache: model.NewCache(len(ids)), Tokens: ids, Logits: len(ids)}}))
			if d, limit := g.check("logits", got), tolerance*scale(g.floats("logits"), "logits"); !(d <= limit) {
				t.Errorf("%s: %s: logits are %.3g from PEFT's (limit %.3g)", dir, k.Name(), d, limit)
			}
		}
		info, err := arch.Describe(os.DirFS("testdata"), dir)
		base, err2 := arch.Describe(os.DirFS("testdata"), baseOf(t, dir))
		if err != nil || err2 != nil || info.Parameters != base.Parameters || info.Version == base.Version || info.Bytes[transformer.Stored] != base.Bytes[transformer.Stored] {
			t.Errorf("%s: %+v, %v; its base: %+v, %v", dir, info, err, base, err2)
		}
		if places, err := arch.Places(os.DirFS("testdata"), dir); err != nil || len(places) != 1 || places[0].Path != dir {
			t.Errorf("%s: %v, %v", dir, places, err)
		}
		files, err := arch.Files(os.DirFS("testdata"), dir)
		if err != nil || !slices.Contains(files, dir+"/adapter_model.safetensors") || !slices.Contains(files, baseOf(t, dir)+"/model.safetensors") {
			t.Errorf("%s: files %v, %v", dir, files, err)
		}
	}
}

// opens counts the files that are opened, by their names.
type opens struct {
	fs.StatFS
	times map[string]int
}

func (o *opens) Open(name string) (fs.File, error) {
	o.times[path.Base(name)]++
	return o.StatFS.Open(name)
}

// The configuration of an adapter, which says what its base is and how it changes it, is read once.
func TestAdapterReadOnce(t *testing.T) {
	files := &opens{os.DirFS("testdata").(fs.StatFS), map[string]int{}}
	m := must(arch.Open(files, adapters(t)[0]))
	must(0, m.Close())
	if n := files.times["adapter_config.json"]; n != 1 || files.times["adapter_model.safetensors"] == 0 {
		t.Errorf("read %d times: %v", n, files.times)
	}
}

// So are those of the base with the updates of an adapter, unless it has other tensors too.
func TestAdaptersUnmerged(t *testing.T) {
	merged := map[string]bool{"adapters/llama": true, "adapters/gpt2": true}
	for _, dir := range adapters(t) {
		g, m := openGolden(t, dir, "golden.safetensors"), open(t, dir)
		base, added := m.Shares()
		if want := baseOf(t, dir); merged[dir] {
			if base != "" || added != 0 {
				t.Errorf("%s: it shares %q and adds %d bytes", dir, base, added)
			}
			continue
		} else if base != want {
			t.Fatalf("%s: it shares %q, want %s", dir, base, want)
		}
		weights := must(arch.OpenWeights(os.DirFS("testdata"), base))
		defer weights.Close()
		info := must(arch.Describe(os.DirFS("testdata"), dir))
		for _, k := range kernel.Implementations() {
			ids, model := g.ints("ids"), build(t, weights, k)
			a := must(model.NewAdapter(m.Weights))
			got := must(model.NewPass(nil).Forward([]transformer.Sequence{{Cache: model.NewCache(len(ids)), Tokens: ids, Logits: len(ids), Adapter: a}}))
			if d, limit := g.check("logits", got), tolerance*scale(g.floats("logits"), "logits"); !(d <= limit) {
				t.Errorf("%s: %s: logits are %.3g from PEFT's (limit %.3g)", dir, k.Name(), d, limit)
			}
			if a.Bytes() != added || info.Added != added || info.Shared != base || added >= info.Bytes[transformer.F32] {
				t.Errorf("%s: %d bytes, %d and %d expected of %q", dir, a.Bytes(), added, info.Added, info.Shared)
			}
		}
	}
}

// A packed adapter is its base with it.
func TestAdaptersPacked(t *testing.T) {
	for _, dir := range []string{"adapters/llama-all", "adapters/neox", "adapters/gpt2-plain"} {
		fsys := fstest.MapFS{"p.safetensors": {Data: packed(t, dir, transformer.F32)}}
		m := must(arch.Open(fsys, "p.safetensors"))
		if base, added := m.Shares(); base != "" || added != 0 {
			t.Errorf("%s: it shares %q and adds %d bytes", dir, base, added)
		}
		g, model := openGolden(t, dir, "golden.safetensors"), build(t, m, kernel.Best())
		ids := g.ints("ids")
		got := must(model.NewPass(nil).Forward([]transformer.Sequence{{Cache: model.NewCache(len(ids)), Tokens: ids, Logits: len(ids)}}))
		if d, limit := g.check("logits", got), tolerance*scale(g.floats("logits"), "logits"); !(d <= limit) {
			t.Errorf("%s: logits are %.3g from PEFT's (limit %.3g)", dir, d, limit)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A decoder of a directory shares its weights with its adapters.
func TestShares(t *testing.T) {
	for dir, want := range map[string]string{"llama": "llama", "m2m_100": "", "llama-f32-gguf": ""} {
		if got, added := open(t, dir).Shares(); got != want || added != 0 {
			t.Errorf("%s shares %q and adds %d bytes, want %q", dir, got, added, want)
		}
	}
}

// In the type of the base's weights, the sum is rounded to it: not what the file stores.
func TestAdaptersAreKept(t *testing.T) {
	const dir = "adapters/bf16"
	g := openGolden(t, dir, "golden.safetensors")
	differs := func(name string) float64 {
		m := buildAs(t, open(t, name), kernel.Best(), transformer.Stored)
		ids := g.ints("ids")
		return g.check("logits", must(m.NewPass(nil).Forward([]transformer.Sequence{{Cache: m.NewCache(len(ids)), Tokens: ids, Logits: len(ids)}})))
	}
	if with, without := differs(dir), differs(baseOf(t, dir)); with > 0.1 || without < 0.5 {
		t.Errorf("logits are %.3g from PEFT's, the base's %.3g", with, without)
	}
}

// baseOf returns the directory of an adapter's base.
func baseOf(t testing.TB, dir string) string {
	t.Helper()
	var c struct {
		Base string `json:"base_model_name_or_path"`
	}
	raw, err := os.ReadFile(path.Join("testdata", dir, "adapter_config.json"))
	if err == nil {
		err = json.Unmarshal(raw, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path.Base(c.Base)
}

// An adapter that cannot be applied is refused with what is wrong, before weights are read.
func TestAdaptersRefused(t *testing.T) {
	const dir = "adapters/llama"
	for _, test := range []struct {
		want   string
		change func(f fstest.MapFS)
	}{
		{`adapters/llama: its base model "tiny/llama" is not among the models: put it into a directory "llama" next to the adapter`, func(f fstest.MapFS) { delete(f, "llama/config.json") }},
		{"adapters/llama: it has adapter_config.json, but no adapter_model.safetensors", func(f fstest.MapFS) { delete(f, dir+"/adapter_model.safetensors") }},
		{"adapters/llama: it has model.safetensors and adapter_model.safetensors", func(f fstest.MapFS) { f[dir+"/model.safetensors"] = &fstest.MapFile{} }},
		{"adapters/llama: its base: llama: it has no model.safetensors", func(f fstest.MapFS) { delete(f, "llama/model.safetensors") }},
		{`peft_type: adapters of type "IA3" are not supported, only LORA`, setting(`"LORA"`, `"IA3"`)},
		{"base_model_name_or_path: missing", setting(`"tiny/llama"`, `null`)},
		{"init_lora_weights: \"pissa\" changes the base model: convert the adapter with PEFT", setting(`"init_lora_weights": true`, `"init_lora_weights": "pissa"`)},
		{"use_dora: not supported", setting(`"use_dora": false`, `"use_dora": true`)},
		{"target_parameters: not supported", setting(`"target_parameters": null`, `"target_parameters": ["x"]`)},
		{"error parsing regexp", setting(`"down_proj": 7`, `"(": 7`)},
		{"cannot unmarshal string", setting(`"lora_alpha": 10`, `"lora_alpha": "x"`)},
		{"cannot unmarshal string", setting(`"down_proj": 7`, `"down_proj": "x"`)},
		{"it has only one of lora_A and lora_B", named("0.self_attn.q_proj.lora_B", "0.self_attn.qkv.lora_B")},
		{"lora_A has rank 2, lora_B 4", named("0.self_attn.q_proj.lora_A", "x", "0.self_attn.o_proj.lora_A", "0.self_attn.q_proj.lora_A", "x", "0.self_attn.o_proj.lora_A")},
		{"is (96, 96), but the base llama has (96, 32): it is the adapter of another base", named("0.mlp.gate_proj.lora_A", "x", "0.mlp.down_proj.lora_A", "0.mlp.gate_proj.lora_A", "x", "0.mlp.down_proj.lora_A")},
		{`module "model.layers.7.self_attn.q_proj": the base llama has no such matrix: it is the adapter of another base`, named("layers.1.self_attn.q_proj", "layers.7.self_attn.q_proj")},
		{`tensor "base_model.model.model.norm2.weight": the base llama has no such tensor`, named("lm_head.weight", "model.norm2.weight")},
		{`tensor "base_model.model.model.norm.weight": shape [112 32], but the base llama has [32]`, named("lm_head.weight", "model.norm.weight")},
		{`norm.lora_magnitude_vector.weight": not supported`, named("lm_head.weight", "model.norm.lora_magnitude_vector.weight")},
		{`.lm_head.modules_to_save.default.weight": it takes the place of the same tensor as "base_model.model.lm_head.weight": save the adapter again`,
			named("base_model.model.model.layers.0.self_attn.q_proj.lora_A", "base_model.model.lm_head.modules_to_save.default")},
		{`tensor "lm_head.weight": unknown in an adapter`, named("base_model.model.lm_head.weight", "lm_head.weight")},
	} {
		fsys := fstest.MapFS{}
		for _, from := range []string{"llama", dir} {
			entries, err := os.ReadDir("testdata/" + from)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				raw, err := os.ReadFile(path.Join("testdata", from, e.Name()))
				if err != nil {
					t.Fatal(err)
				}
				fsys[path.Join(from, e.Name())] = &fstest.MapFile{Data: raw}
			}
		}
		test.change(fsys)
		if m, err := arch.Open(fsys, dir); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, %v, want %q", m, err, test.want)
		}
	}
}

// Qwen3.5 is published with an encoder of pictures that is not read.
func TestQwen35Adapters(t *testing.T) {
	checkTextAdapters(t, bare(t, "qwen3_5-pictures"), "model.visual.blocks.0.attn.qkv", "model.", "model.language_model.")
}

// checkTextAdapters checks that "m", of which only the model of text is read, takes an adapter of a matrix
// of it, whose name begins with one of prefixes: PEFT writes the names of the class in memory, which may be
// that of the whole model. Adapters of another part are refused.
func checkTextAdapters(t *testing.T, fsys fstest.MapFS, other string, prefixes ...string) {
	t.Helper()
	const matrix = "layers.0.mlp.down_proj"
	var shape []int
	for name, tensor := range load(t, fsys, "m/model.safetensors") {
		if strings.HasSuffix(name, matrix+".weight") {
			shape = tensor.shape
		}
	}
	fsys = maps.Clone(fsys)
	fsys["a/adapter_config.json"] = &fstest.MapFile{Data: []byte(`{"peft_type": "LORA", "base_model_name_or_path": "m", "lora_alpha": 2}`)}
	open := func(module string) (*arch.Model, error) {
		at := "base_model.model." + module
		fsys["a/adapter_model.safetensors"] = safetensors(map[string]stored{
			at + ".lora_A.weight": numbers(1, 2, shape[1]), at + ".lora_B.weight": numbers(2, shape[0], 2),
		})
		return arch.Open(fsys, "a")
	}
	for _, prefix := range prefixes {
		m, err := open(prefix + matrix)
		if err != nil {
			t.Errorf("%s: %v", prefix, err)
			continue
		}
		if base, added := m.Shares(); base != "m" || added != int64(4*2*(shape[0]+shape[1])) {
			t.Errorf("%s: %d bytes are added to %q", prefix, added, base)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	if m, err := open(other); err == nil || !strings.Contains(err.Error(), other) || !strings.Contains(err.Error(), "this part of the base m is not read") {
		t.Errorf("%s: %v, %v", other, m, err)
	}
}

// setting replaces a text in adapter_config.json.
func setting(old, text string) func(fstest.MapFS) {
	return func(f fstest.MapFS) {
		file := f["adapters/llama/adapter_config.json"]
		if !bytes.Contains(file.Data, []byte(old)) {
			panic(old)
		}
		file.Data = bytes.ReplaceAll(file.Data, []byte(old), []byte(text))
	}
}

// named replaces parts of tensors' names, in pairs.
func named(pairs ...string) func(fstest.MapFS) {
	return func(f fstest.MapFS) {
		file := f["adapters/llama/adapter_model.safetensors"]
		size := binary.LittleEndian.Uint64(file.Data)
		header := string(file.Data[8:][:size])
		for i := 0; i < len(pairs); i += 2 {
			if !strings.Contains(header, pairs[i]) {
				panic(pairs[i])
			}
			header = strings.ReplaceAll(header, pairs[i], pairs[i+1])
		}
		file.Data = slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), []byte(header), file.Data[8+size:])
	}
}
