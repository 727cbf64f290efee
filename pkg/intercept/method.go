package intercept

import (
	"context"
	"encoding/json"
	"iter"
	"math"

	"glossa/pkg/llm"
)

// A Method is one method of a capability, as interceptors see it.
type Method struct {
	Name string // in lower case, such as embed
	// Free is set if the method does not run the model but describes it: it uses no
	// tokens, and the answer of another model would be wrong.
	Free bool
	// Drains is set if a sequence with a cancelled context still ends with its usage.
	Drains bool

	bytes func(request any) int64
	run   func(ctx context.Context, b llm.Backend, request any) iter.Seq2[Piece, error]
}

// Bytes returns the number of bytes of the texts of a request, plus its tokens: no
// tokenizer makes more tokens of it. It is 0 for Generate and Invoke, whose requests
// contain their own bounds.
func (c *Call) Bytes() int64 {
	if c.bytes == nil {
		return 0
	}
	return c.bytes(c.Request)
}

// counted returns a method with a single answer that reports its usage. The function
// bytes bounds the tokens of a request: see [Call.Bytes].
func counted[C, R, A any](name string, method func(C, context.Context, R) (A, llm.Usage, error), bytes func(R) int64) *Method {
	return &Method{
		Name:  name,
		bytes: func(request any) int64 { return bytes(request.(R)) },
		run:   singleAnswer(method),
	}
}

// free returns a method with a single answer that uses no tokens.
func free[C, R, A any](name string, method func(C, context.Context, R) (A, error)) *Method {
	return &Method{
		Name: name, Free: true,
		run: singleAnswer(func(c C, ctx context.Context, request R) (answer A, _ llm.Usage, err error) {
			answer, err = method(c, ctx, request)
			return answer, llm.Usage{}, err
		}),
	}
}

// singleAnswer returns the sequence of a method's single answer. An error comes with the usage
// before it, if there is any.
func singleAnswer[C, R, A any](method func(C, context.Context, R) (A, llm.Usage, error)) func(context.Context, llm.Backend, any) iter.Seq2[Piece, error] {
	return func(ctx context.Context, b llm.Backend, request any) iter.Seq2[Piece, error] {
		return func(yield func(Piece, error) bool) {
			c, err := llm.As[C](b)
			if err != nil {
				yield(Piece{}, err)
				return
			}
			answer, used, err := method(c, ctx, request.(R))
			switch {
			case err == nil:
				yield(Piece{Value: answer, Usage: &used}, nil)
			case used != llm.Usage{}:
				yield(Piece{Usage: &used}, err)
			default:
				yield(Piece{}, err)
			}
		}
	}
}

// answer returns the single answer of a method.
func answer[A any](ctx context.Context, w *wrapped, m *Method, request any) (out A, used llm.Usage, err error) {
	err = llm.Errorf(llm.Internal, "%s: no interceptor returned an answer", m.Name)
	for p, failed := range w.ask(ctx, m, request) { // to its end: leaving it early would mean that the client disconnected
		if p.Usage != nil {
			used = *p.Usage
		}
		if err = failed; err == nil {
			out = p.Value.(A)
		}
	}
	return out, used, err
}

// runGenerate returns the chunks of a generation.
func runGenerate(ctx context.Context, b llm.Backend, request any) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		for c, err := range b.Generate(ctx, request.(*llm.Request)) {
			if !yield(Piece{Chunk: c, Usage: c.Usage}, err) {
				return
			}
		}
	}
}

// runInvoke returns the canonical keys of an invocation, with the usage in them.
func runInvoke(ctx context.Context, b llm.Backend, request any) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		invoker, err := llm.As[llm.Invoker](b)
		if err != nil {
			yield(Piece{}, err)
			return
		}
		var used llm.Usage
		in := request.(*Invocation)
		for keys, err := range invoker.Invoke(ctx, in.Body, in.Stream) {
			p := Piece{Keys: keys}
			if note(&used, keys) {
				p.Usage = new(used)
			}
			if !yield(p, err) {
				return
			}
		}
	}
}

// note copies the token counts in keys to used; in a stream the last ones hold. It
// reports whether there are any.
func note(used *llm.Usage, keys map[string]any) (told bool) {
	if n, ok := count(keys["input_tokens"]); ok {
		used.Input, told = n, true
	}
	if n, ok := count(keys["cached_tokens"]); ok {
		used.Cached, told = n, true
	}
	for _, name := range [...]string{"generated_tokens", "output_tokens"} {
		if n, ok := count(keys[name]); ok {
			used.Output, told = n, true
		}
	}
	return told
}

// count parses a number of tokens; 12.0 is one too.
func count(v any) (n int, ok bool) {
	f, ok := 0.0, true
	switch v := v.(type) {
	case json.Number:
		var err error
		f, err = v.Float64()
		ok = err == nil
	case float64:
		f = v
	case int:
		f = float64(v)
	default:
		return 0, false
	}
	if !ok || !(f >= 0 && f <= math.MaxInt32) {
		return 0, false
	}
	return int(f), true
}
