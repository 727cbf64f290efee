package local

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"glossa/pkg/engine"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
)

// A model that embeds, ranks or classifies texts is listed if its weights and its longest batch fit the
// memory. Otherwise the listing and its clients get the numbers.
func TestEncodersFit(t *testing.T) {
	for name, from := range map[string]string{"encoder": "encoders/bert-modes", "ranker": "rerankers/bert", "classifier": "classifiers/bert"} {
		dir := t.TempDir()
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS("../engine/testdata/"+from)); err != nil {
			t.Fatal(err)
		}
		info, err := arch.Describe(os.DirFS(dir), name)
		if err != nil {
			t.Fatal(err)
		}
		weights := info.Bytes[transformer.Stored]
		team := transformer.NewTeam(1)
		need := weights + engine.PassMemory(info.Spec, info.Context, engine.Config{Team: team})
		if need <= weights {
			t.Fatalf("%s: %d bytes with passes, %d without", name, need, weights)
		}
		team.Close()
		for _, memory := range []int64{weights, 64 << 20} {
			p := start(t, settings{checkpoints: dir, memory: memory})
			infos, err := p.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.open(t, name)
			if fits := memory >= 64<<20; fits != (err == nil) || fits != (len(infos) == 1) {
				t.Errorf("%s in %d bytes: %v, %v", name, memory, infos, err)
			}
			if err != nil && (!strings.Contains(err.Error(), "MiB of memory, for its weights and the longest batch, and models may use 0.") || !strings.Contains(err.Error(), name)) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// A change of a file of a module is noticed: the model is described and opened again.
func TestModuleChanged(t *testing.T) {
	root := t.TempDir()
	if err := os.CopyFS(filepath.Join(root, "encoder"), os.DirFS("../engine/testdata/encoders/bert-modes")); err != nil {
		t.Fatal(err)
	}
	p := start(t, settings{checkpoints: root})
	before := p.vector(t, "encoder")
	for file, change := range map[string]func([]byte) []byte{
		"1_Pooling/config.json":     func(b []byte) []byte { return bytes.Replace(b, []byte(`"max"`), []byte(`"lasttoken"`), 1) },
		"2_Dense/model.safetensors": func(b []byte) []byte { return append(b[:len(b)-4], 0, 0, 128, 63) }, // the last value is 1
	} {
		name := filepath.Join(root, "encoder", file)
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, change(data), 0o600); err != nil {
			t.Fatal(err)
		}
		changed := time.Now().Add(time.Hour) // a file system may count in seconds
		if err := os.Chtimes(name, changed, changed); err != nil {
			t.Fatal(err)
		}
		p.Refresh()
		after := p.vector(t, "encoder")
		if slices.Equal(before, after) {
			t.Errorf("%s: the old version is still served", file)
		}
		before = after
	}
}

// vector returns the embedding of a text.
func (p *process) vector(t testing.TB, name string) []float32 {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m, err := p.Open(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	embedder, err := llm.As[llm.Embedder](m.Backend)
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := embedder.Embed(ctx, &llm.EmbedRequest{Prompts: []llm.Prompt{llm.Text("the hen")}})
	if err != nil {
		t.Fatal(err)
	}
	return list[0].Layers[0].Vectors[0]
}
