package bench

import (
	"errors"
	"fmt"
	"reflect"

	"glossa/pkg/engine/transformer"
)

// gpt2 converts a model's weights to GGUF's GPT-2: linear layers without biases get
// zeros. It rejects models that GPT-2 cannot represent, with another activation than
// gelu, a cap of attention scores and the like.
func gpt2(m *Model) (*shape, *transformer.Weights, error) {
	spec, k := m.Spec, &m.Spec.Kinds[0]
	s := &shape{
		name: m.Name, kind: "gpt2", position: transformer.Learned, activation: transformer.GELU, tied: m.Weights.Head.Weight == nil,
		vocab: spec.Vocab, context: spec.Context, width: spec.Width,
		depth: len(spec.Decoder), heads: max(1, k.Attention.Heads), keys: k.Attention.KVHeads, ffn: k.FeedForward.Width,
	}
	switch {
	case !reflect.DeepEqual(s.spec(), spec):
		return nil, nil, errors.New("only the weights of a GPT-2 with gelu and without a cap of attention scores can be saved")
	case spec.Vocab < byteTokens:
		return nil, nil, fmt.Errorf("%d tokens are too few for a tokenizer of bytes", spec.Vocab)
	}
	weights := s.weights()
	to, from := s.tensors(weights), s.tensors(m.Weights)
	for i := range to {
		if err := replaceTensor(to[i], from[i]); err != nil {
			return nil, nil, err
		}
	}
	return s, weights, nil
}

// tensors lists the pieces of every tensor of a GPT-2, always in the same order.
func (s *shape) tensors(w *transformer.Weights) (list [][]transformer.Tensor) {
	linear := func(l transformer.Linear) { list = append(list, l.Weight, l.Bias) }
	norm := func(n transformer.Norm) { list = append(list, n.Weight, n.Bias) }
	for _, l := range []transformer.Linear{w.Embed, w.Positions, w.Head} {
		linear(l)
	}
	for i := range w.Decoder {
		l := &w.Decoder[i]
		for _, m := range []transformer.Linear{l.QKV, l.Out, l.Up, l.Down} {
			linear(m)
		}
		norm(l.AttentionNorm)
		norm(l.FFNNorm)
	}
	norm(w.DecoderNorm)
	return list
}

// replaceTensor sets the one tensor of to, if there is one, to the values of pieces.
func replaceTensor(to, pieces []transformer.Tensor) error {
	rows := 0
	for _, p := range pieces {
		if rows += p.Rows; p.Transposed || len(to) == 0 || p.Cols != to[0].Cols {
			return fmt.Errorf("tensor %q does not have the layout of GGUF and cannot be saved", p.Name)
		}
	}
	if len(to) == 0 {
		return nil
	}
	if absent := rows == 0 && to[0].Cols == 1; rows != to[0].Rows && !absent {
		return fmt.Errorf("tensor %q has %d rows, not %d, and cannot be saved", to[0].Name, rows, to[0].Rows)
	}
	to[0].Read = func(dst []float32, from int) error { return readPieces(pieces, dst, from) }
	return nil
}

// readPieces reads from tensors one below the other, followed by zeros.
func readPieces(pieces []transformer.Tensor, dst []float32, from int) error {
	for _, p := range pieces {
		n := p.Rows * p.Cols
		if from >= n {
			from -= n
			continue
		}
		part := dst[:min(len(dst), n-from)]
		if err := p.Read(part, from); err != nil {
			return err
		}
		if dst, from = dst[len(part):], 0; len(dst) == 0 {
			return nil
		}
	}
	clear(dst)
	return nil
}
