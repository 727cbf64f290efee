package openai

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
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
	return byVectors{e, model.Context, kindOf(model.Embeds)}, nil
}

// kindOf returns the kind of embeddings that a model is compared by: dense ones if it has them,
// or else vectors of tokens.
func kindOf(has []llm.EmbedKind) llm.EmbedKind {
	for _, kind := range []llm.EmbedKind{llm.EmbedDense, llm.EmbedMulti, llm.EmbedSparse} {
		if slices.Contains(has, kind) {
			return kind
		}
	}
	return llm.EmbedDense
}

// byVectors scores a pair by the embeddings of its query and of its document: dense ones by the
// cosine of their angle, sparse ones by their product, and vectors of tokens by the sum of each
// query vector's largest product (MaxSim; Khattab and Zaharia 2020, sec. 3.3).
type byVectors struct {
	embedder llm.Embedder
	context  int // of the model in tokens; 0: not known
	kind     llm.EmbedKind
}

// textsAtOnce is the number of documents that the model embeds at once.
const textsAtOnce = 256

// Rerank implements [llm.Reranker].
func (b byVectors) Rerank(ctx context.Context, req *llm.RerankRequest) ([]llm.Relevance, llm.Usage, error) {
	if err := b.check(req); err != nil {
		return nil, llm.Usage{}, err
	}
	var queries, documents distinct
	for i, p := range req.Pairs {
		queries.add(i, p.Query)
		documents.add(i, p.Document)
	}
	var usage llm.Usage
	var first []llm.Embedding
	if err := b.embed(ctx, &queries, llm.EmbedQuery, req.Truncate, &usage, func(_ int, part []llm.Embedding) {
		first = append(first, part...)
	}); err != nil {
		return nil, llm.Usage{}, err
	}
	pairs := make([][]int, len(documents.list)) // of each document
	for i, p := range req.Pairs {
		at := documents.index[p.Document]
		pairs[at] = append(pairs[at], i)
	}
	out := make([]llm.Relevance, len(req.Pairs))
	if err := b.embed(ctx, &documents, llm.EmbedDocument, req.Truncate, &usage, func(from int, part []llm.Embedding) {
		for j := range part { // embeddings of documents are not kept: those of tokens are large
			for _, i := range pairs[from+j] {
				out[i] = llm.Relevance{Score: b.score(&first[queries.index[req.Pairs[i].Query]], &part[j]), Logit: math.NaN()}
			}
		}
	}); err != nil {
		return nil, llm.Usage{}, err
	}
	return out, usage, nil
}

// score compares the embeddings of a query and of a document.
func (b byVectors) score(query, document *llm.Embedding) float64 {
	x, y := query.Layers[0].Vectors, document.Layers[0].Vectors
	switch b.kind {
	case llm.EmbedMulti:
		return maxSim(x, y)
	case llm.EmbedSparse:
		return sparseProduct(query.Tokens, x[0], document.Tokens, y[0])
	}
	return cosine(x[0], y[0])
}

// maxSim sums the largest product of each query vector; 0 if there is no vector of a document.
func maxSim(query, document [][]float32) (sum float64) {
	if len(document) == 0 {
		return 0
	}
	for _, q := range query {
		top := math.Inf(-1)
		for _, d := range document {
			dot := 0.0
			for i := range q {
				dot += float64(q[i]) * float64(d[i])
			}
			top = max(top, dot)
		}
		sum += top
	}
	return sum
}

// sparseProduct multiplies the weights of the tokens that both have, in the order of their ids.
func sparseProduct(a []llm.Token, x []float32, b []llm.Token, y []float32) (sum float64) {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i].ID < b[j].ID:
			i++
		case a[i].ID > b[j].ID:
			j++
		default:
			sum += float64(x[i]) * float64(y[j])
			i, j = i+1, j+1
		}
	}
	return sum
}

// check rejects what vectors cannot do.
func (b byVectors) check(req *llm.RerankRequest) error {
	unsupported := func(param, why string) error {
		return &llm.Error{Code: llm.Unsupported, Param: param, Message: "this model embeds texts, and scores compare their vectors: " + why}
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

// embed embeds each text, adds its tokens to usage, and calls yield with some embeddings after the
// other, and the index of the first.
func (b byVectors) embed(ctx context.Context, texts *distinct, task llm.EmbedTask, cut bool, usage *llm.Usage, yield func(from int, part []llm.Embedding)) error {
	for from := 0; from < len(texts.list); from += textsAtOnce {
		req := &llm.EmbedRequest{Task: task}
		if b.kind != llm.EmbedDense {
			req.Kind = b.kind
		}
		for _, text := range texts.list[from:min(len(texts.list), from+textsAtOnce)] {
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
			return texts.named(err, task, from, len(req.Prompts))
		}
		usage.Add(used)
		yield(from, made)
	}
	return nil
}

// distinct is a list of different texts.
type distinct struct {
	list  []string
	pairs []int // of each text, the first pair that has it
	index map[string]int
}

// add adds the text of a pair.
func (t *distinct) add(pair int, text string) {
	if _, ok := t.index[text]; ok {
		return
	}
	if t.index == nil {
		t.index = map[string]int{}
	}
	t.index[text] = len(t.list)
	t.list, t.pairs = append(t.list, text), append(t.pairs, pair)
}

// named puts the place of a text, as [llm.Reranker] names it, into an error about one of the n
// prompts from the text from on.
func (t *distinct) named(err error, task llm.EmbedTask, from, n int) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err
	}
	var i int
	_, noIndex := fmt.Sscanf(e.Param, "prompt[%d]", &i)
	if noIndex != nil && e.Param != "prompt" && (e.Param != "" || e.Code != llm.TooLong) {
		return err
	}
	renamed := *e
	renamed.Param = "documents"
	if task == llm.EmbedQuery {
		renamed.Param = "query"
	}
	if known := noIndex == nil || n == 1; known && (task != llm.EmbedQuery || len(t.list) > 1) {
		renamed.Param += fmt.Sprintf("[%d]", t.pairs[from+i])
	}
	renamed.Message = strings.Replace(e.Message, "the prompt has", "the text has", 1)
	return &renamed
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
