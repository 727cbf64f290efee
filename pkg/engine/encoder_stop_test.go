package engine_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"glossa/pkg/engine"
	"glossa/pkg/llm"
)

// endsAfter is a context that ends when its error has been asked for some times.
type endsAfter struct {
	context.Context

	left, asked int // left < 0: it does not end
}

func (c *endsAfter) Err() error {
	c.asked++
	if c.left == 0 {
		return context.Canceled
	}
	c.left--
	return nil
}

// A request of one pass ends before each of its layers, whichever client has gone: none waits
// for the rest. The next request is answered as if there had been no other.
func TestEncoderStops(t *testing.T) {
	embedder, ranker := openEncoder(t, "testdata/encoders/bert", engine.Config{}), openRanker(t, "bert", engine.Config{})
	pair := &llm.RerankRequest{Pairs: []llm.Pair{{Query: "a hen", Document: "the hen"}}}
	text := embedTexts([]string{"the hen and the dog"}, nil)
	layer := embedTexts([]string{"the hen"}, func(r *llm.EmbedRequest) {
		r.Truncate, r.Layers, r.Pooling = false, []int{1}, []llm.Pooling{llm.PoolMean}
	})
	embed := func(req *llm.EmbedRequest) func(context.Context) ([]float32, error) {
		return func(ctx context.Context) ([]float32, error) {
			list, _, err := embedder.Embed(ctx, req)
			if err != nil {
				return nil, err
			}
			return list[0].Layers[0].Vectors[0], nil
		}
	}
	const layers = 2 // of both models
	for name, ask := range map[string]func(context.Context) ([]float32, error){
		"sentence": embed(text), "layer": embed(layer),
		"rerank": func(ctx context.Context) ([]float32, error) {
			list, _, err := ranker.Rerank(ctx, pair)
			if err != nil {
				return nil, err
			}
			return []float32{float32(list[0].Logit)}, nil
		},
	} {
		whole := &endsAfter{Context: t.Context(), left: -1}
		want, err := ask(whole)
		if err != nil {
			t.Fatal(err)
		}
		first := &endsAfter{Context: t.Context()}
		if _, err := ask(first); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v at the first question", name, err)
		}
		if whole.asked < first.asked+layers {
			t.Errorf("%s: the context is asked %d times, %d of them before the pass of %d layers", name, whole.asked, first.asked, layers)
		}
		for n := range whole.asked {
			if _, err := ask(&endsAfter{Context: t.Context(), left: n}); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v when the context ends at question %d of %d", name, err, n, whole.asked)
			}
			if got, err := ask(t.Context()); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: after question %d: %v, %v, want %v", name, n, got, err, want)
			}
		}
	}
}
