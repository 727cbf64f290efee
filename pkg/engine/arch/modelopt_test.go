package arch_test

import (
	"testing"
	"testing/fstest"
)

// Older exports of ModelOpt have their settings in a file of their own, which those of config.json replace.
func TestModelOptFile(t *testing.T) {
	scale := floatsOf([]float32{3}, 1)
	codes := eights("F8_E4M3", quantisedRows, quantisedCols)
	file := func(raw string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(raw)} }
	fsys := quantised(t, nil, map[string]stored{"weight": codes, "weight_scale": scale})
	checkRejected(t, "no settings", fsys, `gate_proj.weight`)
	for _, c := range []struct{ file, want string }{
		{`{"quantization": {"quant_algo": "INT8"}}`, `quantization_config.quant_algo: "INT8" is not supported`},
		{`{"quantization": 3}`, "hf_quant_config.json: quantization: 3 is not a valid object"},
		{`{`, "hf_quant_config.json: "},
		{`{"quantization": {"kv_cache_quant_algo": "FP8"}}`, `gate_proj.weight`},
	} {
		fsys["m/hf_quant_config.json"] = file(c.file)
		checkRejected(t, c.file, fsys, c.want)
	}
	fsys["m/hf_quant_config.json"] = file(`{"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}}`)
	older := openIn(t, fsys, "m")
	if got := valuesOf(t, older.Weights.Decoder[1].Gate.Weight)[7]; got != codes.float(7)*3 {
		t.Errorf("value 7 is %v, want %v", got, codes.float(7)*3)
	}
	set(t, fsys, "config.json", members{"quantization_config": modelOpt("FP8")})
	fsys["m/hf_quant_config.json"] = file(`{`)
	if newer := openIn(t, fsys, "m"); newer.Version == older.Version {
		t.Error("the settings do not change the version")
	}
}
