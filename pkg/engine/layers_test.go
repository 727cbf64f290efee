package engine

import (
	"fmt"
	"testing"

	"glossa/pkg/llm"
)

// Layers are also counted from the end: -1 is the last, and the embeddings come first.
func TestLayersFromTheEnd(t *testing.T) {
	e, _, _ := reference(t, "gpt2")
	depth := len(e.model.Decoder)
	embed := func(layers ...int) []llm.Layer {
		t.Helper()
		req := &llm.EmbedRequest{Prompts: []llm.Prompt{llm.Text("1 2")}, Layers: layers, Pooling: []llm.Pooling{llm.PoolMean}}
		got, _, err := e.Embed(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return got[0].Layers
	}
	for back := range depth + 1 {
		pair := embed(depth-back, -1-back)
		if pair[1].Index != depth-back {
			t.Errorf("layer %d is layer %d", -1-back, pair[1].Index)
		}
		near(t, fmt.Sprintf("layer %d", -1-back), pair[1].Vectors[0], pair[0].Vectors[0])
	}
	for _, layer := range []int{depth + 1, -depth - 2} {
		req := &llm.EmbedRequest{Prompts: []llm.Prompt{llm.Text("1 2")}, Layers: []int{layer}}
		if _, _, err := e.Embed(t.Context(), req); llm.AsError(err).Param != "layers" {
			t.Errorf("layer %d: %v", layer, err)
		}
	}
}
