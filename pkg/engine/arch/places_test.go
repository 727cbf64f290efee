package arch_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine/arch"
)

// Every directory with weights is a model, several, or an error that says why not.
func TestPlaces(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	fsys := fstest.MapFS{
		"hf/config.json": file(`{"model_type": "llama"}`), "hf/model.safetensors": file(""),
		"one/x.gguf":                          file(""),
		"two/SmolLM2-135M-Instruct-Q8_0.gguf": file(""), "two/SmolLM2-135M-Instruct-Q4_K_M.gguf": file(""), "two/README.md": file("#"),
		"alike/a-Q8_0.gguf": file(""), "alike/b-Q8_0.gguf": file(""),
		"split/m-F16-00001-of-00002.gguf": file(""), "split/m-F16-00002-of-00002.gguf": file(""), "split/m-Q8_0.gguf": file(""),
		"bare.gguf": file(""), "large-00001-of-00002.gguf": file(""), "large-00002-of-00002.gguf": file(""),
		"pickled/adapter_config.json": file("{}"), "pickled/adapter_model.bin": file(""), "adapter/adapter_config.json": file("{}"), "adapter/adapter_model.safetensors": file(""),
		"mistral/consolidated.safetensors": file(""), "mistral/params.json": file("{}"),
		"bare-weights/model.safetensors": file(""),
		"untyped/config.json":            file("{}"), "untyped/model.safetensors": file(""),
		"torch/pytorch_model.bin": file(""),
		"notes/README.md":         file("#"), "notes.txt": file("x"),
		"empty.safetensors": file(""),
	}
	for entry, want := range map[string]string{
		"hf": "hf=hf", "one": "one=one",
		"two":       "two:Q4_K_M=two/SmolLM2-135M-Instruct-Q4_K_M.gguf two:Q8_0=two/SmolLM2-135M-Instruct-Q8_0.gguf",
		"alike":     "alike:a-Q8_0=alike/a-Q8_0.gguf alike:b-Q8_0=alike/b-Q8_0.gguf",
		"split":     "split:F16=split/m-F16-00001-of-00002.gguf split:Q8_0=split/m-Q8_0.gguf",
		"bare.gguf": "bare=bare.gguf", "large-00001-of-00002.gguf": "large=large-00001-of-00002.gguf", "large-00002-of-00002.gguf": "",
		"notes": "", "notes.txt": "",
		"adapter":           "adapter=adapter",
		"pickled":           "error: pickled/adapter_config.json: an adapter needs adapter_config.json and adapter_model.safetensors",
		"mistral":           "error: this layout is not supported: use the repository's model.safetensors and config.json",
		"bare-weights":      "error: it has model.safetensors, but no config.json",
		"untyped":           "error: untyped/config.json has no model_type",
		"torch":             "error: the weights must be safetensors or GGUF",
		"empty.safetensors": "error: empty.safetensors",
		"none":              "error: none",
	} {
		var got []string
		places, err := arch.Places(fsys, entry)
		for _, p := range places {
			got = append(got, p.Name+"="+p.Path)
		}
		if part, fails := strings.CutPrefix(want, "error: "); fails {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, want %q", entry, err, part)
			}
		} else if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: got %q, %v, want %q", entry, got, err, want)
		}
	}
}

// Files has the files of modules at any depth and the templates for tools, and no others in
// directories.
func TestFiles(t *testing.T) {
	fsys := fstest.MapFS{}
	for _, name := range []string{
		"st/modules.json", "st/config.json", "st/1_Pooling/config.json", "st/heads/2_Dense/model.safetensors",
		"hf/config.json", "hf/additional_chat_templates/tool_use.jinja", "hf/onnx/model.onnx",
		"one.gguf",
	} {
		fsys[name] = &fstest.MapFile{}
	}
	for entry, want := range map[string][]string{
		"st":       {"st/1_Pooling/config.json", "st/config.json", "st/heads/2_Dense/model.safetensors", "st/modules.json"},
		"hf":       {"hf/additional_chat_templates/tool_use.jinja", "hf/config.json"},
		"one.gguf": {"one.gguf"},
	} {
		names, err := arch.Files(fsys, entry)
		files := slices.DeleteFunc(names, func(name string) bool { return fsys[name] == nil }) // without directories
		slices.Sort(files)
		if err != nil || !slices.Equal(files, want) {
			t.Errorf("%s: %v, %v", entry, files, err)
		}
	}
}
