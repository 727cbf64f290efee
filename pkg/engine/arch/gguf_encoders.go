package arch

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/tokenizer"
)

// ggufBERT is also RoBERTa and XLM-RoBERTa. The converter has removed the positions up to that
// of padding from their tables.
var ggufBERT = ggufEncoder(func(f *family) {
	f.spec.Position, f.tensors.positions = transformer.Learned, "position_embd"
	e := &f.tensors.encoder
	allBiases(e, always)
	e.gate = linear{}
	e.qkv.names = "blk.%d.attn_q blk.%d.attn_k blk.%d.attn_v"
	detect := f.detect
	f.detect = func(src *source, s *transformer.Spec, l *layout) {
		if detect(src, s, l); src.has("blk.0.attn_qkv.weight") {
			l.encoder.qkv.names = "blk.%d.attn_qkv"
		}
	}
})

// ggufNomicBERT has a gate, a rotary embedding and no biases.
var ggufNomicBERT = ggufEncoder(func(f *family) {
	f.activation = text{"", "silu"}
	f.kind.FeedForward.Gated = true
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		setRotary(s, ggufRotary(c, s.Kinds[0].Attention.HeadDim, 1000))
	}
})

// ggufJinaV2: the matrix of the feed-forward block has the rows of the gate, then those of up; older files
// have two.
var ggufJinaV2 = ggufEncoder(func(f *family) {
	f.fixed = append(without(f.fixed, "attention.max_alibi_bias"), requiredValue{"attention.max_alibi_bias", "8"})
	f.kind.FeedForward.Gated = true
	e := &f.tensors.encoder
	allBiases(e, always)
	e.qkv.names = "blk.%d.attn_q blk.%d.attn_k blk.%d.attn_v"
	e.up, e.gate, e.gateUp = linear{}, linear{}, linear{names: "blk.%d.ffn_up"}
	f.adjust = func(_ *config, s *transformer.Spec, _ *layout) { setSlopes(s) }
	detect := f.detect
	f.detect = func(src *source, s *transformer.Spec, l *layout) {
		if detect(src, s, l); src.has("blk.0.ffn_gate.weight") {
			l.encoder.up, l.encoder.gate, l.encoder.gateUp = linear{names: "blk.%d.ffn_up"}, linear{names: "blk.%d.ffn_gate"}, linear{}
		}
	}
})

// ggufEuroBERT is Llama, whose tokens see the whole text. The converter does not change the rows of queries
// and keys.
var ggufEuroBERT = ggufBidirectional(ggufLike(func(f *family) {
	f.adjust = func(c *config, s *transformer.Spec, l *layout) {
		setRotary(s, ggufHeads(c, s))
		bidirectional(s, l, make([]bool, len(s.Decoder)), 0)
	}
}))

// ggufBidirectional returns f with files that must say that attention is not causal, if they say it.
func ggufBidirectional(f family) family {
	f.fixed = append(without(f.fixed, "attention.causal"), requiredValue{"attention.causal", "false"})
	return f
}

// ggufModernBERT: the key of the window counts the tokens on both sides of a token, and
// every third layer from the first on has none.
var ggufModernBERT = ggufEncoder(func(f *family) {
	f.activation.names = "hidden_act"
	f.spec.NoLastNorm, f.kind = false, transformer.Kind{FeedForward: transformer.FeedForward{Gated: true}}
	f.tensors.encoderNorm = "output_norm"
	f.buffers = append(f.buffers, "cls.norm.bias")
	e := &f.tensors.encoder
	e.attentionPostNorm, e.ffnPostNorm, e.attentionNorm, e.ffnNorm = "", "", "blk.%d.attn_norm", "blk.%d.ffn_norm"
	e.up, e.gate, e.gateUp = linear{}, linear{}, linear{names: "blk.%d.ffn_up"}
	f.adjust = func(c *config, s *transformer.Spec, _ *layout) {
		every := c.integer("attention.sliding_window_pattern", 3, 1, maxDepth)
		side := c.integer("attention.sliding_window", 128, 2, maxContext) / 2
		full := ggufRotary(c, s.Kinds[0].Attention.HeadDim, 160000)
		modernLayers(c, s, func(layer int) bool { return layer%every != 0 }, side, full, plainRotary(c, full.Dims, "rope.freq_base_swa", 10000))
	}
	f.detect = func(src *source, _ *transformer.Spec, l *layout) { l.noNormBias = !src.has("output_norm.bias") }
})

// ggufEmbeddingGemma: the key of the window counts the tokens on both sides of a token, as in
// the configuration (llama.cpp, LLAMA_SWA_TYPE_SYMMETRIC). Nothing but the name of the
// architecture says that the attention is not causal.
var ggufEmbeddingGemma = ggufBidirectional(ggufGemma3Like(func(c *config, s *transformer.Spec, l *layout) {
	c.needs(ggufWindow)
	full, local := ggufGemma3Heads(c, s)
	windowed := ggufWindowed(c, s, fiveOfSix)
	setTwoRotaries(c, s, windowed, full, local)
	bidirectional(s, l, windowed, c.integer(ggufWindow, 1, 1, maxContext))
}))

// ggufEncoder returns a family with the parts of BERT, changed by change.
func ggufEncoder(change func(f *family)) family {
	l := ggufLayers("blk.%d.attn_qkv", never)
	l.attentionNorm, l.ffnNorm, l.attentionPostNorm, l.ffnPostNorm = "", "", "blk.%d.attn_output_norm", "blk.%d.layer_output_norm"
	f := family{
		vocab: ggufVocab, context: ggufContext, width: ggufWidth, encoder: ggufDecoder, eps: ggufEps,
		activation: text{"", "gelu"},
		fixed:      []requiredValue{{"attention.causal", "false"}, {"attention.max_alibi_bias", "0"}, {"attention.scale", "0"}},
		spec:       transformer.Spec{EmbedNorm: true, NoLastNorm: true},
		kind:       postResidual(),
		tensors:    layout{embed: "token_embd", tokenTypes: "token_types", embedNorm: "token_embd_norm", encoder: l},
		// Of a classifier, if the model embeds.
		buffers: []string{"cls.weight", "cls.bias", "cls.norm.weight", "cls.output.weight", "cls.output.bias"},
		detect: func(src *source, s *transformer.Spec, _ *layout) {
			if t, ok := src.file.Tensor("token_types.weight"); ok && len(t.Shape) > 0 {
				s.TokenTypes = 1 // of a table with one row, the file may have a vector
				if len(t.Shape) == 2 {
					s.TokenTypes = t.Shape[0]
				}
			}
		},
	}
	change(&f)
	return f
}

// Values of the key pooling_type.
const (
	ggufPoolNone = 0
	ggufPoolRank = 4
)

// ggufPoolings are the others.
var ggufPoolings = map[int64]Pooling{1: PoolMean, 2: PoolFirst, 3: PoolLast}

// ggufPooling returns the key pooling_type. A decoder without it continues texts, unless the file is called
// after Qwen3-Reranker, which older converters did not know. An encoder without it has the mean, as a
// directory without modules has, or, with a classifier's tensors, its scores: the converter writes the key
// for sentence-transformers' modules alone.
func (o *opened) ggufPooling() (kind int64, err error) {
	arch, err := o.file.Meta.Text("general.architecture")
	if err != nil {
		return 0, err
	}
	kind, err = o.file.Meta.Int(arch + ".pooling_type")
	switch {
	case errors.Is(err, checkpoint.ErrNoKey) && o.scoresByDefault():
		return ggufPoolRank, nil
	case errors.Is(err, checkpoint.ErrNoKey) && len(o.Spec.Decoder) == 0:
		return 1, nil
	case errors.Is(err, checkpoint.ErrNoKey):
		return ggufPoolNone, nil
	case err != nil:
		return 0, err
	case kind == ggufPoolNone && len(o.Spec.Decoder) > 0, kind == ggufPoolRank, ggufPoolings[kind] != "":
		return kind, nil
	}
	return 0, fmt.Errorf("%s.pooling_type: %d is not supported, only 1 (mean), 2 (cls), 3 (last) and 4 (rank)", arch, kind)
}

// scoresByDefault reports whether a file without pooling_type is that of a classifier or a reranker.
func (o *opened) scoresByDefault() bool {
	if len(o.Spec.Decoder) > 0 {
		return o.Type == "qwen3" && strings.Contains(strings.ToLower(path.Base(o.file.Name())), "reranker")
	}
	_, out := o.file.Tensor(ggufClassifierOut + ".weight")
	_, dense := o.file.Tensor(ggufClassifierDense + ".weight")
	return out || dense && o.family == &ggufJinaV2 // whose converter leaves out the pooler too
}

// readGGUFTask reads what the model does with texts, other than continuing them. The file has
// no modules: as in llama.cpp, embeddings have length 1, and the score of a reranker is the
// sigmoid of its logit.
func (o *opened) readGGUFTask() error {
	kind, err := o.ggufPooling()
	if err != nil || kind == ggufPoolNone {
		return err
	}
	if kind == ggufPoolRank {
		return o.readGGUFRanking()
	}
	s := &Sentence{Pooling: []Pooling{ggufPoolings[kind]}, Steps: append(o.dense, Step{}), MaxTokens: o.Spec.Context}
	if t, ok := o.Tokenizer.(tokenizer.Affixes); ok {
		s.Before, s.After = t.Affixes()
	}
	o.Sentence = s
	return nil
}

// readGGUFDense looks up the modules Dense of EmbeddingGemma, which follow the pooling. They
// have neither biases nor activations. Converters may leave them out.
func (o *opened) readGGUFDense(src *source, s *transformer.Spec) error {
	width := s.Width
	for _, name := range []string{"dense_2", "dense_3"} {
		t, ok := o.file.Tensor(name + ".weight")
		if !ok || o.family != &ggufEmbeddingGemma {
			break
		}
		d := &Dense{In: width}
		if len(t.Shape) > 0 {
			d.Out = t.Shape[0]
		}
		if d.Out < 1 || d.Out > maxFFN || d.In*d.Out > maxDense {
			return fmt.Errorf("tensor %q: shape %v: more than %d values, or none", t.Name, t.Shape, maxDense)
		}
		d.read(src, name, false)
		o.dense, width = append(o.dense, Step{Dense: d}), d.Out
	}
	return src.err
}
