package engine

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"glossa/pkg/engine/arch"
	"glossa/pkg/llm"
)

// A model that computes NaN gives an error that names it: neither texts nor vectors.
func TestDamagedModel(t *testing.T) {
	m, err := arch.Open(os.DirFS("arch/testdata"), "gpt2")
	if err != nil {
		t.Fatal(err)
	}
	norm := &m.Weights.DecoderNorm.Weight[0]
	read := norm.Read
	norm.Read = func(dst []float32, from int) error {
		err := read(dst, from)
		dst[0] = float32(math.NaN())
		return err
	}
	e, err := New(m, Config{Name: "broken"})
	if err != nil {
		t.Fatal(err)
	}
	prompts := []llm.Prompt{{Parts: []llm.Part{{Text: "a"}}}}
	_, _, generated := llm.Collect(e.Generate(t.Context(), &llm.Request{Prompts: prompts}), 1)
	_, _, embedded := e.Embed(t.Context(), &llm.EmbedRequest{Prompts: prompts})
	for _, err := range []error{generated, embedded} {
		if fault, ok := errors.AsType[*llm.Error](err); !ok || fault.Code != llm.Internal || !strings.Contains(fault.Message, `"broken" computes NaN`) {
			t.Errorf("got %v", err)
		}
	}
}
