package arch_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/transformer"
)

// quantisedModels returns the names of the golden directories of quantised models.
func quantisedModels(t *testing.T) (dirs []string) {
	t.Helper()
	files, err := filepath.Glob("testdata/quantised/*/golden.safetensors")
	if err != nil || len(files) < 1 {
		t.Fatalf("%d quantised models, %v", len(files), err)
	}
	for _, f := range files {
		dirs = append(dirs, "quantised/"+filepath.Base(filepath.Dir(f)))
	}
	return dirs
}

// Quantised directories compute what their original does with the values that the packages which
// publish them dequantise.
func TestQuantisedGoldens(t *testing.T) {
	for _, dir := range quantisedModels(t) {
		t.Run(dir, func(t *testing.T) { compareGolden(t, dir) })
	}
}

// Packed in any format they compute the same bits as from the directory.
func TestQuantisedPack(t *testing.T) {
	for _, dir := range quantisedModels(t) {
		source := open(t, dir)
		for _, f := range []transformer.Format{transformer.Stored, transformer.Q8_0, transformer.Q4_0} {
			m, err := arch.Open(fstest.MapFS{"m.safetensors": {Data: packed(t, dir, f)}}, "m.safetensors")
			if err != nil {
				t.Fatalf("%s: %v", dir, err)
			}
			if !slices.Equal(outputs(t, m, transformer.Stored), outputs(t, source, f)) {
				t.Errorf("%s, format %v: computes something else", dir, f)
			}
		}
	}
}

// The parameters of a quantised directory are counted as they are used, not as they are stored.
func TestQuantisedParameters(t *testing.T) {
	for _, dir := range quantisedModels(t) {
		info, err := arch.Describe(os.DirFS("testdata"), dir)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := readAll(open(t, dir).Weights); err != nil || n != info.Parameters || info.Bytes[transformer.F32] < 4*n {
			t.Errorf("%s: %d parameters in %v bytes, %d values (%v)", dir, info.Parameters, info.Bytes, n, err)
		}
	}
}
