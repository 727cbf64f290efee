package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"glossa/pkg/engine"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/transformer"
)

// A model that embeds or ranks texts is listed if its weights and its longest batch fit the
// memory. Otherwise the listing and its clients get the numbers.
func TestEncodersFit(t *testing.T) {
	for name, from := range map[string]string{"encoder": "encoders/bert-modes", "ranker": "rerankers/bert"} {
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
