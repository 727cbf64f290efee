package transformer_test

import (
	"fmt"
	"slices"
	"testing"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// few is a model with four heads that share heads of keys, one layer in two with a window.
func few(t *testing.T, keys, window int) *transformer.Model {
	t.Helper()
	const width = 64
	spec, w := plain(width, 2, 50)
	spec.Context, spec.Position, spec.Decoder = 3000, transformer.NoPosition, []int{0, 1}
	spec.Kinds[0].Attention.KVHeads = keys
	spec.Kinds = append(spec.Kinds, spec.Kinds[0])
	spec.Kinds[1].Attention.Window = window
	for i := range w.Decoder {
		w.Decoder[i].QKV = matrix("qkv", width+2*keys*width/4, width)
	}
	m, err := transformer.New(spec, w, kernel.Best(), transformer.F32)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Workers share the tokens of long texts and the keys of a few tokens where heads are too few, and
// logits stay the same to the bit.
func TestFewHeads(t *testing.T) {
	for _, keys := range []int{1, 2} {
		for _, window := range []int{0, 100, 1500} {
			m := few(t, keys, window)
			want := longTexts(t, m, 1)
			for _, workers := range []int{2, 3, 5} {
				t.Run(fmt.Sprintf("keys=%d/window=%d/workers=%d", keys, window, workers), func(t *testing.T) {
					for i, got := range longTexts(t, m, workers) {
						if !slices.Equal(got, want[i]) {
							t.Errorf("pass %d: other logits than with one worker", i)
						}
					}
				})
			}
		}
	}
}

// longTexts returns the logits of passes over two texts, one long: its tokens in pieces, then one or
// two tokens of one or both.
func longTexts(t *testing.T, m *transformer.Model, workers int) (list [][]float32) {
	t.Helper()
	team := transformer.NewTeam(workers)
	defer team.Close()
	p := m.NewPass(team)
	p.ShareAll = true
	long, short := m.NewCache(3000), m.NewCache(100)
	tokens := make([]int, 2300)
	for i := range tokens {
		tokens[i] = (i*i + i/7) % 50
	}
	forward := func(seqs ...transformer.Sequence) {
		list = append(list, slices.Clone(must(p.Forward(seqs))))
	}
	for piece := range slices.Chunk(tokens, 700) {
		forward(transformer.Sequence{Cache: long, Tokens: piece, Logits: 1})
	}
	forward(transformer.Sequence{Cache: long, Tokens: []int{1}, Logits: 1})
	forward(transformer.Sequence{Cache: long, Tokens: []int{1, 2, 3}, Logits: 3})
	forward(transformer.Sequence{Cache: short, Tokens: tokens[:40], Logits: 1}, transformer.Sequence{Cache: long, Tokens: []int{4}, Logits: 1})
	forward(transformer.Sequence{Cache: short, Tokens: []int{5}, Logits: 1}, transformer.Sequence{Cache: long, Tokens: []int{6, 7}, Logits: 1})
	return list
}

// The same for texts of an encoder, some of which see a beginning only.
func TestFewHeadsOfTexts(t *testing.T) {
	const width = 64
	texts := [][]int{make([]int, 5), make([]int, 130), make([]int, 77)}
	for i, text := range texts {
		for j := range text {
			text[j] = (i + j*j) % 50
		}
	}
	for _, keys := range []int{1, 2} {
		for _, window := range []int{0, 3, 60} {
			spec, w := plain(width, 2, 50)
			spec.Context, spec.Position, spec.Encoder, spec.Decoder = 200, transformer.NoPosition, spec.Decoder, nil
			w.Encoder, w.Decoder, w.Head, w.EncoderNorm, w.DecoderNorm = w.Decoder, nil, transformer.Linear{}, w.DecoderNorm, transformer.Norm{}
			spec.Kinds[0].Attention.KVHeads, spec.Kinds[0].Attention.Window = keys, window
			for i := range w.Encoder {
				w.Encoder[i].QKV = matrix("qkv", width+2*keys*width/4, width)
			}
			m, err := transformer.New(spec, w, kernel.Best(), transformer.F32)
			if err != nil {
				t.Fatal(err)
			}
			encode := func(workers int) (list [][]float32) {
				team := transformer.NewTeam(workers)
				defer team.Close()
				p := m.NewPass(team)
				p.ShareAll = true
				for i := range texts {
					must(p.Encode(texts[i:]))
					list = append(list, slices.Clone(p.Last()))
				}
				if window == 0 {
					if err := p.EncodePrefixes(texts, []int{2, 100, 7}); err != nil {
						t.Fatal(err)
					}
					list = append(list, slices.Clone(p.Last()))
				}
				return list
			}
			want := encode(1)
			for _, workers := range []int{2, 3, 5, 7} {
				for i, got := range encode(workers) {
					if !slices.Equal(got, want[i]) {
						t.Errorf("keys %d, window %d, %d workers: pass %d computes something else than one worker", keys, window, workers, i)
					}
				}
			}
		}
	}
}
