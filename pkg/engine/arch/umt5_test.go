package arch_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/transformer"
)

// Each layer of a file, or of a pack, has its biases.
func TestHostileUMT5(t *testing.T) {
	const last = "decoder.block.1.layer.0.SelfAttention.relative_attention_bias.weight"
	for what, change := range map[string]func(all map[string]stored){
		last + `": missing`:      func(all map[string]stored) { delete(all, last) },
		last + `": shape [32 3]`: func(all map[string]stored) { all[last] = numbers(0, 32, 3) },
	} {
		fsys := bare(t, "umt5")
		tensors(t, fsys, change)
		checkRejected(t, what, fsys, what)
	}
	data := packed(t, "umt5", transformer.F32)
	for what, members := range map[string]map[string]any{
		"relative_buckets: 0 is not": {"relative_buckets": 0, "relative_distance": 0},
		`tensor "relative": missing`: {"relative_layers": false},
	} {
		var d map[string]any
		if err := json.Unmarshal([]byte(describedIn(t, data)), &d); err != nil {
			t.Fatal(err)
		}
		maps.Copy(d["spec"].(map[string]any), members)
		pack := fstest.MapFS{"m.safetensors": {Data: repacked(t, data, string(must(json.Marshal(d))))}}
		if _, err := arch.Open(pack, "m.safetensors"); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
