package engine

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
)

const (
	// maxWeights bounds the weights of the sparse embeddings of one request: 512 for each of the
	// most texts. Of those that a model predicts, the number is known only afterwards.
	maxWeights  = 512 * maxTexts
	weightBytes = 150 // a weight with its token, from here to its JSON
	// maskedRows is the number of tokens whose predictions over the vocabulary are computed
	// together.
	maskedRows = 32
)

// EmbedKinds returns the kinds of embeddings of a model.
func EmbedKinds(s *arch.Sentence) (kinds []llm.EmbedKind) {
	if len(s.Pooling) > 0 {
		kinds = append(kinds, llm.EmbedDense)
	}
	if s.Sparse != nil {
		kinds = append(kinds, llm.EmbedSparse)
	}
	if s.Multi != nil {
		kinds = append(kinds, llm.EmbedMulti)
	}
	return kinds
}

// noKind returns the error of a model that has not the kind of embeddings of a request.
func noKind(kind llm.EmbedKind, has []llm.EmbedKind) error {
	var names []string
	for _, k := range has {
		names = append(names, string(k))
	}
	return &llm.Error{Code: llm.Unsupported, Param: "type", Message: fmt.Sprintf("this model has no %.40s embeddings: its types are %s", kind, strings.Join(names, ", "))}
}

// transform is norm(act(dense(x))) in memory.
type transform struct {
	*dense
	gelu         bool
	weight, bias []float32 // of the norm; weight nil: there is none
	eps          float32
}

// newTransform reads the weights of a matrix and of the norm after it, which may be nil.
func newTransform(k *kernel.Kernels, d *arch.Dense, gelu bool, norm *transformer.Norm, eps float32) (t transform, err error) {
	t = transform{gelu: gelu, eps: eps}
	if t.dense, err = newDense(k, d); err != nil || norm == nil {
		return t, err
	}
	if t.weight, err = readVector(norm.Weight); err == nil {
		t.bias, err = readVector(norm.Bias)
	}
	return t, err
}

// apply computes the rows of x (n, In).
func (t *transform) apply(k *kernel.Kernels, x []float32) []float32 {
	out := t.dense.apply(k, x)
	if t.gelu {
		k.GELUErf(out)
	}
	if t.weight != nil {
		for row := range slices.Chunk(out, t.matrix.Rows) {
			k.LayerNorm(row, row, t.weight, t.bias, t.eps)
		}
	}
	return out
}

// vectorHeads are the heads of an encoder after its vectors of tokens, in memory.
type vectorHeads struct {
	token  *dense    // of sparse embeddings that weigh a text's tokens, or nil
	masked transform // of those that predict tokens
	multi  []*dense  // of vectors of tokens
}

// read reads the weights of the heads.
func (h *vectorHeads) read(k *kernel.Kernels, s *arch.Sentence, spec *transformer.Spec) (err error) {
	if sparse := s.Sparse; sparse != nil && sparse.Token != nil {
		h.token, err = newDense(k, sparse.Token)
	} else if sparse != nil {
		h.masked, err = newTransform(k, sparse.Masked.Dense, true, sparse.Masked.Norm, spec.Eps)
	}
	if s.Multi == nil || err != nil {
		return err
	}
	for _, step := range s.Multi.Steps {
		d, err := newDense(k, step)
		if err != nil {
			return err
		}
		h.multi = append(h.multi, d)
	}
	return nil
}

// maskedMemory returns the memory of the predictions over the vocabulary that are computed
// together.
func maskedMemory(s *transformer.Spec) int64 {
	if !s.MaskedHead {
		return 0
	}
	return 4 * (maskedRows + 1) * int64(s.Vocab)
}

// headBytes returns the memory of the heads and of their results for the texts.
func (w *embedding) headBytes() (need int64) {
	switch w.kind {
	case llm.EmbedMulti, llm.EmbedUnpooled:
		for _, ids := range w.texts {
			need += int64(len(ids)) * (4*int64(w.width) + 24)
		}
	case llm.EmbedSparse:
		if w.sentence.Sparse.Masked != nil {
			need = maskedMemory(&w.model.Spec) + weightBytes*min(maxWeights, int64(w.model.Vocab)*int64(len(w.texts)))
		}
	default:
		need = 4 * int64(w.width) * int64(len(w.texts))
	}
	return need
}

// checkValues rejects texts whose vectors have more values than the request may have, before
// they are computed.
func (w *embedding) checkValues(most int) error {
	values := 0
	for _, ids := range w.texts {
		switch w.kind {
		case llm.EmbedMulti:
			values += len(w.kept(ids)) * w.cut()
		case llm.EmbedUnpooled:
			values += len(ids) * w.width
		case llm.EmbedDense:
			values += w.cut()
		}
	}
	if most > 0 && values > most {
		return invalid("prompt", fmt.Sprintf("the %s embeddings of these prompts have %d values, at most %d in one answer: send fewer or shorter prompts", w.kind, values, most))
	}
	return nil
}

// cut returns the length of a vector.
func (w *embedding) cut() int {
	if w.dimensions > 0 {
		return min(w.dimensions, w.width)
	}
	return w.width
}

// kept returns the places of the tokens of a text that have a vector.
func (w *embedding) kept(ids []int) []int {
	places, first := make([]int, 0, len(ids)), 0
	if w.sentence.Multi.SkipFirst {
		first = 1
	}
	for i := first; i < len(ids); i++ {
		if !slices.Contains(w.side.Omit, ids[i]) {
			places = append(places, i)
		}
	}
	return places
}

// multiVector returns the vectors of a text's tokens from those of the model (tokens, Width).
//
// Source: sentence-transformers 6.2, MultiVectorEncoder; FlagEmbedding 1.4, of BGE-M3.
func (w *embedding) multiVector(rows []float32, ids []int) llm.Embedding {
	places, width := w.kept(ids), w.model.Width
	x := make([]float32, 0, len(places)*width)
	for _, i := range places {
		x = append(x, rows[i*width:(i+1)*width]...)
	}
	for _, d := range w.heads.multi {
		x = d.apply(w.kernels, x)
	}
	all := w.describe(ids)
	out := llm.Embedding{Tokens: make([]llm.Token, len(places))}
	vectors := make([][]float32, len(places))
	for to, i := range places {
		out.Tokens[to] = all[i]
		v := x[to*w.width : (to+1)*w.width]
		if w.sentence.Multi.Unit {
			normaliseVector(v)
		}
		if n := w.cut(); n < len(v) {
			if v = slices.Clone(v[:n]); w.sentence.Multi.Unit {
				normaliseVector(v)
			}
		}
		vectors[to] = v
	}
	out.Layers = []llm.Layer{{Index: w.depth(), Vectors: vectors}}
	return out
}

// weights collects the weights of a sparse embedding.
type weights struct {
	ids    []int
	values []float32
}

// embedding describes the tokens with their weights.
func (s *weights) embedding(w *embedding) llm.Embedding {
	tokens := make([]llm.Token, len(s.ids))
	for i, id := range s.ids {
		tokens[i] = llm.Token{ID: id, Piece: w.tokenizer.Piece(id)}
	}
	return llm.Embedding{Tokens: tokens, Layers: []llm.Layer{{Index: w.depth(), Vectors: [][]float32{s.values}}}}
}

// tokenWeights returns the weights of a text's tokens from their vectors (tokens, Width).
//
// Source: FlagEmbedding 1.4, EncoderOnlyEmbedderM3Model and _process_token_weights.
func (w *embedding) tokenWeights(rows []float32, ids []int) weights {
	largest := map[int]float32{}
	for i, v := range w.heads.token.apply(w.kernels, rows) {
		if id := ids[i]; v > largest[id] && !slices.Contains(w.sentence.Sparse.Omit, id) {
			largest[id] = v
		}
	}
	out := weights{values: []float32{}}
	for id := range largest {
		out.ids = append(out.ids, id)
	}
	slices.Sort(out.ids)
	for _, id := range out.ids {
		out.values = append(out.values, largest[id])
	}
	return out
}

// predict computes the weights of the predicted tokens of texts from the vectors of their
// tokens, and calls yield with those of each.
//
// Source: sentence-transformers 6.2, SpladePooling.
func (w *embedding) predict(ctx context.Context, m *member, rows [][]float32, yield func(weights) error) error {
	width, vocab := w.model.Width, w.model.Vocab
	var owners []int // the text of each token
	for i, text := range rows {
		owners = append(owners, slices.Repeat([]int{i}, len(text)/width)...)
	}
	x, scores := w.heads.masked.apply(w.kernels, slices.Concat(rows...)), make([]float32, vocab)
	for at := 0; at < len(owners); at += maskedRows {
		n := min(maskedRows, len(owners)-at)
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := m.runExclusive(ctx, func(p *transformer.Pass) error {
			logits, err := p.MaskedLogits(x[at*width:(at+n)*width], n)
			if err != nil {
				return err
			}
			if w.kernels.HasNaN(logits) {
				return w.lanes.damaged()
			}
			for row := range n {
				w.addLogits(scores, logits[row*vocab:(row+1)*vocab])
				if next := at + row + 1; next < len(owners) && owners[next] == owners[next-1] {
					continue
				}
				if err := yield(w.takeWeights(scores)); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// addLogits adds the logits of a token to the scores of its text.
func (w *embedding) addLogits(scores, logits []float32) {
	if !w.sentence.Sparse.Sum {
		for i, v := range logits { // the weight of the largest logit is the largest
			scores[i] = max(scores[i], v)
		}
		return
	}
	for i, v := range logits {
		if v > 0 {
			scores[i] += w.weight(v)
		}
	}
}

// weight returns the weight of a positive logit.
func (w *embedding) weight(logit float32) float32 {
	v := float32(math.Log1p(float64(logit)))
	if w.sentence.Sparse.Twice {
		v = float32(math.Log1p(float64(v)))
	}
	return v
}

// takeWeights returns the positive weights of scores, and clears these.
func (w *embedding) takeWeights(scores []float32) weights {
	out := weights{values: []float32{}}
	for id, v := range scores {
		if v <= 0 {
			continue
		}
		if !w.sentence.Sparse.Sum {
			v = w.weight(v)
		}
		if !slices.Contains(w.sentence.Sparse.Omit, id) {
			out.ids, out.values = append(out.ids, id), append(out.values, v)
		}
	}
	clear(scores)
	return out
}

// finish makes the embeddings of texts from the vectors of their tokens, each (tokens, Width).
func (w *embedding) finish(ctx context.Context, m *member, rows [][]float32, texts [][]int) (out []llm.Embedding, err error) {
	sparse := func(s weights) error {
		if w.found += len(s.ids); w.found > maxWeights {
			return invalid("prompt", fmt.Sprintf("the sparse embeddings of these prompts have more than %d weights: send fewer prompts", maxWeights))
		}
		out = append(out, s.embedding(w))
		return nil
	}
	if w.kind == llm.EmbedSparse && w.heads.token == nil {
		return out, w.predict(ctx, m, rows, sparse)
	}
	for i, ids := range texts {
		switch w.kind {
		case llm.EmbedSparse:
			if err := sparse(w.tokenWeights(rows[i], ids)); err != nil {
				return nil, err
			}
		case llm.EmbedMulti:
			out = append(out, w.multiVector(rows[i], ids))
		case llm.EmbedUnpooled:
			layer := llm.Layer{Index: w.depth(), Vectors: slices.Collect(slices.Chunk(rows[i], w.width))}
			out = append(out, llm.Embedding{Tokens: w.describe(ids), Layers: []llm.Layer{layer}})
		default:
			layer := llm.Layer{Index: w.depth(), Vectors: [][]float32{w.vector(rows[i], min(w.skip, len(ids)-1))}}
			out = append(out, llm.Embedding{Tokens: w.describe(ids), Layers: []llm.Layer{layer}})
		}
		if slices.ContainsFunc(out[len(out)-1].Layers[0].Vectors, w.kernels.HasNaN) || w.kind == llm.EmbedSparse && w.kernels.HasNaN(rows[i]) {
			return nil, w.lanes.damaged()
		}
	}
	return out, nil
}
