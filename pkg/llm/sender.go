package llm

import "context"

type senderKey struct{}

type ownerKey struct{}

// WithOwner returns a context for work with the data of an owner: the key or the user that sent
// a request. What a backend keeps of a request, such as a computed prompt, is not used for other
// owners. Without accounts there are no owners: all requests share what is kept.
func WithOwner(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, ownerKey{}, id)
}

// OwnerOf returns the owner of the data of ctx, "" if there is none.
func OwnerOf(ctx context.Context) string {
	id, _ := ctx.Value(ownerKey{}).(string)
	return id
}

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
