package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"glossa/pkg/engine/arch"
	"glossa/pkg/llm"
	"glossa/pkg/tokenizer"
)

// An embedding is a request for the model's own embeddings.
type embedding struct {
	*Encoder
	kind       llm.EmbedKind
	worker     *worker
	opening    opening
	side       *arch.Side // of vectors of tokens, else nil
	limit      int        // tokens of a text
	width      int        // of a vector
	skip       int        // leading tokens that the pooling leaves out
	dimensions int        // 0: all
	truncate   bool
	texts      [][]int
	seen       []int // of each text: its tokens without fillers
	found      int   // weights of sparse embeddings
}

func (e *Encoder) newEmbedding(req *llm.EmbedRequest) (*embedding, error) {
	w := &embedding{
		Encoder: e, kind: cmp.Or(req.Kind, llm.EmbedDense), truncate: req.Truncate, dimensions: req.Dimensions, limit: e.context, width: e.width,
	}
	switch {
	case len(req.Prompts) == 0:
		return nil, invalid("prompt", "is required")
	case len(req.Prompts) > maxTexts:
		return nil, invalid("prompt", fmt.Sprintf("at most %d prompts", maxTexts))
	case w.kind == llm.EmbedUnpooled && req.Dimensions != 0:
		return nil, invalid("dimensions", "vectors that are not pooled cannot be shortened")
	case w.kind == llm.EmbedUnpooled:
		w.width = e.model.Width
	case !slices.Contains(e.info.Embeds, w.kind):
		return nil, noKind(w.kind, e.info.Embeds)
	case w.kind == llm.EmbedSparse && req.Dimensions != 0:
		return nil, invalid("dimensions", "sparse embeddings have no dimensions")
	case w.kind == llm.EmbedMulti:
		w.setSide(req)
	}
	if req.Dimensions < 0 || req.Dimensions > w.width {
		return nil, invalid("dimensions", fmt.Sprintf("must be between 1 and %d, not %d", w.width, req.Dimensions))
	}
	if w.kind == llm.EmbedDense && w.dimensions == 0 {
		w.dimensions = e.sentence.Truncate
	}
	return w, w.setPrompt(req)
}

// setSide sets how texts become vectors of tokens: as queries, or else as documents.
func (w *embedding) setSide(req *llm.EmbedRequest) {
	m := w.sentence.Multi
	w.width, w.side = m.Width(&w.model.Spec), &m.Document
	if req.Task == llm.EmbedQuery || req.Task == "" && req.PromptName == string(llm.EmbedQuery) {
		w.side = &m.Query
	}
	w.limit, w.opening.marker = min(w.limit, w.side.MaxTokens), w.side.Marker
}

// setPrompt sets the prompt that a request names.
func (w *embedding) setPrompt(req *llm.EmbedRequest) error {
	if w.kind == llm.EmbedMulti && req.Task == "" && req.PromptName == "" && w.sentence.Prompt == "" {
		req = &llm.EmbedRequest{Task: llm.EmbedDocument}
	}
	name, err := w.promptName(req)
	if err != nil || name == "" {
		return err
	}
	text, ok := w.sentence.Prompts[name]
	if !ok {
		known := slices.Sorted(maps.Keys(w.sentence.Prompts))
		if len(known) == 0 {
			return invalid("prompt_name", "this model has no prompts by name")
		}
		return invalid("prompt_name", fmt.Sprintf("%.40q is not one of %s", name, strings.Join(known, ", ")))
	}
	w.opening.text, w.opening.special = text, w.kind == llm.EmbedMulti
	if w.sentence.ExcludePrompt && text != "" {
		w.skip = len(w.sentence.Before) + len(w.tokenizer.Encode(w.lower(text)))
	}
	return nil
}

// add adds a text and returns the number of its tokens.
func (w *embedding) add(ctx context.Context, p llm.Prompt) (int, error) {
	to := tokenizer.Collector{Max: w.limit}
	if w.truncate {
		to.Max = int(max(int64(w.limit), w.memory/8))
	}
	ids, after, err := w.tokens(ctx, &to, p, w.opening)
	if err != nil {
		return 0, beyond(w.limit, "the prompt has", err)
	}
	if n := len(ids); n > w.limit {
		if !w.truncate {
			return 0, llm.TooManyTokens("the prompt has", n, w.limit)
		}
		// As the reference does, the cut text ends with the tokens that the tokenizer adds.
		ids = slices.Concat(ids[:w.limit-after], ids[n-after:])
	}
	n := len(ids)
	if _, isText := p.Text(); isText && w.side != nil {
		for most := min(w.side.Expand, w.limit); len(ids) < most; {
			ids = append(ids, w.side.Filler)
		}
	}
	w.texts, w.seen = append(w.texts, ids), append(w.seen, n)
	return n, nil
}

// run computes the embeddings, several texts in one pass.
func (w *embedding) run(ctx context.Context) ([]llm.Embedding, error) {
	out, member := make([]llm.Embedding, 0, len(w.texts)), w.lanes.join(llm.SenderOf(ctx), w.worker)
	defer member.leave()
	for at := 0; at < len(w.texts); {
		texts := w.texts[at:]
		texts = texts[:together(texts, member.workers())]
		var seen []int
		if w.side != nil && w.side.Expand > 0 && !w.side.Attend {
			seen = w.seen[at : at+len(texts)]
		}
		rows, err := w.encodeTexts(ctx, member, texts, seen)
		if err != nil {
			return nil, err
		}
		made, err := w.finish(ctx, member, rows, texts)
		if err != nil {
			return nil, err
		}
		out, at = append(out, made...), at+len(texts)
	}
	return out, nil
}
