package arch_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/checkpoint/checkpointtest"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// version1 returns the version 1 description of a golden model, packed in Q8_0.
func version1(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "packs", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// relabelled returns a packed model whose version is set to 1.
func relabelled(t testing.TB, data []byte) []byte {
	t.Helper()
	if !bytes.Contains(data, []byte(`"glossa.version":"2"`)) {
		t.Fatal("it is not of version 2")
	}
	return bytes.Replace(data, []byte(`"glossa.version":"2"`), []byte(`"glossa.version":"1"`), 1)
}

// A packed model of version 1 equals the same model packed today, and computes the same
// bits.
func TestPackVersion1(t *testing.T) {
	descriptions := must(filepath.Glob("testdata/packs/*.json"))
	if len(descriptions) != 24 {
		t.Fatalf("%d descriptions", len(descriptions))
	}
	for _, file := range descriptions {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		data := packed(t, name, transformer.Q8_0)
		now, then := must(arch.Open(inMemory(data), ".")), must(arch.Open(inMemory(relabelled(t, repacked(t, data, version1(t, name)))), "."))
		same(t, name, then, now)
		if !slices.Equal(outputs(t, then, transformer.Stored), outputs(t, now, transformer.Stored)) {
			t.Errorf("%s: computes something else", name)
		}
	}
}

// Files written by version 1 are opened, compute the same bits as their sources, are
// copied unchanged, and packed again in the current version.
func TestPackVersion1Files(t *testing.T) {
	files := must(filepath.Glob("testdata/packs/*.safetensors"))
	if len(files) != 4 {
		t.Fatalf("%d files", len(files))
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".safetensors")
		data, format := must(os.ReadFile(file)), transformer.Q4_0
		var source *arch.Model
		if name == "alpha" {
			source, format = must(arch.FromAlpha(checkpointtest.Golden(), "tanh30")), transformer.F32
		} else {
			source = open(t, name)
		}
		m := must(arch.Open(inMemory(data), "."))
		if !reflect.DeepEqual(m.Spec, source.Spec) {
			t.Errorf("%s: %+v, want %+v", name, m.Spec, source.Spec)
		}
		var copied, again checkpointtest.File
		quiet := func(_, _ int64) error { return nil }
		if err := arch.CopyPack(&copied, inMemory(data), "m.safetensors", func(int64) error { return nil }); err != nil || !bytes.Equal(copied.Data, data) {
			t.Errorf("%s: the copy differs, %v", name, err)
		}
		if err := arch.Pack(&again, m, kernel.Best(), transformer.Stored, quiet); err != nil {
			t.Fatal(err)
		}
		if v, err := must(checkpoint.Open(inMemory(again.Data), "m.safetensors")).PackVersion(); v != "2" || err != nil {
			t.Errorf("%s: version %q, %v", name, v, err)
		}
		if name == "alpha" {
			continue // three tokens
		}
		want := outputs(t, source, format)
		for what, data := range map[string][]byte{"version 1": data, "packed again": again.Data} {
			if !slices.Equal(outputs(t, must(arch.Open(inMemory(data), ".")), transformer.Stored), want) {
				t.Errorf("%s, %s: computes something else", name, what)
			}
		}
	}
}
