package openai

import (
	"context"
	"errors"
	"math"
	"strings"

	"glossa/pkg/llm"
)

// reranker returns how a model scores documents: as it was trained to, or else by its vectors.
func reranker(model *llm.Model) (llm.Reranker, error) {
	if r, err := llm.As[llm.Reranker](model); err == nil {
		return r, nil
	}
	if model.Task != llm.TaskEmbed { // other vectors say little about relevance
		return nil, llm.Errorf(llm.Unsupported, "%s ranks no documents", model.Name)
	}
	e, err := llm.As[llm.Embedder](model)
	if err != nil {
		return nil, err
	}
	return byVectors{e, model.Context}, nil
}

// byVectors scores a pair by the cosine of the vectors that an embedder gives its query and its
// document.
type byVectors struct {
	embedder llm.Embedder
	context  int // of the model in tokens; 0: not known
}

// textsAtOnce is the number of documents that the model embeds at once.
const textsAtOnce = 256

// Rerank implements [llm.Reranker].
func (b byVectors) Rerank(ctx context.Context, req *llm.RerankRequest) ([]llm.Relevance, llm.Usage, error) {
	if err := b.check(req); err != nil {
		return nil, llm.Usage{}, err
	}
	var queries, documents distinct
	for _, p := range req.Pairs {
		queries.add(p.Query)
		documents.add(p.Document)
	}
	var usage llm.Usage
	first, err := b.vectors(ctx, queries.list, llm.EmbedQuery, req.Truncate, &usage)
	if err != nil {
		return nil, llm.Usage{}, named(err, "query")
	}
	second, err := b.vectors(ctx, documents.list, llm.EmbedDocument, req.Truncate, &usage)
	if err != nil {
		return nil, llm.Usage{}, named(err, "documents")
	}
	out := make([]llm.Relevance, len(req.Pairs))
	for i, p := range req.Pairs {
		out[i] = llm.Relevance{Score: cosine(first[queries.index[p.Query]], second[documents.index[p.Document]]), Logit: math.NaN()}
	}
	return out, usage, nil
}

// check rejects what vectors cannot do.
func (b byVectors) check(req *llm.RerankRequest) error {
	unsupported := func(param, why string) error {
		return &llm.Error{Code: llm.Unsupported, Param: param, Message: "this model embeds texts, and scores are the cosine of their vectors: " + why}
	}
	shorter := func(n int) bool { return n > 0 && (b.context == 0 || n < b.context) }
	switch {
	case req.Logits:
		return unsupported("logits", "there are no logits")
	case shorter(req.MaxDocument):
		return unsupported("max_tokens_per_doc", "texts are cut only to the model's length")
	case shorter(req.MaxPair):
		return unsupported("truncate_prompt_tokens", "texts are cut only to the model's length")
	}
	return nil
}

// vectors embeds each text and adds its tokens to usage.
func (b byVectors) vectors(ctx context.Context, list []string, task llm.EmbedTask, cut bool, usage *llm.Usage) ([][]float32, error) {
	out := make([][]float32, 0, len(list))
	for len(list) > 0 {
		part := list[:min(len(list), textsAtOnce)]
		list = list[len(part):]
		req := &llm.EmbedRequest{Task: task}
		for _, text := range part {
			req.Prompts = append(req.Prompts, llm.Text(text))
		}
		embed := b.embedder.Embed
		if cut { // a remote model may reject long texts
			embed = func(ctx context.Context, req *llm.EmbedRequest) ([]llm.Embedding, llm.Usage, error) {
				return llm.EmbedCut(ctx, b.embedder, req)
			}
		}
		made, used, err := embed(ctx, req)
		if err != nil {
			return nil, err
		}
		usage.Add(used)
		for _, e := range made {
			out = append(out, e.Layers[0].Vectors[0])
		}
	}
	return out, nil
}

// named puts a key into an error about a prompt.
func named(err error, key string) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Param != "" && e.Param != "prompt" {
		return err
	}
	renamed := *e
	renamed.Param = key
	renamed.Message = strings.Replace(e.Message, "the prompt has", "the text has", 1)
	return &renamed
}

// distinct is a list of different texts.
type distinct struct {
	list  []string
	index map[string]int
}

func (t *distinct) add(text string) {
	if _, ok := t.index[text]; ok {
		return
	}
	if t.index == nil {
		t.index = map[string]int{}
	}
	t.index[text] = len(t.list)
	t.list = append(t.list, text)
}

// cosine returns the cosine of two vectors, 0 if one of them is zero.
func cosine(a, b []float32) float64 {
	var dot, x, y float64
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
		x += float64(a[i]) * float64(a[i])
		y += float64(b[i]) * float64(b[i])
	}
	if x == 0 || y == 0 {
		return 0
	}
	return dot / math.Sqrt(x*y)
}
