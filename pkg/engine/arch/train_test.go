package arch_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/checkpoint/checkpointtest"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

const runConfig = `{"modelConfig":{"vocabSize":3,"blockSize":4,"nLayer":1,"nEmbd":4,"nHead":2},"runId":"r"}`

// trained returns the golden model of Alpha with its run, packed.
func trained(t testing.TB, files map[string]string) []byte {
	t.Helper()
	m := must(arch.FromAlpha(checkpointtest.Golden(), ""))
	m.Run = &arch.Run{Config: []byte(runConfig), Step: 7, LastLoss: new(1.5)}
	for _, name := range []string{"metrics.jsonl", "training-data.txt"} {
		if text := files[name]; text != "" {
			m.Run.Files = append(m.Run.Files, arch.RunFile{Name: name, Size: len(text), Data: func() ([]byte, error) { return []byte(text), nil }})
		}
	}
	var b checkpointtest.File
	if err := arch.Pack(&b, m, kernel.Best(), transformer.F32, func(_, _ int64) error { return nil }); err != nil {
		t.Fatal(err)
	}
	return b.Data
}

// A packed model keeps its run, also when packed again, and reads no more for it.
func TestPackRun(t *testing.T) {
	for _, size := range []int{0, 1, 63, 64, 65, 1000} {
		files := map[string]string{"metrics.jsonl": strings.Repeat("m", size), "training-data.txt": strings.Repeat("t", 2*size)}
		data := trained(t, files)
		for range 2 {
			m := must(arch.Open(inMemory(data), "m.safetensors"))
			if m.Run == nil || m.Run.Step != 7 || *m.Run.LastLoss != 1.5 || !json.Valid(m.Run.Config) || m.Weights.Await(math.MaxInt) != nil {
				t.Fatalf("%+v", m.Run)
			}
			for _, f := range m.Run.Files {
				if got := must(f.Data()); string(got) != files[f.Name] {
					t.Errorf("%s: %q", f.Name, got)
				}
			}
			info := must(arch.Describe(inMemory(data), "m.safetensors"))
			if info.Run == nil || len(info.Run.Files) != len(m.Run.Files) || size > 0 && len(info.Run.Files) != 2 {
				t.Errorf("%d bytes: %+v", size, info.Run)
			}
			var b, c checkpointtest.File
			if err := arch.Pack(&b, m, kernel.Best(), transformer.F32, func(_, _ int64) error { return nil }); err != nil {
				t.Fatal(err)
			}
			if err := arch.CopyPack(&c, inMemory(data), "m.safetensors", func(int64) error { return nil }); err != nil || !bytes.Equal(c.Data, data) {
				t.Fatal("a copy is another file", err)
			}
			data = b.Data
		}
	}
}

// An invalid description of a packed model's run is rejected.
func TestPackRunSays(t *testing.T) {
	data := trained(t, map[string]string{"metrics.jsonl": "m", "training-data.txt": "t"})
	for name, r := range map[string]rewriting{
		"no JSON":            {meta: func(m map[string]string) { m["glossa.run"] = "{" }},
		"no config":          {meta: func(m map[string]string) { m["glossa.run"] = "{}" }},
		"a step before 0":    {meta: setDescription(`"step":7`, `"step":-7`)},
		"another file":       {meta: setDescription("metrics.jsonl", "other.jsonl")},
		"more than there is": {meta: setDescription(`"metrics.jsonl","size":1`, `"metrics.jsonl","size":65`)},
		"less than nothing":  {meta: setDescription(`"metrics.jsonl","size":1`, `"metrics.jsonl","size":-1`)},
		"a file twice":       {meta: setDescription("training-data.txt", "metrics.jsonl")},
		"a file fewer":       {meta: setDescription(`,{"name":"training-data.txt","size":1}`, "")},
		"weights for files":  {meta: setDescription(`"files":[`, `"files":[{"name":"../x","size":1},`)},
		"many files":         {meta: setDescription(`"files":[`, `"files":[`+strings.Repeat(`{"name":"x","size":1},`, 10))},
		"another order":      {tensors: slices.Reverse[[]checkpoint.TensorInfo]},
		"no run":             {meta: func(m map[string]string) { delete(m, "glossa.run") }},
	} {
		if m, err := arch.Open(inMemory(r.of(t, data)), "m.safetensors"); err == nil {
			t.Errorf("%s: %+v", name, m.Run)
		}
		var b checkpointtest.File
		if err := arch.CopyPack(&b, inMemory(r.of(t, data)), "m.safetensors", func(int64) error { return nil }); err == nil || len(b.Data) > 0 {
			t.Errorf("%s: it is copied", name)
		}
	}
}

// setDescription replaces a text in the description of a packed model's run.
func setDescription(old, text string) func(map[string]string) {
	return func(m map[string]string) {
		if !strings.Contains(m["glossa.run"], old) {
			panic(fmt.Sprintf("%s is not in %s", old, m["glossa.run"]))
		}
		m["glossa.run"] = strings.Replace(m["glossa.run"], old, text, 1)
	}
}

// A copy of a damaged model is not a model: it has no header.
func TestCopyPackDamaged(t *testing.T) {
	data := trained(t, map[string]string{"training-data.txt": "t"})
	f := must(checkpoint.Open(inMemory(data), "m.safetensors"))
	for i := range f.Tensors {
		broken := slices.Clone(data)
		broken[f.Tensors[i].Offset] ^= 1
		var b checkpointtest.File
		err := arch.CopyPack(&b, inMemory(broken), "m.safetensors", func(int64) error { return nil })
		if err == nil || !strings.Contains(err.Error(), f.Tensors[i].Name) || len(b.Data) > 8 && bytes.Contains(b.Data[:100], []byte("glossa")) {
			t.Errorf("%s: %v", f.Tensors[i].Name, err)
		}
	}
}

// The bound of scores can be set like that of a checkpoint.
func TestSetCap(t *testing.T) {
	for limit, want := range map[string][2]float32{"": {}, "none": {}, "clamp30": {0, 30}, "tanh30": {30}, "5": {5}} {
		m := must(arch.Open(inMemory(trained(t, nil)), "m.safetensors"))
		err, a := m.SetCap(limit), &m.Spec.Kinds[0].Attention
		if got := [2]float32{a.SoftCap, a.Clamp}; err != nil || got != want {
			t.Errorf("%q: %v %v", limit, got, err)
		}
		if m.SetCap("x") == nil {
			t.Error("any word is a bound")
		}
	}
	if m := must(arch.Open(inMemory(packed(t, "gpt2", transformer.F32)), ".")); m.SetCap("none") == nil {
		t.Error("GPT-2 has a bound of scores")
	}
}
