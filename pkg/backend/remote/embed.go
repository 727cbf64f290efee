package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"sync"

	"glossa/pkg/llm"
)

// Capability has the capabilities that [llm.As] finds for this record only: [llm.Embedder] or
// [llm.Reranker].
func (b *Backend) Capability(has func(any) bool) any {
	var c any
	switch b.model.Schema.Task() {
	case llm.TaskEmbed:
		c = embedder{b}
	case llm.TaskRerank:
		c = reranker{b}
	}
	if c == nil || !has(c) {
		return nil
	}
	return c
}

// notText returns the error of a model that does not continue text.
func notText(task llm.Task) error {
	message := "this model does not continue text"
	switch task {
	case llm.TaskEmbed:
		message = "this model embeds texts and does not complete them: use /v1/embeddings"
	case llm.TaskRerank:
		message = "this model ranks documents and does not complete texts: use /v1/rerank"
	}
	return &llm.Error{Code: llm.Unsupported, Param: "prompt", Message: message}
}

// An embedder is a remote model that embeds texts. It makes as few calls as the record's
// limit of texts allows, several at once. Usage is that of the answers or the provider, and
// Partial if a call has none.
type embedder struct{ b *Backend }

const maxTexts = 10_000 // of one request, as in the engine

// Embed implements [llm.Embedder].
func (e embedder) Embed(ctx context.Context, req *llm.EmbedRequest) ([]llm.Embedding, llm.Usage, error) {
	texts, err := textsOfPrompts(req)
	if err != nil {
		return nil, llm.Usage{}, err
	}
	s := e.b.model.Schema
	keys, err := s.EmbedKeys(req)
	if err != nil {
		return nil, llm.Usage{}, err
	}
	var calls []*call
	size := s.Batch(len(texts))
	for batch := range slices.Chunk(texts, size) {
		keys["input"] = s.Input(batch)
		c, err := newCall(s, s.Request(keys), textsOf(nil, batch), false)
		if err != nil {
			return nil, llm.Usage{}, err
		}
		calls = append(calls, c)
	}
	vectors := make([][]float32, len(texts))
	usage, err := e.b.callAll(ctx, calls, func(i int, a answer) error {
		to := vectors[i*size : min((i+1)*size, len(vectors))]
		return readVectors(a.keys, to)
	})
	if err != nil {
		return nil, usage, err
	}
	out := make([]llm.Embedding, len(texts))
	for i, v := range vectors {
		if want := len(vectors[0]); len(v) != want {
			return nil, usage, badAnswer("embeddings", fmt.Sprintf("vectors of %d and of %d dimensions", want, len(v)))
		}
		if req.Dimensions > 0 && len(v) != req.Dimensions {
			return nil, usage, badAnswer("dimensions", fmt.Sprintf("vectors of %d dimensions, not %d", len(v), req.Dimensions))
		}
		out[i].Layers = []llm.Layer{{Vectors: [][]float32{v}}}
	}
	return out, usage, nil
}

// textsOfPrompts returns the texts of a request for sentence vectors.
func textsOfPrompts(req *llm.EmbedRequest) ([]any, error) {
	switch {
	case len(req.Layers) > 0 || len(req.Pooling) > 0:
		return nil, &llm.Error{Code: llm.Unsupported, Param: "layers", Message: "this model returns sentence vectors only, not those of layers"}
	case len(req.Prompts) == 0:
		return nil, &llm.Error{Code: llm.Invalid, Param: "prompt", Message: "is required"}
	case len(req.Prompts) > maxTexts:
		return nil, &llm.Error{Code: llm.Invalid, Param: "prompt", Message: fmt.Sprintf("at most %d prompts", maxTexts)}
	}
	texts := make([]any, len(req.Prompts))
	for i, p := range req.Prompts {
		text, ok := p.Text()
		if p.Messages != nil || !ok {
			return nil, &llm.Error{Code: llm.Unsupported, Param: "prompt", Message: "this model embeds texts, not token ids, chats or images"}
		}
		texts[i] = text
	}
	return texts, nil
}

func badAnswer(key, what string) error {
	return &llm.Error{Code: llm.Upstream, Param: key, Message: "the model's answer has " + what}
}

// readVectors decodes the vectors of an answer, one for each element of to.
func readVectors(keys map[string]any, to [][]float32) error {
	list, ok := keys["embeddings"].([]any)
	if one, is := keys["embedding"]; !ok && is {
		list = []any{one}
	}
	if len(list) != len(to) {
		return badAnswer("embeddings", fmt.Sprintf("%d vectors for %d texts", len(list), len(to)))
	}
	for i, v := range list {
		values, i := vectorOf(v, i)
		if len(values) == 0 || i < 0 || i >= len(to) || to[i] != nil {
			return badAnswer("embeddings", "a value that is not a vector")
		}
		to[i] = make([]float32, len(values))
		for j, v := range values {
			x, ok := number(v, 32)
			if !ok {
				return badAnswer("embeddings", "a vector with a value that is not a number")
			}
			to[i][j] = float32(x)
		}
	}
	return nil
}

// vectorOf returns a vector and its index: i, unless it is an object that says another one, as
// OpenAI's do.
func vectorOf(v any, i int) ([]any, int) {
	object, ok := v.(map[string]any)
	if !ok {
		values, _ := v.([]any)
		return values, i
	}
	values, _ := object["embedding"].([]any)
	if at, ok := object["index"]; ok {
		x, ok := number(at, 64)
		if i = int(x); !ok || float64(i) != x {
			i = -1
		}
	}
	return values, i
}

// number returns a finite number of an answer.
func number(v any, bits int) (float64, bool) {
	n, _ := v.(json.Number)
	x, err := strconv.ParseFloat(string(n), bits)
	return x, err == nil
}

// A reranker is a remote model that ranks documents.
type reranker struct{ b *Backend }

// Rerank implements [llm.Reranker]. Documents of one query share a call, up to the record's
// limit.
func (r reranker) Rerank(ctx context.Context, req *llm.RerankRequest) ([]llm.Relevance, llm.Usage, error) {
	switch {
	case len(req.Pairs) == 0:
		return nil, llm.Usage{}, &llm.Error{Code: llm.Invalid, Param: "documents", Message: "at least one document is required"}
	case len(req.Pairs) > maxTexts:
		return nil, llm.Usage{}, &llm.Error{Code: llm.Invalid, Param: "documents", Message: fmt.Sprintf("at most %d documents", maxTexts)}
	}
	s := r.b.model.Schema
	keys, err := s.RankKeys(req)
	if err != nil {
		return nil, llm.Usage{}, err
	}
	var calls []*call
	var ends []int // of the pairs of each call
	for batch := range batches(req.Pairs, s.Batch(len(req.Pairs))) {
		documents := make([]any, len(batch))
		for i, p := range batch {
			documents[i] = p.Document
		}
		keys["query"], keys["documents"] = batch[0].Query, documents
		c, err := newCall(s, s.Request(keys), textsOf(textsOf(nil, batch[0].Query), documents), false)
		if err != nil {
			return nil, llm.Usage{}, err
		}
		start := 0
		if len(ends) > 0 {
			start = ends[len(ends)-1]
		}
		calls, ends = append(calls, c), append(ends, start+len(batch))
	}
	out := make([]llm.Relevance, len(req.Pairs))
	usage, err := r.b.callAll(ctx, calls, func(i int, a answer) error {
		start := 0
		if i > 0 {
			start = ends[i-1]
		}
		return readScores(a.keys, req.Logits, out[start:ends[i]])
	})
	if err != nil {
		return nil, usage, err
	}
	return out, usage, nil
}

// batches returns runs of at most n pairs of one query.
func batches(pairs []llm.Pair, n int) iter.Seq[[]llm.Pair] {
	return func(yield func([]llm.Pair) bool) {
		for len(pairs) > 0 {
			end := 1
			for end < min(n, len(pairs)) && pairs[end].Query == pairs[0].Query {
				end++
			}
			if !yield(pairs[:end]) {
				return
			}
			pairs = pairs[end:]
		}
	}
}

// readScores decodes the scores or logits of an answer, which come in any order, one for each
// element of to.
func readScores(keys map[string]any, logits bool, to []llm.Relevance) error {
	list, _ := keys["results"].([]any)
	if len(list) != len(to) {
		return badAnswer("results", fmt.Sprintf("%d scores for %d documents", len(list), len(to)))
	}
	seen := make([]bool, len(to))
	for _, v := range list {
		result, _ := v.(map[string]any)
		score, ok := result["relevance_score"]
		if !ok {
			score = result["score"]
		}
		x, isScore := number(score, 64)
		at, isIndex := number(result["index"], 64)
		i := int(at)
		if !isScore || !isIndex || at < 0 || at >= float64(len(to)) || float64(i) != at || seen[i] {
			return badAnswer("results", "a result without a score, or without the index of a document")
		}
		to[i], seen[i] = llm.Relevance{Score: x, Logit: math.NaN()}, true
		if logits {
			to[i] = llm.Relevance{Score: 1 / (1 + math.Exp(-x)), Logit: x}
		}
	}
	return nil
}

// callAll makes the calls, as many at once as the model has rows, and calls read with each
// answer, several at once. It returns the tokens of all answers and the first error, which ends
// all calls.
func (b *Backend) callAll(ctx context.Context, calls []*call, read func(i int, a answer) error) (llm.Usage, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		mu     sync.Mutex
		next   int
		used   llm.Usage
		failed error
		broken any // a panic
	)
	take := func() int {
		mu.Lock()
		defer mu.Unlock()
		if failed != nil || broken != nil || next == len(calls) {
			return -1
		}
		next++
		return next - 1
	}
	work := func() {
		defer func() {
			if p := recover(); p != nil {
				mu.Lock()
				defer mu.Unlock()
				broken = p
				cancel()
			}
		}()
		for i := take(); i >= 0; i = take() {
			input, err := b.readCall(ctx, calls[i], func(a answer) error { return read(i, a) })
			mu.Lock()
			if used.Input, used.Partial = used.Input+input, used.Partial || input == 0 && err == nil; err != nil && failed == nil {
				failed = err
				cancel()
			}
			mu.Unlock()
		}
	}
	var workers sync.WaitGroup
	for range min(b.model.Rows, len(calls)) {
		workers.Go(work)
	}
	workers.Wait()
	if broken != nil {
		panic(broken) // here the caller can recover from it
	}
	return used, failed
}

// readCall makes a call and returns the tokens that the model read, 0 if they are not known. They
// are billed even if read cannot use the answer.
func (b *Backend) readCall(ctx context.Context, c *call, read func(answer) error) (int, error) {
	var count tally
	for a, err := range b.answers(ctx, c) {
		if err == nil {
			count.add(a)
			err = read(a)
		}
		if err != nil {
			return count.usage().Input, err
		}
	}
	return count.usage().Input, nil
}
