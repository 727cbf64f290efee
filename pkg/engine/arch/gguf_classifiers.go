package arch

import (
	"errors"
	"fmt"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/tokenizer"
)

// The tensors of a classifier.
const (
	ggufClassifierDense = "cls"
	ggufClassifierNorm  = "cls.norm"
	ggufClassifierOut   = "cls.output"
)

// readGGUFClassifier looks up the classifier of a cross-encoder. RoBERTa's has a tanh after its
// matrix, DistilBERT's, whose files are those of BERT without types of tokens, a ReLU. ModernBERT's has a
// GELU and a norm, and pools the mean: the file does not say which pooling the model has, and llama.cpp
// knows this one only.
func (o *opened) readGGUFClassifier(src *source, s *transformer.Spec, l *layout) error {
	if kind, err := o.ggufPooling(); err != nil || kind != ggufPoolRank || len(s.Decoder) > 0 {
		return err
	}
	if !src.has(ggufClassifierDense+".weight") || !src.has(ggufClassifierOut+".weight") {
		return errors.New("a classifier or reranker needs cls.weight and cls.output.weight: converters leave out the pooler of BERT, without which scores are wrong")
	}
	classes, err := o.ggufClasses()
	if err != nil {
		return err
	}
	h := &RankingHead{Dense: &Dense{In: s.Width, Out: s.Width, Tanh: true}, Out: &Dense{In: s.Width, Out: len(classes.Labels)}}
	switch {
	case o.Type == "modernbert":
		h.Mean, h.GELU, h.Dense.Tanh = true, true, false
		norm := (&builder{source: src, spec: s, layout: l}).norm(ggufClassifierNorm, 0)
		h.Norm = &norm
	case s.TokenTypes == 0:
		h.Dense.Tanh, h.Dense.ReLU = false, true
	}
	h.Dense.read(src, ggufClassifierDense, src.has(ggufClassifierDense+".bias"))
	h.Out.read(src, ggufClassifierOut, src.has(ggufClassifierOut+".bias"))
	o.Ranking = &Ranking{Head: h, False: -1, Classes: classes}
	return src.err
}

// ggufClasses reads the labels of a classifier: without the key, those of transformers, which the converter
// leaves out. The file does not say whether several labels apply at once: one does, as in a model without
// problem_type.
func (o *opened) ggufClasses() (*Classes, error) {
	arch, err := o.file.Meta.Text("general.architecture")
	if err != nil {
		return nil, err
	}
	n := 1 // of a matrix with one row, the file may have a vector
	if t, ok := o.file.Tensor(ggufClassifierOut + ".weight"); ok && len(t.Shape) == 2 {
		n = t.Shape[0]
	}
	if n < 1 || n > maxLabels {
		return nil, fmt.Errorf("tensor %q: %d labels are not in 1..%d", ggufClassifierOut+".weight", n, maxLabels)
	}
	key := arch + ".classifier.output_labels"
	c := &Classes{Function: Softmax}
	if n == 1 {
		c.Function = Sigmoid
	}
	switch c.Labels, err = o.file.Meta.Texts(key); {
	case errors.Is(err, checkpoint.ErrNoKey):
		for i := range n {
			c.Labels = append(c.Labels, defaultLabel(i))
		}
	case err != nil:
		return nil, err
	case len(c.Labels) != n:
		return nil, fmt.Errorf("%s: %d labels for %d rows of the tensor %q", key, len(c.Labels), n, ggufClassifierOut+".weight")
	}
	return c, nil
}

// readGGUFRanking reads how a reranker or a classifier reads pairs.
func (o *opened) readGGUFRanking() (err error) {
	switch {
	case o.Ranking != nil:
		o.ggufPair()
	case o.Type == "qwen3":
		o.Ranking, err = o.qwenReranker()
	default:
		err = fmt.Errorf("pooling_type: rerankers of %s models are not supported", o.family.title)
	}
	if err == nil {
		o.Ranking.MaxTokens = o.Spec.Context
	}
	return err
}

// ggufPair reads how the tokenizer joins the texts of a pair. Byte-level BPE and Unigram do not
// say it: RoBERTa has two separators between the texts, and no types of tokens.
func (o *opened) ggufPair() {
	r := o.Ranking
	if t, ok := o.Tokenizer.(tokenizer.Pairs); ok {
		r.Pair = t.Pair()
	}
	if o.Spec.TokenTypes < 2 {
		for i := range r.Pair {
			r.Pair[i].Type = 0
		}
	}
	t, ok := o.Tokenizer.(tokenizer.Affixes)
	if o.Tokenizer == nil || len(r.Pair) > 0 || !ok {
		return
	}
	before, after := t.Affixes()
	between := after
	if o.Type == "bert" {
		between = append(after[:len(after):len(after)], after...)
	}
	add := func(ids []int) {
		for _, id := range ids {
			r.Pair = append(r.Pair, tokenizer.PairPart{ID: id})
		}
	}
	add(before)
	r.Pair = append(r.Pair, tokenizer.PairPart{Text: 1})
	add(between)
	r.Pair = append(r.Pair, tokenizer.PairPart{Text: 2})
	add(after)
}
