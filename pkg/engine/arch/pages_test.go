package arch_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// mixtures are models of testdata with experts: with a shared block, with biases and sinks, beside
// states, beside convolutions.
var mixtures = []string{"qwen2_moe", "gpt_oss-gguf", "granite4-experts", "lfm2_moe"}

// packedFiles writes a model of testdata as a packed file and returns its directory.
func packedFiles(t *testing.T, data []byte) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "m.safetensors"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Experts that stay in the packed file compute the same bits, with little memory and much.
func TestOpenPaged(t *testing.T) {
	for _, name := range mixtures {
		for _, f := range []transformer.Format{transformer.Q8_0, transformer.Stored} {
			fsys := os.DirFS(packedFiles(t, packed(t, name, f)))
			whole := must(arch.Open(fsys, "m.safetensors"))
			want := outputs(t, whole, transformer.Stored)
			info := must(arch.Describe(fsys, "m.safetensors"))
			paged := info.Paged[transformer.Stored]
			if bytes := info.Bytes[transformer.Stored]; paged.All <= paged.Least || paged.All >= bytes || paged.Least <= 0 {
				t.Errorf("%s: %+v of %d bytes", name, paged, bytes)
			}
			if _, ok := info.Paged[transformer.Q4_0]; ok {
				t.Errorf("%s: experts in %v can stay in the file in another format", name, f)
			}
			for _, memory := range []int64{1, paged.Least, paged.All} {
				m := must(arch.OpenPaged(fsys, "m.safetensors", memory))
				if !slices.Equal(outputs(t, m, transformer.Stored), want) {
					t.Errorf("%s, %v, %d bytes for experts: other logits", name, f, memory)
				}
				if err := m.Close(); err != nil {
					t.Error(err)
				}
			}
			if err := whole.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A damaged expert is noticed by the first pass that uses it, with its name.
func TestPagedDamaged(t *testing.T) {
	data := packed(t, mixtures[0], transformer.Q8_0)
	m := must(arch.Open(fstest.MapFS{"m.safetensors": {Data: data}}, "m.safetensors"))
	if err := m.Weights.Await(math.MaxInt); err != nil {
		t.Fatal(err)
	}
	used := 0
	for _, e := range m.Weights.Decoder[0].Experts {
		part := e.Down.Weight[0].Packed()
		at := bytes.Index(data, part)
		damaged := slices.Clone(data)
		damaged[at+len(part)/2] ^= 1
		paged := must(arch.OpenPaged(os.DirFS(packedFiles(t, damaged)), "m.safetensors", 1))
		p := must(transformer.New(paged.Spec, paged.Weights, kernel.Best(), transformer.Stored))
		_, err := p.NewPass(nil).Forward([]transformer.Sequence{{Cache: p.NewCache(1), Tokens: []int{5}, Logits: 1}})
		if err == nil {
			continue
		}
		if used++; !strings.Contains(err.Error(), `tensor "decoder.0.expert.`) || !strings.Contains(err.Error(), "down") || !strings.Contains(err.Error(), "checksum") {
			t.Error(err)
		}
	}
	if want := m.Spec.Kinds[m.Spec.Decoder[0]].FeedForward.Experts.Used; used != want {
		t.Errorf("%d damaged experts were noticed, a token uses %d", used, want)
	}
}

// Models whose experts cannot stay in the file are refused with the reason.
func TestPagedRefused(t *testing.T) {
	dense := os.DirFS(packedFiles(t, packed(t, "gpt2", transformer.Q8_0)))
	if info := must(arch.Describe(dense, ".")); len(info.Paged) > 0 {
		t.Errorf("gpt2: %v", info.Paged)
	}
	mixture := packed(t, mixtures[0], transformer.Q8_0)
	read := fstest.MapFS{"m.safetensors": {Data: mixture}}
	if info := must(arch.Describe(read, ".")); len(info.Paged) > 0 {
		t.Errorf("not a local file: %v", info.Paged)
	}
	for want, err := range map[string]error{
		"it has no experts":        second(arch.OpenPaged(dense, ".", 1)),
		"cannot be mapped":         second(arch.OpenPaged(read, ".", 1)),
		"only the experts of a":    second(arch.OpenPaged(os.DirFS("testdata"), mixtures[0], 1)),
		"0 bytes of memory":        second(arch.OpenPaged(dense, ".", 0)),
		"in f32 it cannot stay in": pagedAs(t, mixture, transformer.F32),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// pagedAs returns the error of the weights of a paged model in a format.
func pagedAs(t *testing.T, data []byte, f transformer.Format) error {
	t.Helper()
	m := must(arch.OpenPaged(os.DirFS(packedFiles(t, data)), ".", 1))
	defer m.Close()
	return second(transformer.New(m.Spec, m.Weights, kernel.Best(), f))
}
