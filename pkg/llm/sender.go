package llm

import "context"

type senderKey struct{}

// WithSender returns a context whose work is done for the named sender: a key, a user,
// or an address where nobody is asked for a key. Backends share what they have evenly
// between senders, and put the name into no answer and no log.
func WithSender(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, senderKey{}, name)
}

// SenderOf returns the sender that ctx belongs to, "" for work of the process's own.
func SenderOf(ctx context.Context) string {
	name, _ := ctx.Value(senderKey{}).(string)
	return name
}
