package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/engine/transformer/transformertest"
	"glossa/pkg/llm"
)

// mixture writes a packed decoder with experts to a directory and returns its description.
func mixture(t *testing.T, dir string) arch.Info {
	t.Helper()
	m := must(arch.Open(os.DirFS(goldens), "gpt2")) // for its tokenizer
	defer m.Close()
	m.Spec = &transformer.Spec{
		Vocab: m.Spec.Vocab, Context: 64, Width: 64, Eps: 1e-5, Position: transformer.Learned, Decoder: make([]int, 3),
		Kinds: []transformer.Kind{{
			Attention: transformer.Attention{Heads: 4, KVHeads: 4, HeadDim: 16},
			FeedForward: transformer.FeedForward{
				Width: 96, Activation: transformer.SiLU, Gated: true, Experts: &transformer.Experts{Count: 16, Used: 2, Renormalised: true},
			},
		}},
	}
	m.Weights = transformertest.New(m.Spec, 3).Weights
	file := must(os.Create(filepath.Join(dir, "mixture.safetensors")))
	if err := arch.Pack(file, m, kernel.Best(), transformer.Q8_0, func(_, _ int64) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return must(arch.Describe(os.DirFS(dir), "mixture.safetensors"))
}

// A packed model that is larger than memory is served, with the same results, while its experts stay
// in its file. With too little for the experts of one token it is refused.
func TestLargerThanMemory(t *testing.T) {
	dir := t.TempDir()
	info := mixture(t, dir)
	bytes, paged := info.Bytes[transformer.Stored], info.Paged[transformer.Stored]
	want, err := start(t, settings{checkpoints: dir}).score(t, "mixture")
	if err != nil {
		t.Fatal(err)
	}
	least := bytes - paged.All + paged.Least
	for _, memory := range []int64{bytes, least + paged.Least, least} {
		p := start(t, settings{checkpoints: dir, memory: memory})
		got, err := p.score(t, "mixture")
		if err != nil || got != want {
			t.Errorf("memory %d of %d: %v, %v, want %v", memory, bytes, got, err, want)
		}
		held := p.Held()
		if len(held) != 1 || held[0].Bytes != memory || (held[0].Experts == nil) != (memory == bytes) {
			t.Fatalf("memory %d of %d: held %+v", memory, bytes, held)
		}
		if use := held[0].Experts; use != nil && (use.Misses == 0 || use.Bytes > use.Limit || use.Limit != memory-(bytes-paged.All)) {
			t.Errorf("memory %d of %d: %+v", memory, bytes, use)
		}
	}
	if _, err := start(t, settings{checkpoints: dir, memory: least - 1}).score(t, "mixture"); codeOf(err) != llm.Unsupported || !strings.Contains(err.Error(), "memory") {
		t.Error(err)
	}
	if _, err := start(t, settings{checkpoints: dir, memory: least, quant: "f32"}).score(t, "mixture"); codeOf(err) != llm.Unsupported {
		t.Errorf("in another format: %v", err)
	}
}
