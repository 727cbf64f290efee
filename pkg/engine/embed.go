package engine

import (
	"context"
	"fmt"
	"math"
	"slices"

	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
	"glossa/pkg/tokenizer"
)

// Embed implements [llm.Embedder]. Layer 0 is the embeddings with their positions, layer
// i the output of block i, before any norm. All input tokens of the model count,
// including those that the tokenizer puts before a text. The model's own sentence vector
// is the mean over the tokens of the last layer after the last norm. Layers of an encoder-decoder
// are the encoder's.
func (e *Engine) Embed(ctx context.Context, req *llm.EmbedRequest) ([]llm.Embedding, llm.Usage, error) {
	depth, run := len(e.model.Decoder), e.runDecoder
	if e.seq2seq != nil {
		depth, run = len(e.model.Encoder), runEncoder
	}
	return e.embed(ctx, req, depth, func(to *tokenizer.Collector, p llm.Prompt) ([]int, error) {
		lead, err := e.textTokens(ctx, to, p)
		if err != nil {
			return nil, err
		}
		ids := e.ended(slices.Concat(lead, to.IDs()))
		if len(ids) == 0 {
			ids = []int{e.empty}
		}
		return ids, nil
	}, run)
}

// embed serves a request over a stack of depth blocks; run computes its layers.
func (c *core) embed(ctx context.Context, req *llm.EmbedRequest, depth int,
	encode func(*tokenizer.Collector, llm.Prompt) ([]int, error), run func(context.Context, *member, *hiddenLayers, [][]int) error,
) ([]llm.Embedding, llm.Usage, error) {
	w, err := newEmbedOptions(req, depth, c.model.Width)
	if err != nil {
		return nil, llm.Usage{}, err
	}
	worker, err := c.queue.acquire(ctx)
	if err != nil {
		return nil, llm.Usage{}, err
	}
	defer worker.release()
	var (
		usage llm.Usage
		texts [][]int
	)
	for _, p := range req.Prompts {
		ids, err := encode(&tokenizer.Collector{Max: c.context}, p)
		if err != nil {
			return nil, llm.Usage{}, c.tooLong("the prompt has", err)
		}
		if len(ids) > c.context {
			return nil, llm.Usage{}, llm.TooManyTokens("the prompt has", len(ids), c.context)
		}
		usage.Input += len(ids)
		texts = append(texts, ids)
	}
	need := c.embeddingBytes(w, texts)
	if err := c.affords(need, "fewer prompts, fewer layers or a pooling"); err != nil {
		return nil, llm.Usage{}, err
	}
	if err := worker.claim(ctx, need); err != nil {
		return nil, llm.Usage{}, err
	}
	out, member := make([]llm.Embedding, 0, len(texts)), c.lanes.join(llm.SenderOf(ctx), worker)
	defer member.leave()
	for len(texts) > 0 {
		n := together(texts, 1)
		seen := newHiddenLayers(w, n, c.model.Width)
		if err := run(ctx, member, seen, texts[:n]); err != nil {
			return nil, llm.Usage{}, err
		}
		for i, ids := range texts[:n] {
			layers := c.pooled(w, seen.texts[i])
			if slices.ContainsFunc(layers, func(l llm.Layer) bool { return slices.ContainsFunc(l.Vectors, c.kernels.HasNaN) }) {
				return nil, llm.Usage{}, c.lanes.damaged()
			}
			out = append(out, llm.Embedding{Tokens: c.describe(ids), Layers: layers})
		}
		texts = texts[n:]
	}
	return out, usage, nil
}

// together returns how many of the first texts fit into [passTokens], at least one. A member may have a
// text of [textTokens] for each of the workers that it has for itself.
func together(texts [][]int, workers int) (n int) {
	tokens := 0
	for ; n < len(texts); n++ {
		tokens += len(texts[n])
		if n > 0 && tokens > passTokens && (n >= workers || tokens > workers*textTokens) {
			break
		}
	}
	return n
}

// togetherTokens returns the most tokens of a pass over texts, of which the longest has that many.
func togetherTokens(all, longest int64, workers int) int64 {
	return max(longest, min(all, max(passTokens, int64(workers)*min(longest, textTokens))))
}

// readTexts computes texts with a decoder. then gets the parts of a pass, which are empty for texts that have
// been computed, and so many rows of logits for each text that ends with its part.
func (c *core) readTexts(ctx context.Context, m *member, texts [][]int, logits int, then func(p *transformer.Pass, parts [][]int, logits []float32)) error {
	return c.eachPart(m, texts, logits, func(parts [][]int, seqs []transformer.Sequence) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return m.runExclusive(ctx, func(p *transformer.Pass) error {
			rows, err := p.Forward(seqs)
			if err == nil {
				then(p, parts, rows)
			}
			return err
		})
	})
}

// eachPart has do compute texts with a decoder, a part of each at a time.
func (c *core) eachPart(m *member, texts [][]int, logits int, do func(parts [][]int, seqs []transformer.Sequence) error) error {
	caches := make([]*transformer.Cache, len(texts))
	for i, ids := range texts {
		caches[i] = c.model.NewCache(len(ids))
	}
	for {
		var seqs []transformer.Sequence
		parts := make([][]int, len(texts))
		for i, ids := range texts {
			at := caches[i].Len
			end := min(at+prefillChunk, len(ids))
			if parts[i] = ids[at:end]; at == end {
				continue
			}
			s := transformer.Sequence{Cache: caches[i], Tokens: parts[i], Adapter: m.lanes.adapter}
			if end == len(ids) {
				s.Logits = logits
			}
			seqs = append(seqs, s)
		}
		if len(seqs) == 0 {
			return nil
		}
		if err := do(parts, seqs); err != nil {
			return err
		}
	}
}

// hiddenLayers collects the requested layers of some texts.
type hiddenLayers struct {
	*embedOptions
	width int
	texts []map[int][]float32 // of each, by index: (tokens, Width)
}

func newHiddenLayers(w *embedOptions, texts, width int) *hiddenLayers {
	l := &hiddenLayers{embedOptions: w, width: width}
	for range texts {
		l.texts = append(l.texts, map[int][]float32{})
	}
	return l
}

// capture calls do, which computes the next part of each text, with a pass that reports
// its layers.
func (l *hiddenLayers) capture(ctx context.Context, m *member, parts [][]int, do func(*transformer.Pass) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return m.encode(ctx, func(p *transformer.Pass) error {
		p.Hidden = func(_ bool, layer int, x []float32) {
			for i, part := range parts {
				n := len(part) * l.width
				if slices.Contains(l.layers, layer) {
					l.texts[i][layer] = append(l.texts[i][layer], x[:n]...)
				}
				x = x[n:]
			}
		}
		defer func() { p.Hidden = nil }()
		return do(p)
	})
}

// runDecoder computes the layers of texts.
func (c *core) runDecoder(ctx context.Context, m *member, l *hiddenLayers, texts [][]int) error {
	return c.eachPart(m, texts, 0, func(parts [][]int, seqs []transformer.Sequence) error {
		return l.capture(ctx, m, parts, func(p *transformer.Pass) error {
			_, err := p.Forward(seqs)
			return err
		})
	})
}

// embedOptions are the validated options of a request.
type embedOptions struct {
	layers   []int // counted from 0
	pooling  []llm.Pooling
	sentence bool // the model's own vector
}

func newEmbedOptions(req *llm.EmbedRequest, depth, width int) (*embedOptions, error) {
	if len(req.Prompts) == 0 {
		return nil, invalid("prompt", "is required")
	}
	if len(req.Prompts) > maxTexts {
		return nil, invalid("prompt", fmt.Sprintf("at most %d prompts", maxTexts))
	}
	switch {
	case req.Kind != "" && req.Kind != llm.EmbedDense:
		return nil, noKind(req.Kind, []llm.EmbedKind{llm.EmbedDense})
	case req.PromptName != "":
		return nil, invalid("prompt_name", "this model has no prompts for embeddings by name")
	case req.Task != "":
		const why = "this model is not trained for embeddings, so they do not depend on a task such as %s; those of a model that embeds texts do"
		return nil, &llm.Error{Code: llm.Unsupported, Param: "task", Message: fmt.Sprintf(why, req.Task)}
	case req.Dimensions != 0 && (req.Dimensions != width || len(req.Layers) > 0):
		return nil, invalid("dimensions", fmt.Sprintf("the embeddings of this model have %d dimensions and cannot be shortened", width))
	case req.Truncate:
		return nil, invalid("truncate", "this model does not cut prompts of embeddings")
	}
	if len(req.Layers) == 0 && len(req.Pooling) > 0 {
		return nil, invalid("pooling", "is only accepted with layers")
	}
	if len(req.Layers) == 0 {
		return &embedOptions{layers: []int{depth}, pooling: []llm.Pooling{llm.PoolMean}, sentence: true}, nil
	}
	w := &embedOptions{pooling: req.Pooling}
	for _, layer := range req.Layers {
		index := layer
		if layer < 0 { // counted from the end, including the embeddings (Aleph Alpha, layers)
			index += depth + 1
		}
		if index < 0 || index > depth {
			return nil, invalid("layers", fmt.Sprintf("%d is not from %d to %d", layer, -depth-1, depth))
		}
		w.layers = append(w.layers, index)
	}
	for _, p := range w.pooling {
		if pools[p] == nil {
			return nil, invalid("pooling", fmt.Sprintf("%q is not one of mean, max, last_token, abs_max", p))
		}
	}
	return w, nil
}

// embeddingBytes returns the memory that a request may take.
func (c *core) embeddingBytes(w *embedOptions, texts [][]int) (need int64) {
	var all, longest int64 // tokens
	for _, ids := range texts {
		vectors := len(w.pooling)
		if vectors == 0 {
			vectors = len(ids)
		}
		need += 4*int64(len(w.layers))*int64(vectors)*int64(c.model.Width) + tokenBytes*int64(len(ids))
		all, longest = all+int64(len(ids)), max(longest, int64(len(ids)))
	}
	most := togetherTokens(all, longest, 1)
	if len(c.model.Encoder) > 0 { // a decoder computes a long text in parts
		need += passMemory(&c.model.Spec, int(most), c.workers)
	}
	return need + c.model.CacheBytes(int(most)) + 4*int64(len(w.layers))*most*int64(c.model.Width)
}

// pooled reduces the vectors of all tokens to the requested ones.
func (c *core) pooled(w *embedOptions, tokens map[int][]float32) []llm.Layer {
	out := make([]llm.Layer, len(w.layers))
	for i, index := range w.layers {
		rows := slices.Collect(slices.Chunk(tokens[index], c.model.Width))
		if w.sentence {
			for _, row := range rows {
				c.model.FinalNorm(len(c.model.Encoder) > 0, row, row)
			}
		}
		out[i] = llm.Layer{Index: index, Vectors: rows}
		if len(w.pooling) > 0 {
			out[i].Vectors = nil
			for _, p := range w.pooling {
				out[i].Vectors = append(out[i].Vectors, pool(rows, pools[p]))
			}
		}
	}
	return out
}

// pools maps each pooling to its function, which reduces the values of all tokens to one.
var pools = map[llm.Pooling]func(values []float64) float64{
	llm.PoolMean: func(v []float64) float64 {
		sum := 0.0
		for _, x := range v {
			sum += x
		}
		return sum / float64(len(v))
	},
	llm.PoolMax:  slices.Max[[]float64],
	llm.PoolLast: func(v []float64) float64 { return v[len(v)-1] },
	llm.PoolAbsMax: func(v []float64) float64 {
		top := v[0]
		for _, x := range v {
			if math.Abs(x) > math.Abs(top) {
				top = x
			}
		}
		return top
	},
}

// pool reduces rows, at least one, element by element.
func pool(rows [][]float32, reduce func([]float64) float64) []float32 {
	out, column := make([]float32, len(rows[0])), make([]float64, len(rows))
	for i := range out {
		for r, row := range rows {
			column[r] = float64(row[i])
		}
		out[i] = float32(reduce(column))
	}
	return out
}
