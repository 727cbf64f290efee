package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/transformer"
)

// alpha returns a checkpoint of a small model with weights seeded by step.
func alpha(t *testing.T, c checkpoint.ModelConfig, fused bool, step int) *checkpoint.Alpha {
	t.Helper()
	c.BlockSize, c.NLayer, c.NEmbd, c.NHead = 16, 2, 64, 4
	var letters []string
	for i := range c.VocabSize {
		letters = append(letters, string(rune('一'+i)))
	}
	words, err := json.Marshal(map[string]any{"type": "char", "vocabSize": c.VocabSize, "vocab": letters})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	a := &checkpoint.Alpha{ModelConfig: c, ModelConfigRaw: raw, Params: map[string]checkpoint.Tensor{}, Tokenizer: words, Step: step}
	random := rand.New(rand.NewPCG(1, uint64(step)))
	for _, p := range checkpoint.Params(&c, fused) {
		data := make([]float32, p.Elements())
		for i := range data {
			data[i] = float32(random.NormFloat64()) / 4
		}
		a.Params[p.Name] = checkpoint.Tensor{Shape: p.Shape, Data: data}
	}
	return a
}

// writeRun writes checkpoints into a run directory, alternately as JSON and ALPH.
func writeRun(t *testing.T, dir string, checkpoints ...*checkpoint.Alpha) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf(`{"modelConfig": %s}`, checkpoints[0].ModelConfigRaw)
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	write := []func(io.Writer, *checkpoint.Alpha) error{checkpoint.WriteJSON, checkpoint.WriteALPH}
	for i, a := range checkpoints {
		file, err := os.Create(filepath.Join(dir, fmt.Sprintf("checkpoint-%d.json", a.Step)))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(write[i%2](file, a), file.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// openAlpha opens a model of Alpha and closes it with the test.
func openAlpha(t *testing.T, path string) *Model {
	t.Helper()
	m, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	if m.Name != filepath.Base(path) {
		t.Errorf("%s is called %s", path, m.Name)
	}
	return m
}

// A run directory is measured by its last checkpoint, a checkpoint by its name even if
// the run has a newer one. Either is saved as the same model to the bit.
func TestAlpha(t *testing.T) {
	for _, fused := range []bool{false, true} {
		t.Run(fmt.Sprintf("fused=%v", fused), func(t *testing.T) {
			c := checkpoint.ModelConfig{VocabSize: 320, SoftCap: new(0.0)}
			dir := filepath.Join(t.TempDir(), "run")
			writeRun(t, dir, alpha(t, c, fused, 12), alpha(t, c, fused, 9))
			writeRun(t, filepath.Join(filepath.Dir(dir), "other"), alpha(t, c, fused, 1))
			last := logits(t, openAlpha(t, dir), transformer.F32)
			if !slices.Equal(logits(t, openAlpha(t, filepath.Join(dir, "checkpoint-12.json")), transformer.F32), last) {
				t.Error("the run is not its last checkpoint")
			}
			if slices.Equal(logits(t, openAlpha(t, filepath.Join(dir, "checkpoint-9.json")), transformer.F32), last) {
				t.Error("both checkpoints are the same")
			}
			file := filepath.Join(t.TempDir(), "model.gguf")
			save(t, openAlpha(t, dir), file, transformer.F32)
			if !slices.Equal(logits(t, openAlpha(t, file), transformer.F32), last) {
				t.Error("the saved model computes something else")
			}
			cfg := Config{Format: transformer.Stored, Prefill: 3, Decode: 0, Repeat: 1, Least: 1}
			for r, err := range Run(t.Context(), openAlpha(t, dir), cfg) {
				if err != nil || r.Shape != "run" || r.Quant != "f32" {
					t.Errorf("%+v, %v", r, err)
				}
			}
		})
	}
}

func TestAlphaRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		config checkpoint.ModelConfig
		fused  bool
		want   string
	}{
		"gated":  {checkpoint.ModelConfig{VocabSize: 320, FFNActivation: checkpoint.SwiGLU}, false, "only the weights of a GPT-2 with gelu"},
		"relu":   {checkpoint.ModelConfig{VocabSize: 320, FFNActivation: checkpoint.ReLU}, false, "only the weights of a GPT-2 with gelu"},
		"capped": {checkpoint.ModelConfig{VocabSize: 320}, true, "without a cap of attention scores"},
		"few":    {checkpoint.ModelConfig{VocabSize: 257}, false, "257 tokens are too few"},
	} {
		writeRun(t, filepath.Join(dir, name), alpha(t, c.config, c.fused, 3))
		m := openAlpha(t, filepath.Join(dir, name))
		if err := m.Save(io.Discard, transformer.F32); err == nil || !strings.Contains(err.Error(), "bench "+name) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	if _, err := Open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := Open(filepath.Join(dir, "checkpoint-1.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "relu", "config.json"), []byte(`{}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(dir, "relu")); err == nil || !strings.Contains(err.Error(), "run relu: config.json: no modelConfig") {
		t.Errorf("got %v", err)
	}
	turned := openAlpha(t, filepath.Join(dir, "few"))
	turned.Spec.Vocab = 320
	if err := turned.Save(io.Discard, transformer.F32); err == nil || !strings.Contains(err.Error(), `"token_embd.weight" has 257 rows, not 320`) {
		t.Errorf("got %v", err)
	}
	turned.Weights.Embed.Weight[0].Transposed = true
	if err := turned.Save(io.Discard, transformer.F32); err == nil || !strings.Contains(err.Error(), `"wte" does not have the layout of GGUF`) {
		t.Errorf("got %v", err)
	}
}

// Pieces read from anywhere equal the whole, followed by zeros.
func TestReadPieces(t *testing.T) {
	pieces := []transformer.Tensor{matrix("a", 3, 4), matrix("b", 1, 4), matrix("c", 5, 4)}
	var whole []float32
	for _, p := range pieces {
		values := make([]float32, p.Rows*p.Cols)
		if err := p.Read(values, 0); err != nil {
			t.Fatal(err)
		}
		whole = append(whole, values...)
	}
	whole = append(whole, make([]float32, 8)...)
	for from := range whole {
		for to := from; to <= len(whole); to++ {
			got := slices.Repeat([]float32{9}, to-from)
			if err := readPieces(pieces, got, from); err != nil || !slices.Equal(got, whole[from:to]) {
				t.Fatalf("from %d to %d: %v, want %v (%v)", from, to, got, whole[from:to], err)
			}
		}
	}
}
