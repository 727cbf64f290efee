package arch_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// visions returns the golden models that read pictures. Package engine compares what they compute.
func visions(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/vision/*/config.json")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d models, %v", len(files), err)
	}
	var names []string
	for _, f := range files {
		names = append(names, "vision/"+filepath.Base(filepath.Dir(f)))
	}
	return names
}

// A listing counts the encoder of pictures.
func TestVisionListed(t *testing.T) {
	for _, dir := range visions(t) {
		info, m := must(arch.Describe(os.DirFS("testdata"), dir)), open(t, dir)
		file := must(checkpoint.Open(os.DirFS("testdata"), path.Join(dir, "model.safetensors")))
		var all, films int64 // films: the weights of the second frame of a film
		for i := range file.Tensors {
			n := int64(1)
			for _, d := range file.Tensors[i].Shape {
				n *= int64(d)
			}
			all += n
			if len(file.Tensors[i].Shape) == 5 {
				films += n / 2
			}
		}
		must(0, file.Close())
		// LLaVA leaves out the last layers, which may be none.
		whole := info.Parameters == all || info.Parameters == all-films || strings.Contains(dir, "llava") && info.Parameters < all
		if !info.Images || !whole || info.Tokens != nil || info.Chat.Empty() {
			t.Errorf("%s: %+v, want %d parameters", dir, info, all)
		}
		text := m.Weights.Bytes(m.Spec, transformer.Q8_0)
		if tower := m.Vision.Weights.Bytes(m.Vision.Spec, transformer.Q8_0); info.Bytes[transformer.Q8_0] <= text+tower || info.Bytes[transformer.Q8_0] > text+tower+1<<16 {
			t.Errorf("%s: %d bytes, of which %d and %d are those of layers", dir, info.Bytes[transformer.Q8_0], text, tower)
		}
	}
}

// Descriptions that cannot be right are errors that name the file and the member.
func TestVisionRefused(t *testing.T) {
	for _, c := range []struct{ dir, file, member, value, says string }{
		{"idefics3", "config.json", "text_config", `null`, "text_config: missing"},
		{"idefics3", "config.json", "vision_config", `null`, "vision_config: missing"},
		{"idefics3", "config.json", "text_config.model_type", `"t5"`, "not a decoder"},
		{"idefics3", "config.json", "text_config.model_type", `"plamo2"`, "state-space"},
		{"idefics3", "config.json", "text_config.hidden_size", `40`, "shape"},
		{"idefics3", "config.json", "scale_factor", `5`, "shape"},
		{"idefics3", "config.json", "scale_factor", `-1`, "scale_factor"},
		{"idefics3", "config.json", "vision_config.patch_size", `0`, "patch_size"},
		{"idefics3", "config.json", "vision_config.patch_size", `100`, "patch_size: 100"},
		{"idefics3", "config.json", "vision_config.patch_size", `3`, "shape"},
		{"idefics3", "config.json", "vision_config.num_channels", `1`, "num_channels"},
		{"idefics3", "config.json", "vision_config.hidden_act", `"swiglu"`, "hidden_act"},
		{"idefics3", "processor_config.json", "image_processor", `null`, "preprocessor_config.json"},
		{"idefics3", "processor_config.json", "image_processor.do_rescale", `false`, "do_rescale"},
		{"idefics3", "processor_config.json", "image_processor.resample", `9`, "resample"},
		{"idefics3", "processor_config.json", "image_processor.image_std", `[0,0,0]`, "std"},
		{"idefics3", "processor_config.json", "image_processor.image_mean", `[0.5]`, "image_mean: 1 numbers"},
		{"idefics3", "processor_config.json", "image_processor.max_image_size", `{"longest_edge":3}`, "patches of 4 pixels"},
		{"idefics3", "processor_config.json", "image_processor.max_image_size", `{"longest_edge":20}`, "3 patches a side become one input, of 5"},
		{"idefics3", "processor_config.json", "image_processor.size", `{"longest_edge":100000000}`, "longest_edge"},
		{"gemma3-4b", "processor_config.json", "image_processor.size", `{"height":32,"width":16}`, "only squares"},
		{"gemma3-4b", "processor_config.json", "image_processor.do_pan_and_scan", `true`, "do_pan_and_scan"},
		{"gemma3-4b", "config.json", "mm_tokens_per_image", `9`, "mm_tokens_per_image: 9"},
		{"gemma3-4b", "config.json", "vision_config.vision_use_head", `true`, "vision_use_head"},
		{"qwen3-vl", "config.json", "vision_config.num_position_embeddings", `26`, "26 are not a square"},
		{"qwen3-vl", "config.json", "vision_config.num_position_embeddings", `36`, "shape"},
		{"qwen3-vl", "config.json", "vision_config.num_heads", `4`, "heads of 2 values"},
		{"qwen3-vl", "config.json", "vision_config.patch_size", `3`, "shape"},
		{"qwen3-vl", "config.json", "vision_config.temporal_patch_size", `3`, "temporal_patch_size"},
		{"qwen3-vl", "config.json", "vision_config.spatial_merge_size", `1`, "shape"},
		{"qwen3-vl", "config.json", "vision_config.deepstack_visual_indexes", `[1,0]`, "kept: layer 1 of 2"},
		{"qwen3-vl", "config.json", "vision_config.deepstack_visual_indexes", `[0,2]`, "kept: layer 3 of 2"},
		{"qwen3-vl", "config.json", "vision_config.deepstack_visual_indexes", `[0]`, "deepstack_merger_list.1"},
		{"qwen3-vl", "config.json", "vision_config.rope_parameters.rope_type", `"default"`, "rope_type"},
		{"qwen3-vl", "config.json", "text_config.rope_parameters.mrope_section", `[4,2]`, "mrope_section: [4 2] are not sections"},
		{"qwen3-vl", "config.json", "text_config.max_position_embeddings", `4`, "a frame takes 4 tokens"},
		{"qwen3-vl", "preprocessor_config.json", "patch_size", `4`, "frames of a multiple of 8 pixels"},
		{"qwen3-vl", "preprocessor_config.json", "merge_size", `0`, "merge_size"},
		{"qwen3-vl", "preprocessor_config.json", "size.shortest_edge", `0`, "shortest_edge"},
		{"qwen3-vl", "preprocessor_config.json", "size.longest_edge", `63`, "64 to 63 pixels"},
		{"qwen3-vl", "preprocessor_config.json", "size.longest_edge", `67108864`, "more than 262144 squares"},
	} {
		t.Run(c.member+"="+c.value, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "m")
			must(0, os.CopyFS(dir, os.DirFS("testdata/vision/"+c.dir)))
			rewrite(t, filepath.Join(dir, c.file), strings.Split(c.member, "."), c.value)
			m, err := arch.OpenPath(dir)
			if err == nil {
				must(0, m.Close())
			}
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

// rewrite sets a member of a JSON file.
func rewrite(t *testing.T, name string, at []string, value string) {
	t.Helper()
	var all map[string]any
	must(0, json.Unmarshal(must(os.ReadFile(name)), &all))
	in := all
	for _, key := range at[:len(at)-1] {
		in = in[key].(map[string]any)
	}
	in[at[len(at)-1]] = json.RawMessage(value)
	must(0, os.WriteFile(name, must(json.Marshal(all)), 0o600))
}

// A packed model has the same encoder of pictures.
func TestVisionPacks(t *testing.T) {
	for _, dir := range visions(t) {
		m, k := open(t, dir), kernel.Best()
		for _, f := range []transformer.Format{transformer.F32, transformer.Q4_0} {
			name := filepath.Join(t.TempDir(), "m"+checkpoint.PackSuffix)
			file := must(os.Create(name))
			must(0, arch.Pack(file, m, k, f, func(int64, int64) error { return nil }))
			must(0, file.Close())
			packed := must(arch.OpenPath(name))
			t.Cleanup(func() { must(0, packed.Close()) })
			want, got := must(json.Marshal(m.Vision)), must(json.Marshal(packed.Vision))
			if string(want) != string(got) {
				t.Errorf("%s, %v: %s, want %s", dir, f, got, want)
			}
			values := make([]float32, max(m.Vision.Side()*m.Vision.Side(), 4)*m.Vision.Spec.Patch)
			for i := range values {
				values[i] = float32(i%17)/8 - 1
			}
			if !slices.Equal(tower(t, m.Vision, f.Head(), values), tower(t, packed.Vision, transformer.Stored, values)) {
				t.Errorf("%s, %v: the packed encoder gives other vectors", dir, f)
			}
		}
	}
}

// tower returns what an encoder of pictures makes of patches.
func tower(t *testing.T, v *arch.Vision, f transformer.Format, values []float32) []float32 {
	t.Helper()
	m := must(transformer.New(v.Spec, v.Weights, kernel.Best(), f))
	p := m.NewPass(nil)
	must(0, p.EncodePatches([]transformer.Patches{{Values: values, Positions: v.Positions}}))
	return append([]float32(nil), p.Last()...)
}

// Descriptions in packed files are trusted in nothing.
func TestVisionPacksRefused(t *testing.T) {
	m := open(t, "vision/gemma3-4b")
	name := filepath.Join(t.TempDir(), "m"+checkpoint.PackSuffix)
	file := must(os.Create(name))
	must(0, arch.Pack(file, m, kernel.Best(), transformer.F32, func(int64, int64) error { return nil }))
	must(0, file.Close())
	raw := must(os.ReadFile(name))
	for _, c := range []struct{ old, new, says string }{
		{`\"patch\":4,`, `\"patch\":0,`, "patches of 0 pixels"},
		{`\"merge\":2`, `\"merge\":0`, "squares of 0 patches"},
		{`\"merge\":2`, `\"merge\":3`, "squares of 3 patches"},
		{`\"side\":32`, `\"side\":31`, "patches"},
		{`\"mutual\":16`, `\"mutual\":15`, "see each other"},
		{`\"context\":512`, `\"context\":9  `, "a frame takes"},
	} {
		if bytes.Count(raw, []byte(c.old)) == 0 || len(c.old) != len(c.new) {
			t.Errorf("%s: %d times in the file", c.old, bytes.Count(raw, []byte(c.old)))
			continue
		}
		must(0, os.WriteFile(name, bytes.Replace(raw, []byte(c.old), []byte(c.new), 1), 0o600))
		broken, err := arch.OpenPath(name)
		if err == nil {
			must(0, broken.Close())
		}
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.new, err, c.says)
		}
	}
}

// An adapter of a model that reads images is refused for what it is.
func TestVisionAdapter(t *testing.T) {
	dir := t.TempDir()
	must(0, os.CopyFS(filepath.Join(dir, "smolvlm"), os.DirFS("testdata/vision/smolvlm")))
	must(0, os.CopyFS(filepath.Join(dir, "tuned"), os.DirFS("testdata/adapters/llama-all")))
	name := filepath.Join(dir, "tuned", "adapter_config.json")
	rewrite(t, name, []string{"base_model_name_or_path"}, `"smolvlm"`)
	if _, err := arch.OpenPath(filepath.Join(dir, "tuned")); err == nil || !strings.Contains(err.Error(), "adapters of models that read images") {
		t.Error(err)
	}
}
