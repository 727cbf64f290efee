package bench

import (
	"fmt"
	"io"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/dtype"
	"glossa/pkg/engine/transformer"
)

// stored maps the formats of [Model.Save] to types and to GGUF's general.file_type.
var stored = map[transformer.Format]struct {
	kind dtype.Type
	file uint32
}{
	transformer.F32: {dtype.F32, 0}, transformer.Q4_0: {dtype.Q4_0, 2},
	transformer.Q8_0: {dtype.Q8_0, 7}, transformer.BF16: {dtype.BF16, 32},
	transformer.Q4K: {dtype.Q4K, 14}, transformer.Q6K: {dtype.Q6K, 18}, // for rows of whole blocks of 256 values
}

// storedHead returns the type of the saved head.
func storedHead(as dtype.Type) dtype.Type { return transformer.FormatOf(as).Head().Type() }

// Save writes the weights as a GGUF file for other engines: multiplied matrices in a
// format, lookup tables and vectors in float32, as in the transformer. It adds a
// tokenizer of bytes. Models from files are saved if GPT-2 can represent them, see
// [gpt2].
func (m *Model) Save(w io.Writer, format transformer.Format) error {
	as, ok := stored[format]
	if !ok {
		return fmt.Errorf("bench: weights cannot be saved as %s", format)
	}
	shape, weights, title := m.shape, m.Weights, m.Name+", random weights"
	if shape == nil {
		title = m.Name
		var err error
		if shape, weights, err = gpt2(m); err != nil {
			return fmt.Errorf("bench %s: %w", m.Name, err)
		}
	}
	meta := shape.meta(title)
	meta["general.file_type"] = as.file
	return checkpoint.WriteGGUF(w, meta, tensors(weights, as.kind))
}

// tensors lists the tensors of a file; those that are multiplied have type as.
func tensors(weights *transformer.Weights, as dtype.Type) (list []checkpoint.GGUFTensor) {
	add := func(kind dtype.Type, tensors ...transformer.Tensor) {
		for _, t := range tensors {
			shape := []int{t.Rows, t.Cols}
			if t.Cols == 1 {
				shape = shape[:1]
			}
			list = append(list, checkpoint.GGUFTensor{Name: t.Name, Type: kind, Shape: shape, Read: t.Read})
		}
	}
	add(storedHead(as), weights.Embed.Weight...)
	add(dtype.F32, weights.Positions.Weight...)
	for i := range weights.Decoder {
		l := &weights.Decoder[i]
		for _, v := range norms(l.AttentionNorm, l.FFNNorm, l.AttentionPostNorm, l.FFNPostNorm, l.QNorm, l.KNorm) {
			add(dtype.F32, v...)
		}
		for _, x := range matrices(l) {
			add(as, whole(x.Weight)...)
			add(dtype.F32, x.Bias...)
		}
		list = append(list, convolutions(l)...)
		add(dtype.F32, l.Sinks...)
		add(dtype.F32, l.Router.Weight...)
		add(dtype.F32, l.Router.Bias...)
		list = append(list, experts(l.Experts, as)...)
	}
	for _, v := range norms(weights.DecoderNorm) {
		add(dtype.F32, v...)
	}
	add(storedHead(as), weights.Head.Weight...)
	return list
}

func norms(list ...transformer.Norm) (vectors []transformer.Vector) {
	for _, n := range list {
		vectors = append(vectors, n.Weight, n.Bias)
	}
	return vectors
}

// byteTokens is the minimum vocabulary of addTokens: bytes, a merge and an end.
const byteTokens = 256 + 2

// addTokens adds a byte-level tokenizer: letters for the bytes, one merge, the end of a
// text, and padding of the vocabulary.
func (s *shape) addTokens(m checkpoint.Meta) {
	const control, unused = 3, 5 // of token_type; 1 is normal
	tokens := append(byteLetters(), "he", "<|endoftext|>")
	end := uint32(len(tokens) - 1)
	for id := len(tokens); id < s.vocab; id++ {
		tokens = append(tokens, fmt.Sprintf("[PAD%d]", id))
	}
	types := make([]int32, len(tokens))
	for id := range types {
		types[id] = unused
		if id <= int(end) {
			types[id] = 1
		}
	}
	types[end] = control
	for name, v := range map[string]any{
		"model": "gpt2", "pre": "gpt-2", "tokens": tokens, "token_type": types, "merges": []string{"h e"},
		"bos_token_id": end, "eos_token_id": end, "add_bos_token": false,
	} {
		m["tokenizer.ggml."+name] = v
	}
}

// byteLetters returns GPT-2's letters for bytes: visible characters themselves, the
// others from U+0100 on.
func byteLetters() []string {
	var letters []string
	next := rune(0x100)
	for b := range rune(256) {
		if b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae {
			letters = append(letters, string(b))
			continue
		}
		letters = append(letters, string(next))
		next++
	}
	return letters
}
