package engine

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
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
	heads    vectorHeads
	special  bool // prompts may spell special tokens
	width    int  // of a dense embedding
}

var (
	_ llm.Backend   = (*Encoder)(nil)
	_ llm.Tokenizer = (*Encoder)(nil)
	_ llm.Embedder  = (*Encoder)(nil)
)

// NewEncoder reads the weights of a model that embeds texts. It closes m.
func NewEncoder(m *arch.Model, cfg Config) (_ *Encoder, err error) {
	e := &Encoder{sentence: m.Sentence, special: cfg.ParseSpecial}
	defer func() { err = closeOpened(m, e, err) }()
	if m.Sentence == nil {
		return nil, fmt.Errorf("model %q: the files of the %s model do not say how it embeds texts", cfg.Name, m.Type)
	}
	if e.core, err = newCore(m, cfg); err != nil {
		return nil, err
	}
	e.context = min(e.context, m.Sentence.MaxTokens)
	e.start, e.end = m.Sentence.Before, m.Sentence.After
	e.info.Context, e.info.Streaming, e.info.Task = e.context, false, llm.TaskEmbed
	if around := len(m.Sentence.Before) + len(m.Sentence.After); e.context <= around {
		return nil, fmt.Errorf("model %q: a context of %d tokens, %d of which the tokenizer adds", cfg.Name, e.context, around)
	}
	e.info.Embeds = EmbedKinds(m.Sentence)
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
	if err := e.heads.read(e.kernels, m.Sentence, m.Spec); err != nil {
		return nil, fmt.Errorf("model %q: %w", cfg.Name, err)
	}
	return e, nil
}

// Generate implements [llm.Backend]. It returns an error.
func (e *Encoder) Generate(context.Context, *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		yield(llm.Chunk{}, llm.Errorf(llm.Unsupported, "this model embeds texts and does not complete them: use /v1/embeddings"))
	}
}

// Embed implements [llm.Embedder]. The model's own embeddings are those of
// sentence-transformers; they do not depend, to the bit, on the other texts of the request.
// Layers are those of the encoder: 0 is the embeddings with their positions.
func (e *Encoder) Embed(ctx context.Context, req *llm.EmbedRequest) ([]llm.Embedding, llm.Usage, error) {
	if len(req.Layers) > 0 || len(req.Pooling) > 0 {
		return e.embed(ctx, req, e.depth(), func(to *tokenizer.Collector, p llm.Prompt) ([]int, error) {
			ids, _, err := e.tokens(ctx, to, p, opening{})
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
	if err := w.checkValues(req.MaxValues); err != nil {
		return nil, llm.Usage{}, err
	}
	need := e.passBytes(w.texts) + w.headBytes()
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
func (e *Encoder) depth() int { return e.model.Depth() + len(e.model.Decoder) }

// inPrompt adds the index of a prompt that is too long to the error of one of several.
func inPrompt(i, n int, err error) error {
	if n == 1 {
		return err
	}
	return tooLongIn(fmt.Sprintf("prompt[%d]", i), err)
}

// An opening is what stands before a text.
type opening struct {
	marker  []int
	text    string
	special bool // text may spell special tokens
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

// tokens returns the tokens of p, with what stands before it and those that the tokenizer puts
// around it: after of them at the end. A prompt of tokens is complete.
func (e *Encoder) tokens(ctx context.Context, to *tokenizer.Collector, p llm.Prompt, before opening) (ids []int, after int, err error) {
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
	parts := []llm.Part{{Text: e.lower(before.text + text), Special: e.special}}
	if before.special {
		parts = []llm.Part{{Text: e.lower(before.text), Special: true}, {Text: e.lower(text), Special: e.special}}
	}
	if err := e.encode(ctx, to, parts); err != nil {
		return nil, 0, err
	}
	s := e.sentence
	return e.notEmpty(slices.Concat(s.Before, before.marker, to.IDs(), s.After)), len(s.After), nil
}

// notEmpty returns ids, or the token of an empty text.
func (e *Encoder) notEmpty(ids []int) []int {
	if len(ids) == 0 {
		return []int{e.empty}
	}
	return ids
}

// passBytes returns the memory of texts, of the scratch of the longest pass and of its results.
func (c *core) passBytes(texts [][]int) (need int64) {
	var all, longest int64 // tokens
	for _, ids := range texts {
		need += tokenBytes * int64(len(ids))
		all, longest = all+int64(len(ids)), max(longest, int64(len(ids)))
	}
	most := int(togetherTokens(all, longest, c.workers))
	return need + c.model.CacheBytes(most) + passMemory(&c.model.Spec, most, c.workers)
}

// passMemory returns the memory of a pass and of its result.
func passMemory(s *transformer.Spec, tokens, workers int) int64 {
	return s.PassBytes(tokens, workers) + 4*int64(tokens)*int64(s.Width)
}

// PassMemory returns the memory that a model which embeds or ranks texts keeps for its passes,
// in addition to its weights: that of the longest text, or of the longest batch. A request that
// needs more than cfg.MaxMemory is rejected. context is the model's.
func PassMemory(s *transformer.Spec, context int, cfg Config) int64 {
	if cfg.Context > 0 {
		context = min(context, cfg.Context)
	}
	workers := cfg.Team.Size()
	tokens := max(passTokens, workers*prefillChunk) // a decoder computes a long text in parts
	if len(s.Encoder) > 0 {
		tokens = int(togetherTokens(math.MaxInt64, int64(context), workers))
	}
	return min(passMemory(s, tokens, workers)+maskedMemory(s), cmp.Or(cfg.MaxMemory, DefaultMaxMemory))
}

// encodeTexts returns the vectors of each text's tokens (tokens, Width) after the last norm. If
// seen is not nil, the tokens of text i read only the first seen[i] of them.
func (w *embedding) encodeTexts(ctx context.Context, m *member, texts [][]int, seen []int) ([][]float32, error) {
	rows := make([][]float32, len(texts))
	collect := func(p *transformer.Pass, parts [][]int) {
		x := p.Last()
		for i, part := range parts {
			n := len(part) * w.model.Width
			rows[i] = append(rows[i], x[:n]...)
			x = x[n:]
		}
	}
	if err := w.forward(ctx, m, texts, seen, collect); err != nil {
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
func (e *Encoder) forward(ctx context.Context, m *member, texts [][]int, seen []int, then func(*transformer.Pass, [][]int)) error {
	if len(e.model.Decoder) == 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		return m.encode(ctx, func(p *transformer.Pass) error {
			err := error(nil)
			if seen != nil {
				err = p.EncodePrefixes(texts, seen)
			} else {
				_, err = p.Encode(texts)
			}
			if err == nil {
				then(p, texts)
			}
			return err
		})
	}
	return e.readTexts(ctx, m, texts, 0, func(p *transformer.Pass, parts [][]int, _ []float32) { then(p, parts) })
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
