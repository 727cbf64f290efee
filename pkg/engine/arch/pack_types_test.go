package arch_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/transformer"
)

// The types of K-quants in the description of a packed file are checked against the shapes
// of the tensors; without them the file is refused.
func TestPackTypes(t *testing.T) {
	data := packed(t, "llama-q4_k-gguf", transformer.Stored)
	var d map[string]any
	if err := json.Unmarshal([]byte(describedIn(t, data)), &d); err != nil {
		t.Fatal(err)
	}
	types := d["types"].(map[string]any)
	if types["decoder.0.qkv.0"] != "Q4_K" || types["decoder.0.qkv.1"] != "Q6_K" || types["embedding"] != "Q6_K" {
		t.Errorf("types: %v", types)
	}
	for name, kind := range map[string]string{
		"decoder.0.qkv.0": "Q6_K", "decoder.0.qkv.1": "Q4_0", "decoder.0.out": "F32", "embedding": "Q9", "decoder.0.up": "",
	} {
		was := types[name]
		types[name] = kind
		_, err := arch.Open(fstest.MapFS{"m.safetensors": {Data: repacked(t, data, string(must(json.Marshal(d))))}}, "m.safetensors")
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "does not fit") {
			t.Errorf("%s as %q: %v", name, kind, err)
		}
		types[name] = was
	}
	m, err := arch.Open(fstest.MapFS{"m.safetensors": {Data: repacked(t, data, string(must(json.Marshal(d))))}}, "m.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	if !m.Weights.Quantised() {
		t.Error("the weights are not quantised")
	}
	want := must(arch.Open(fstest.MapFS{"m.safetensors": {Data: data}}, "m.safetensors"))
	if !slices.Equal(outputs(t, m, transformer.Stored), outputs(t, want, transformer.Stored)) {
		t.Error("the same description computes something else")
	}
}
