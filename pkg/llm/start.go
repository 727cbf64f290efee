package llm

import "context"

type startKey struct{}

// WithStart returns a context for a call. A backend that lets calls wait calls f when the call
// begins to run.
func WithStart(ctx context.Context, f func()) context.Context {
	return context.WithValue(ctx, startKey{}, f)
}

// Started is called by a backend when the call of ctx begins to run.
func Started(ctx context.Context) {
	if f, ok := ctx.Value(startKey{}).(func()); ok {
		f()
	}
}
