package intercept

import (
	"context"
	"iter"
	"reflect"

	"glossa/pkg/llm"
)

// A row is a capability of the table.
type row struct {
	capability reflect.Type
	methods    []*Method
	zero       any                // of what stands for the capability, to know its type
	of         func(*wrapped) any // nil if the model does not have the capability
}

// table has all capabilities. Each method that takes a context does work, which
// interceptors must see: it is a [Method]. The others compute on what they are given and
// are the model's own. TestTable holds the table to pkg/llm.
var table = []row{
	{capability: reflect.TypeFor[llm.Backend](), methods: []*Method{generate}, zero: (*wrapped)(nil), of: func(w *wrapped) any { return w }},
	known(func(w *wrapped) llm.Invoker { return invoker{w} }, invoke),
	seen(func(w *wrapped) llm.Scorer { return scorer{w} }, score),
	seen(func(w *wrapped) llm.Embedder { return embedder{w} }, embed),
	seen(func(w *wrapped) llm.Translator { return translator{w} }, translate),
	seen(func(w *wrapped) llm.Tokenizer { return tokenizer{w} }, tokenize, detokenize),
	seen(func(w *wrapped) llm.TokenizerFile { return tokenizerFile{w} }, tokenizerJSON),
	passed(func(r llm.Renderer) llm.Renderer { return renderer{r} }),
	passed(func(m llm.Mapper) llm.Mapper { return mapper{m} }),
}

// The methods of the table.
var (
	generate  = &Method{Name: "generate", Drains: true, run: runGenerate}
	invoke    = &Method{Name: "invoke", run: runInvoke}
	score     = counted("score", llm.Scorer.Score, scoreBytes)
	embed     = counted("embed", llm.Embedder.Embed, embedBytes)
	translate = counted("translate", llm.Translator.Translate, translateBytes)
	tokenize  = free("tokenize", func(t llm.Tokenizer, ctx context.Context, r spelling) ([]llm.Token, error) {
		return t.Tokenize(ctx, r.text, r.start)
	})
	detokenize    = free("detokenize", llm.Tokenizer.Detokenize)
	tokenizerJSON = free("tokenizerjson", func(f llm.TokenizerFile, ctx context.Context, _ struct{}) ([]byte, error) {
		return f.TokenizerJSON(ctx)
	})
)

// spelling is the request of Tokenize.
type spelling struct {
	text  llm.Part
	start bool
}

// seen is the row of a capability whose methods interceptors see. A model that could not
// be opened has it too.
func seen[C any](stand func(*wrapped) C, methods ...*Method) row {
	r := known(stand, methods...)
	open := r.of
	r.of = func(w *wrapped) any {
		if _, ok := w.model.(broken); ok {
			return stand(w)
		}
		return open(w)
	}
	return r
}

// known is the row of a capability whose methods interceptors see, of models that are open.
func known[C any](stand func(*wrapped) C, methods ...*Method) row {
	return row{reflect.TypeFor[C](), methods, stand(nil), func(w *wrapped) any {
		if _, err := llm.As[C](w.model); err != nil {
			return nil
		}
		return stand(w)
	}}
}

// passed is the row of a capability that does no work. stand gives it a type without the
// model's other methods.
func passed[C any](stand func(C) C) row {
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
	translator    struct{ w *wrapped }
	tokenizer     struct{ w *wrapped }
	tokenizerFile struct{ w *wrapped }
	renderer      struct{ llm.Renderer }
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

// Translate implements [llm.Translator].
func (t translator) Translate(ctx context.Context, req *llm.TranslateRequest) ([]llm.Translation, llm.Usage, error) {
	return answer[[]llm.Translation](ctx, t.w, translate, req)
}

// Tokenize implements [llm.Tokenizer].
func (t tokenizer) Tokenize(ctx context.Context, text llm.Part, start bool) ([]llm.Token, error) {
	tokens, _, err := answer[[]llm.Token](ctx, t.w, tokenize, spelling{text, start})
	return tokens, err
}

// Detokenize implements [llm.Tokenizer].
func (t tokenizer) Detokenize(ctx context.Context, ids []int) (string, error) {
	text, _, err := answer[string](ctx, t.w, detokenize, ids)
	return text, err
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
	}
	return n
}
