package llm

import "context"

type senderKey struct{}

// WithSender returns a context for work on behalf of the named sender: a key, a user,
// or an address where no key is required. Backends share their resources evenly
// between senders. The name never reaches an answer or a log.
func WithSender(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, senderKey{}, name)
}

// SenderOf returns the sender that ctx belongs to, "" for the process's own work.
func SenderOf(ctx context.Context) string {
	name, _ := ctx.Value(senderKey{}).(string)
	return name
}
