package arch

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"glossa/pkg/engine/transformer"
)

// maskedNames names the tensors of a family's class ForMaskedLM, without ".weight" and ".bias".
type maskedNames struct {
	dense, norm, head string
	bias              string // of the head if it is tied, with ".bias"
	activation        string // the setting of the activation; "": it is GELU
}

// maskedNamesOf returns the names of a model_type.
func maskedNamesOf(kind string) (names maskedNames, ok bool) {
	switch kind {
	case "bert":
		const at = "cls.predictions."
		return maskedNames{
			dense: at + "transform.dense", norm: at + "transform.LayerNorm", head: at + "decoder", bias: at + "bias",
			activation: "hidden_act",
		}, true
	case "roberta", "xlm-roberta", "camembert", "mpnet":
		return maskedNames{dense: "lm_head.dense", norm: "lm_head.layer_norm", head: "lm_head.decoder", bias: "lm_head.bias"}, true
	case "distilbert":
		return maskedNames{dense: "vocab_transform", norm: "vocab_layer_norm", head: "vocab_projector", bias: "vocab_projector.bias", activation: "activation"}, true
	case "modernbert":
		return maskedNames{dense: "head.dense", norm: "head.norm", head: "decoder", bias: "decoder.bias", activation: "classifier_activation"}, true
	}
	return names, false
}

// readMasked looks up the head for masked tokens if the modules of a directory read its
// logits. The head over the vocabulary becomes that of the transformer.
func (o *opened) readMasked(fsys fs.FS, p *location, src *source, s *transformer.Spec, l *layout) error {
	name := p.beside(modulesFile)
	if !exists(fsys, name) {
		return nil
	}
	list, err := readModules(fsys, name)
	if err != nil || len(list) < 2 || list[1].kind() != spladeModule {
		return err
	}
	names, ok := maskedNamesOf(o.Type)
	if !ok || len(s.Decoder) > 0 {
		return fmt.Errorf("%s: heads of %s models for masked tokens are not supported", name, o.family.title)
	}
	c, bias := o.config, true
	if names.activation != "" {
		c.require([]requiredValue{{names.activation, `"gelu"`}})
	}
	if o.Type == "modernbert" {
		bias = c.flag("classifier_bias", false)
	}
	tied := c.flag("tie_word_embeddings", true)
	if *c.err != nil {
		return fmt.Errorf("%s: %w", p.config, *c.err)
	}
	b := &builder{source: src, spec: s, layout: l}
	h := &MaskedHead{Dense: &Dense{In: s.Width, Out: s.Width}}
	h.Dense.read(src, names.dense, bias)
	norm := b.norm(names.norm, 0)
	h.Norm, s.MaskedHead = &norm, true
	if l.tied = tied || !src.has(names.head+".weight"); l.tied {
		l.copies = names.head
	}
	l.head, l.headBias = linear{names: names.head}, []string{names.bias, names.head + ".bias"}
	if !tied { // the first is not used
		slices.Reverse(l.headBias)
	}
	o.masked = h
	return src.err
}

// maskedWeights looks up the head over the vocabulary of an encoder.
func (b *builder) maskedWeights(w *transformer.Weights) {
	l := b.layout
	if !l.tied {
		w.Head = b.linear(&l.head, 0, b.spec.Vocab, b.spec.Width)
	}
	for _, name := range l.headBias {
		if b.has(name) {
			w.Head.Bias = transformer.Vector{b.vector(name, b.spec.Vocab).rows(0, b.spec.Vocab)}
			return
		}
	}
}

// Names of modules.
const (
	spladeModule    = "SpladePooling"
	mlmModule       = "MLMTransformer"
	transformModule = "Transformer"
)

// sparseModule reads a module of a sparse encoder after the transformer.
func (r *sentenceReader) sparseModule(i int, m *module, width int) (int, error) {
	if m.kind() != spladeModule || i != 1 {
		return 0, errors.New("only a Transformer that predicts masked tokens, and SpladePooling, are supported in a sparse encoder")
	}
	name := path.Join(r.beside(m.Path), configFile)
	c, err := readConfig(r.fsys, name, maxConfigFile)
	if err != nil {
		return 0, err
	}
	s := &Sparse{Masked: r.masked}
	switch pooling := c.text("pooling_strategy", "max"); pooling {
	case "max":
	case "sum":
		s.Sum = true
	default:
		c.reject("pooling_strategy", "%.40q is not supported, only max and sum", pooling)
	}
	switch activation := c.text("activation_function", "relu"); activation {
	case "relu":
	case "log1p_relu":
		s.Twice = true
	default:
		c.reject("activation_function", "%.40q is not supported, only relu and log1p_relu", activation)
	}
	if n := c.integer("embedding_dimension word_embedding_dimension", r.Spec.Vocab, 1, maxVocab); n != r.Spec.Vocab {
		c.reject("embedding_dimension", "%d, but the model has %d tokens", n, r.Spec.Vocab)
	}
	if *c.err != nil {
		return 0, fmt.Errorf("%s: %w", name, *c.err)
	}
	r.out.Sparse = s
	return width, nil
}
