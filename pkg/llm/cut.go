package llm

import "context"

type cutKey struct{}

// WithCut returns a context for a call. A backend calls f, in any goroutine, to end a write of the answer that the
// client does not read: the range over the answer then ends as if the client had left.
func WithCut(ctx context.Context, f func()) context.Context {
	return context.WithValue(ctx, cutKey{}, f)
}

// Cut is called by a backend while the client of ctx does not read and others wait for what its call holds.
func Cut(ctx context.Context) {
	if f, ok := ctx.Value(cutKey{}).(func()); ok {
		f()
	}
}
