package arch

import "glossa/pkg/engine/checkpoint"

// Files of BGE-M3's heads, without their endings; PyTorch's or safetensors.
const (
	sparseHead = "sparse_linear"
	multiHead  = "colbert_linear"
)

var headEndings = []string{".safetensors", ".pt"}

// heads reads the heads of a model that has other embeddings than dense ones: those of its
// modules, or files beside them (BGE-M3).
func (r *sentenceReader) heads() error {
	if r.out.Multi != nil {
		return r.readLate()
	}
	if r.out.Sparse != nil || len(r.Spec.Decoder) > 0 {
		return nil
	}
	sparse, err := r.headFile(sparseHead)
	if err != nil {
		return err
	}
	multi, err := r.headFile(multiHead)
	if err != nil {
		return err
	}
	if sparse != nil {
		r.out.Sparse = &Sparse{Token: sparse}
	}
	if multi != nil {
		r.out.Multi = &MultiVector{Steps: []*Dense{multi}, Unit: true, SkipFirst: true}
	}
	return nil
}

// headFile reads a matrix and its bias; nil if there is no such file.
func (r *sentenceReader) headFile(name string) (*Dense, error) {
	for _, ending := range headEndings {
		file := r.beside(name + ending)
		if !exists(r.fsys, file) {
			continue
		}
		f, err := checkpoint.Open(r.fsys, file)
		if err != nil {
			return nil, err
		}
		r.closer = closers{r.closer, f}
		src := newSource(f)
		d := &Dense{In: r.Spec.Width, Out: 1}
		if t, ok := f.Tensor("weight"); ok && name == multiHead {
			if d, err = projection(t, r.Spec.Width); err != nil {
				return nil, err
			}
		}
		d.read(src, "", true)
		src.unused(nil)
		return d, src.err
	}
	return nil, nil
}

// finishVectors completes the heads with the tokens that they name, and with the lengths.
func (r *sentenceReader) finishVectors() error {
	if m := r.out.Multi; m != nil {
		if m.SkipFirst {
			m.Query.MaxTokens, m.Document.MaxTokens = r.out.MaxTokens, r.out.MaxTokens
		} else if err := r.finishLate(); err != nil {
			return err
		}
	}
	if s := r.out.Sparse; s == nil || s.Token == nil || r.Tokenizer == nil {
		return nil
	}
	// The tokens without a weight in FlagEmbedding 1.4, EncoderOnlyEmbedderM3Model.
	for _, special := range []struct{ key, spelling string }{
		{"cls_token", "<s>"}, {"eos_token", "</s>"}, {"pad_token", "<pad>"}, {"unk_token", "<unk>"},
	} {
		id, ok, err := r.specialToken(special.key, special.spelling)
		if err != nil {
			return err
		}
		if ok {
			r.out.Sparse.Omit = append(r.out.Sparse.Omit, id)
		}
	}
	return nil
}
