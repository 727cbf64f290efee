package intercept

import (
	"context"
	"iter"
	"reflect"

	"glossa/pkg/llm"
)

// A row is one capability of the table.
type row struct {
	capability reflect.Type
	methods    []*Method
	zero       any                // a value of the wrapper type, for its type
	of         func(*wrapped) any // nil if the model does not have the capability
}

// table has all capabilities. A method that takes a context does work, which
// interceptors must see: it is a [Method]. The other methods only compute, and are the
// model's own. table_test.go compares the table with pkg/llm.
var table = []row{
	{capability: reflect.TypeFor[llm.Backend](), methods: []*Method{generate}, zero: (*wrapped)(nil), of: func(w *wrapped) any { return w }},
	openRow(func(w *wrapped) llm.Invoker { return invoker{w} }, invoke),
	interceptedRow(func(w *wrapped) llm.Scorer { return scorer{w} }, score),
	interceptedRow(func(w *wrapped) llm.Embedder { return embedder{w} }, embed),
	interceptedRow(func(w *wrapped) llm.Reranker { return reranker{w} }, rerank),
	interceptedRow(func(w *wrapped) llm.Classifier { return classifier{w} }, classify),
	interceptedRow(func(w *wrapped) llm.Translator { return translator{w} }, translate),
	interceptedRow(func(w *wrapped) llm.Tokenizer { return tokenizer{w} }, tokenize, detokenize),
	interceptedRow(func(w *wrapped) llm.TokenizerFile { return tokenizerFile{w} }, tokenizerJSON),
	interceptedRow(func(w *wrapped) llm.Renderer { return renderer{w} }, render),
	passedRow(func(m llm.Mapper) llm.Mapper { return mapper{m} }),
}

// The methods of the table.
var (
	generate  = &Method{Name: "generate", Drains: true, run: runGenerate}
	invoke    = &Method{Name: "invoke", run: runInvoke}
	score     = counted("score", llm.Scorer.Score, scoreBytes)
	embed     = counted("embed", llm.Embedder.Embed, embedBytes)
	rerank    = counted("rerank", llm.Reranker.Rerank, rerankBytes)
	classify  = counted("classify", llm.Classifier.Classify, classifyBytes)
	translate = counted("translate", llm.Translator.Translate, translateBytes)
	tokenize  = free("tokenize", func(t llm.Tokenizer, ctx context.Context, r tokenizeRequest) ([]llm.Token, error) {
		return t.Tokenize(ctx, r.parts, r.start)
	})
	detokenize = free("detokenize", llm.Tokenizer.Detokenize)
	render     = free("render", func(r llm.Renderer, ctx context.Context, q renderRequest) (out rendered, err error) {
		out.parts, out.start, err = r.Render(ctx, q.prompt, q.params, q.open)
		return out, err
	})
	tokenizerJSON = free("tokenizerjson", func(f llm.TokenizerFile, ctx context.Context, _ struct{}) ([]byte, error) {
		return f.TokenizerJSON(ctx)
	})
)

// renderRequest is the request of Render, rendered its result.
type (
	renderRequest struct {
		prompt llm.Prompt
		params *llm.Params
		open   bool
	}
	rendered struct {
		parts []llm.Part
		start bool
	}
)

// tokenizeRequest is the request of Tokenize.
type tokenizeRequest struct {
	parts []llm.Part
	start bool
}

// interceptedRow returns the row of a capability whose methods interceptors see. A model that
// could not be opened has it too.
func interceptedRow[C any](stand func(*wrapped) C, methods ...*Method) row {
	r := openRow(stand, methods...)
	open := r.of
	r.of = func(w *wrapped) any {
		if _, ok := w.model.(broken); ok {
			return stand(w)
		}
		return open(w)
	}
	return r
}

// openRow returns the row of a capability whose methods interceptors see, for open models only.
func openRow[C any](stand func(*wrapped) C, methods ...*Method) row {
	return row{reflect.TypeFor[C](), methods, stand(nil), func(w *wrapped) any {
		if _, err := llm.As[C](w.model); err != nil {
			return nil
		}
		return stand(w)
	}}
}

// passedRow returns the row of a capability without work. stand hides the model's other
// methods.
func passedRow[C any](stand func(C) C) row {
	var none C
	return row{reflect.TypeFor[C](), nil, stand(none), func(w *wrapped) any {
		c, err := llm.As[C](w.model)
		if err != nil {
			return nil
		}
		return stand(c)
	}}
}

type (
	invoker       struct{ w *wrapped }
	scorer        struct{ w *wrapped }
	embedder      struct{ w *wrapped }
	reranker      struct{ w *wrapped }
	classifier    struct{ w *wrapped }
	translator    struct{ w *wrapped }
	tokenizer     struct{ w *wrapped }
	tokenizerFile struct{ w *wrapped }
	renderer      struct{ w *wrapped }
	mapper        struct{ llm.Mapper }
)

// Invoke implements [llm.Invoker].
func (i invoker) Invoke(ctx context.Context, body map[string]any, stream bool) iter.Seq2[map[string]any, error] {
	return func(yield func(map[string]any, error) bool) {
		for p, err := range i.w.ask(ctx, invoke, &Invocation{body, stream}) {
			if !yield(p.Keys, err) {
				return
			}
		}
	}
}

// Score implements [llm.Scorer].
func (s scorer) Score(ctx context.Context, req *llm.ScoreRequest) (*llm.Score, llm.Usage, error) {
	return answer[*llm.Score](ctx, s.w, score, req)
}

// Embed implements [llm.Embedder].
func (e embedder) Embed(ctx context.Context, req *llm.EmbedRequest) ([]llm.Embedding, llm.Usage, error) {
	return answer[[]llm.Embedding](ctx, e.w, embed, req)
}

// Rerank implements [llm.Reranker].
func (r reranker) Rerank(ctx context.Context, req *llm.RerankRequest) ([]llm.Relevance, llm.Usage, error) {
	return answer[[]llm.Relevance](ctx, r.w, rerank, req)
}

// Classify implements [llm.Classifier].
func (c classifier) Classify(ctx context.Context, req *llm.ClassifyRequest) ([]llm.Classification, llm.Usage, error) {
	return answer[[]llm.Classification](ctx, c.w, classify, req)
}

// Translate implements [llm.Translator].
func (t translator) Translate(ctx context.Context, req *llm.TranslateRequest) ([]llm.Translation, llm.Usage, error) {
	return answer[[]llm.Translation](ctx, t.w, translate, req)
}

// Tokenize implements [llm.Tokenizer].
func (t tokenizer) Tokenize(ctx context.Context, parts []llm.Part, start bool) ([]llm.Token, error) {
	tokens, _, err := answer[[]llm.Token](ctx, t.w, tokenize, tokenizeRequest{parts, start})
	return tokens, err
}

// Detokenize implements [llm.Tokenizer].
func (t tokenizer) Detokenize(ctx context.Context, ids []int) (string, error) {
	text, _, err := answer[string](ctx, t.w, detokenize, ids)
	return text, err
}

// Render implements [llm.Renderer].
func (r renderer) Render(ctx context.Context, p llm.Prompt, params *llm.Params, open bool) ([]llm.Part, bool, error) {
	out, _, err := answer[rendered](ctx, r.w, render, renderRequest{p, params, open})
	return out.parts, out.start, err
}

// TokenizerJSON implements [llm.TokenizerFile].
func (t tokenizerFile) TokenizerJSON(ctx context.Context) ([]byte, error) {
	file, _, err := answer[[]byte](ctx, t.w, tokenizerJSON, struct{}{})
	return file, err
}

func scoreBytes(req *llm.ScoreRequest) int64 {
	return promptBytes(req.Prompt) + int64(len(req.Continuation))
}

func embedBytes(req *llm.EmbedRequest) (n int64) {
	for _, p := range req.Prompts {
		n += promptBytes(p)
	}
	return n
}

func rerankBytes(req *llm.RerankRequest) (n int64) {
	for _, p := range req.Pairs {
		n += int64(len(p.Query) + len(p.Document))
	}
	return n
}

func classifyBytes(req *llm.ClassifyRequest) (n int64) {
	for _, in := range req.Inputs {
		n += int64(len(in.Text))
		if in.Second != nil {
			n += int64(len(*in.Second))
		}
	}
	return n
}

func translateBytes(req *llm.TranslateRequest) (n int64) {
	for _, text := range req.Texts {
		n += int64(len(text))
	}
	return n
}

func promptBytes(p llm.Prompt) (n int64) {
	parts := p.Parts
	for _, m := range p.Messages {
		parts = append(parts[:len(parts):len(parts)], m.Parts...)
	}
	for _, part := range parts {
		n += int64(len(part.Text) + len(part.Tokens))
		if part.Image != nil {
			n += int64(len(part.Image.Data))
		}
	}
	return n
}
