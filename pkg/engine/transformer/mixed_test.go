package transformer_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// Pieces of a matrix that are stored in several formats are kept in float32: the format of
// the first would round the others.
func TestStoredPieces(t *testing.T) {
	spec, w := plain(64, 1, 50)
	want := forward(t, spec, w, transformer.F32)
	whole := w.Decoder[0].QKV.Weight[0]
	var pieces []transformer.Tensor
	for i := range 3 {
		pieces = append(pieces, transformer.Tensor{
			Name: "piece", Rows: 64, Cols: 64,
			Read: func(dst []float32, from int) error { return whole.Read(dst, i*64*64+from) },
		})
	}
	pieces[0].Stored = transformer.Q4_0
	pieces[0].ReadStored = func([]byte, int) error { return errors.New("a piece is read as it is stored") }
	w.Decoder[0].QKV.Weight = pieces
	if !slices.Equal(forward(t, spec, w, transformer.Stored), want) {
		t.Error("pieces in two formats were rounded")
	}
}

// The matrices of a gated block may be kept in different formats.
func TestGatedFormats(t *testing.T) {
	spec, w := plain(64, 1, 50)
	spec.Kinds[0].FeedForward.Gated = true
	w.Decoder[0].Gate = matrix("gate", 256, 64)
	want := forward(t, spec, w, transformer.F32)
	all := []transformer.Format{transformer.F32, transformer.BF16, transformer.Q8_0, transformer.Q4_0}
	for _, up := range all {
		for _, gate := range all {
			mixed := *w
			mixed.Decoder = slices.Clone(w.Decoder)
			mixed.Decoder[0].Up = kept(t, spec, w, "decoder.0.up", up)
			mixed.Decoder[0].Gate = kept(t, spec, w, "decoder.0.gate", gate)
			far := 0.0
			for i, v := range forward(t, spec, &mixed, transformer.Stored) {
				far = max(far, math.Abs(float64(v-want[i])))
			}
			if far > 0.05 {
				t.Errorf("up in format %v, gate in %v: logits differ by %v", up, gate, far)
			}
		}
	}
}

// kept returns a matrix of w as stored in a packed file.
func kept(t *testing.T, spec *transformer.Spec, w *transformer.Weights, name string, f transformer.Format) transformer.Linear {
	t.Helper()
	l, err := transformer.NewLayout(spec, w, kernel.Best(), f)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(l.Tensors, func(x transformer.PackedTensor) bool { return x.Name == name })
	data := must(l.Load(i))
	return transformer.Linear{Weight: []transformer.Tensor{{
		Name: name, Rows: 256, Cols: 64, Stored: f, Packed: func() []byte { return data },
	}}}
}

func forward(t *testing.T, spec *transformer.Spec, w *transformer.Weights, f transformer.Format) []float32 {
	t.Helper()
	m, err := transformer.New(spec, w, kernel.Best(), f)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(must(m.NewPass(nil).Forward([]transformer.Sequence{{Cache: m.NewCache(4), Tokens: []int{1, 2, 3}, Logits: 3}})))
}
