package engine

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
	"glossa/pkg/tokenizer"
)

// Encoder is a model in memory that embeds texts. It implements [llm.Embedder] and
// [llm.Tokenizer], and is safe for concurrent use.
type Encoder struct {
	*core

	sentence *arch.Sentence
	dense    []*dense // of the steps; nil for a norm
	special  bool     // prompts may spell special tokens
	width    int      // of an embedding
}

var (
	_ llm.Backend   = (*Encoder)(nil)
	_ llm.Tokenizer = (*Encoder)(nil)
	_ llm.Embedder  = (*Encoder)(nil)
)

// NewEncoder reads the weights of a model that embeds texts. It closes m.
func NewEncoder(m *arch.Model, cfg Config) (_ *Encoder, err error) {
	defer func() {
		if closing := m.Close(); err == nil {
			err = closing
		}
	}()
	if m.Sentence == nil {
		return nil, fmt.Errorf("model %q: the files of the %s model do not say how it embeds texts", cfg.Name, m.Type)
	}
	e := &Encoder{sentence: m.Sentence, special: cfg.ParseSpecial}
	if e.core, err = newCore(m, cfg); err != nil {
		return nil, err
	}
	e.context = min(e.context, m.Sentence.MaxTokens)
	e.start, e.end = m.Sentence.Before, m.Sentence.After
	e.info.Context, e.info.Streaming, e.info.Task = e.context, false, llm.TaskEmbed
	if around := len(m.Sentence.Before) + len(m.Sentence.After); e.context <= around {
		return nil, fmt.Errorf("model %q: a context of %d tokens, %d of which the tokenizer adds", cfg.Name, e.context, around)
	}
	e.width = len(m.Sentence.Pooling) * m.Spec.Width
	for _, s := range m.Sentence.Steps {
		var d *dense
		if s.Dense != nil {
			if d, err = newDense(e.kernels, s.Dense); err != nil {
				return nil, fmt.Errorf("model %q: %w", cfg.Name, err)
			}
			e.width = s.Dense.Out
		}
		e.dense = append(e.dense, d)
	}
	return e, nil
}

// Generate implements [llm.Backend]. It returns an error.
func (e *Encoder) Generate(context.Context, *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		yield(llm.Chunk{}, llm.Errorf(llm.Unsupported, "this model embeds texts and does not complete them: use /v1/embeddings"))
	}
}

// Embed implements [llm.Embedder]. The model's own sentence vector is that of
// sentence-transformers; it does not depend, to the bit, on the other texts of the request.
// Layers are those of the encoder: 0 is the embeddings with their positions.
func (e *Encoder) Embed(ctx context.Context, req *llm.EmbedRequest) ([]llm.Embedding, llm.Usage, error) {
	if len(req.Layers) > 0 || len(req.Pooling) > 0 {
		return e.embed(ctx, req, e.depth(), func(to *tokenizer.Collector, p llm.Prompt) ([]int, error) {
			ids, _, err := e.tokens(ctx, to, p, "")
			return ids, err
		}, e.runLayers)
	}
	w, err := e.newEmbedding(req)
	if err != nil {
		return nil, llm.Usage{}, err
	}
	if w.worker, err = e.queue.acquire(ctx); err != nil {
		return nil, llm.Usage{}, err
	}
	defer w.worker.release()
	var usage llm.Usage
	for i, p := range req.Prompts {
		ids, err := w.add(ctx, p)
		if err != nil {
			return nil, llm.Usage{}, inPrompt(i, len(req.Prompts), err)
		}
		usage.Input += ids
	}
	need := e.bytes(w.texts)
	if err := e.affords(need, "fewer or shorter prompts"); err != nil {
		return nil, llm.Usage{}, err
	}
	if err := w.worker.claim(ctx, need); err != nil {
		return nil, llm.Usage{}, err
	}
	out, err := w.run(ctx)
	return out, usage, err
}

// depth returns the number of layers.
func (e *Encoder) depth() int { return len(e.model.Encoder) + len(e.model.Decoder) }

// inPrompt adds the index of the prompt to an error of one of several.
func inPrompt(i, n int, err error) error {
	if long, ok := err.(*llm.Error); ok && long.Code == llm.TooLong && n > 1 {
		long.Message = fmt.Sprintf("prompt %d: %s", i, long.Message)
	}
	return err
}

// An embedding is a request for sentence vectors.
type embedding struct {
	*Encoder
	worker     *worker
	prompt     string // before each text
	skip       int    // leading tokens that the pooling leaves out
	dimensions int
	truncate   bool
	texts      [][]int
}

func (e *Encoder) newEmbedding(req *llm.EmbedRequest) (*embedding, error) {
	switch {
	case len(req.Prompts) == 0:
		return nil, invalid("prompt", "is required")
	case len(req.Prompts) > maxTexts:
		return nil, invalid("prompt", fmt.Sprintf("at most %d prompts", maxTexts))
	case req.Dimensions < 0 || req.Dimensions > e.width:
		return nil, invalid("dimensions", fmt.Sprintf("must be between 1 and %d, not %d", e.width, req.Dimensions))
	}
	w := &embedding{Encoder: e, truncate: req.Truncate, dimensions: req.Dimensions}
	if w.dimensions == 0 {
		w.dimensions = e.sentence.Truncate
	}
	name, err := e.promptName(req)
	if err != nil || name == "" {
		return w, err
	}
	text, ok := e.sentence.Prompts[name]
	if !ok {
		known := slices.Sorted(maps.Keys(e.sentence.Prompts))
		if len(known) == 0 {
			return nil, invalid("prompt_name", "this model has no prompts by name")
		}
		return nil, invalid("prompt_name", fmt.Sprintf("%.40q is not one of %s", name, strings.Join(known, ", ")))
	}
	w.prompt = text
	if e.sentence.ExcludePrompt && text != "" {
		w.skip = len(e.sentence.Before) + len(e.tokenizer.Encode(e.lower(text)))
	}
	return w, nil
}

// lower makes letters small if the model's files say so, each by itself as the reference
// does.
func (e *Encoder) lower(text string) string {
	if !e.sentence.Lowercase {
		return text
	}
	return lower(text)
}

// lower makes letters small, each by itself as Python does.
func lower(text string) string {
	return strings.ToLower(strings.ReplaceAll(text, "\u0130", "i\u0307"))
}

// add adds a text and returns the number of its tokens.
func (w *embedding) add(ctx context.Context, p llm.Prompt) (int, error) {
	to := tokenizer.Collector{Max: w.context}
	if w.truncate {
		to.Max = int(max(int64(w.context), w.memory/8))
	}
	ids, after, err := w.tokens(ctx, &to, p, w.prompt)
	if err != nil {
		return 0, w.tooLong("the prompt has", err)
	}
	if n := len(ids); n > w.context {
		if !w.truncate {
			return 0, llm.TooManyTokens("the prompt has", n, w.context)
		}
		end := slices.Clone(ids[n-after:]) // as the reference does, the cut text ends with the tokens that the tokenizer adds
		ids = append(ids[:w.context-after], end...)
	}
	w.texts = append(w.texts, ids)
	return len(ids), nil
}

// tokens returns the tokens of p, with a text before it and those that the tokenizer puts
// around it: after of them at the end. A prompt of tokens is complete.
func (e *Encoder) tokens(ctx context.Context, to *tokenizer.Collector, p llm.Prompt, before string) (ids []int, after int, err error) {
	if p.Messages != nil || !llm.Texts(p.Parts) {
		return nil, 0, llm.Errorf(llm.Unsupported, "this model embeds texts and tokens, not chats or images")
	}
	text, ok := p.Text()
	if !ok {
		if err := e.encode(ctx, to, p.Parts); err != nil {
			return nil, 0, err
		}
		return e.notEmpty(to.IDs()), 0, nil
	}
	part := llm.Part{Text: e.lower(before + text), Special: e.special}
	if err := e.encode(ctx, to, []llm.Part{part}); err != nil {
		return nil, 0, err
	}
	s := e.sentence
	return e.notEmpty(slices.Concat(s.Before, to.IDs(), s.After)), len(s.After), nil
}

// notEmpty returns ids, or the token of an empty text.
func (e *Encoder) notEmpty(ids []int) []int {
	if len(ids) == 0 {
		return []int{e.empty}
	}
	return ids
}

// bytes returns the memory that texts may take: their tokens and vectors, and the scratch of
// the longest pass.
func (e *Encoder) bytes(texts [][]int) int64 {
	return e.passBytes(texts) + 4*int64(e.width)*int64(len(texts))
}

// passBytes returns the memory of texts, of the scratch of the longest pass and of its results.
func (c *core) passBytes(texts [][]int) (need int64) {
	var all, longest int64 // tokens
	for _, ids := range texts {
		need += tokenBytes * int64(len(ids))
		all, longest = all+int64(len(ids)), max(longest, int64(len(ids)))
	}
	longest = max(longest, min(all, passTokens)) // computed together
	return need + c.model.CacheBytes(int(longest)) + passMemory(&c.model.Spec, int(longest), c.workers)
}

// passMemory returns the memory of a pass and of its result.
func passMemory(s *transformer.Spec, tokens, workers int) int64 {
	return s.PassBytes(tokens, workers) + 4*int64(tokens)*int64(s.Width)
}

// PassMemory returns the memory that a model which embeds or ranks texts keeps for its passes,
// in addition to its weights: that of the longest text, or of the longest batch. A request that
// needs more than cfg.MaxMemory is rejected. context is the model's.
func PassMemory(s *transformer.Spec, context int, cfg Config) int64 {
	tokens := passTokens
	if cfg.Context > 0 {
		context = min(context, cfg.Context)
	}
	if len(s.Decoder) == 0 { // which computes a long text in parts
		tokens = max(tokens, context)
	}
	return min(passMemory(s, tokens, cfg.Team.Size()), cmp.Or(cfg.MaxMemory, DefaultMaxMemory))
}

// run computes the embeddings, several texts in one pass.
func (w *embedding) run(ctx context.Context) ([]llm.Embedding, error) {
	out, member := make([]llm.Embedding, 0, len(w.texts)), w.lanes.join(llm.SenderOf(ctx), w.worker)
	defer member.leave()
	for texts := w.texts; len(texts) > 0; {
		n := together(texts)
		rows, err := w.encodeTexts(ctx, member, texts[:n])
		if err != nil {
			return nil, err
		}
		for i, ids := range texts[:n] {
			vector := w.vector(rows[i], min(w.skip, len(ids)-1))
			if hasNaN(vector) {
				return nil, w.lanes.damaged()
			}
			layer := llm.Layer{Index: w.depth(), Vectors: [][]float32{vector}}
			out = append(out, llm.Embedding{Tokens: w.describe(ids), Layers: []llm.Layer{layer}})
		}
		texts = texts[n:]
	}
	return out, nil
}

// encodeTexts returns the vectors of each text's tokens (tokens, Width) after the last norm.
func (w *embedding) encodeTexts(ctx context.Context, m *member, texts [][]int) ([][]float32, error) {
	rows := make([][]float32, len(texts))
	collect := func(p *transformer.Pass, parts [][]int) {
		x := p.Last()
		for i, part := range parts {
			n := len(part) * w.model.Width
			rows[i] = append(rows[i], x[:n]...)
			x = x[n:]
		}
	}
	if err := w.forward(ctx, m, texts, collect); err != nil {
		return nil, err
	}
	for _, text := range rows {
		for row := range slices.Chunk(text, w.model.Width) {
			w.model.FinalNorm(len(w.model.Encoder) > 0, row, row)
		}
	}
	return rows, nil
}

// forward computes texts, and calls then after each pass with the parts that it computed.
func (e *Encoder) forward(ctx context.Context, m *member, texts [][]int, then func(*transformer.Pass, [][]int)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(e.model.Decoder) == 0 {
		return m.encode(ctx, func(p *transformer.Pass) error {
			_, err := p.Encode(texts)
			if err == nil {
				then(p, texts)
			}
			return err
		})
	}
	caches := make([]*transformer.Cache, len(texts))
	for i, ids := range texts {
		caches[i] = e.model.NewCache(len(ids))
	}
	for {
		var seqs []transformer.Sequence
		parts := make([][]int, len(texts))
		for i, ids := range texts {
			at := caches[i].Len
			if parts[i] = ids[at:min(at+prefillChunk, len(ids))]; len(parts[i]) > 0 {
				seqs = append(seqs, transformer.Sequence{Cache: caches[i], Tokens: parts[i]})
			}
		}
		if len(seqs) == 0 {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := m.runExclusive(ctx, func(p *transformer.Pass) error {
			_, err := p.Forward(seqs)
			then(p, parts)
			return err
		}); err != nil {
			return err
		}
	}
}

// runLayers computes the layers of texts.
func (e *Encoder) runLayers(ctx context.Context, m *member, l *hiddenLayers, texts [][]int) error {
	if len(e.model.Decoder) > 0 {
		return e.runDecoder(ctx, m, l, texts)
	}
	return l.capture(ctx, m, texts, func(p *transformer.Pass) error {
		_, err := p.Encode(texts)
		return err
	})
}
