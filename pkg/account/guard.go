package account

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// Guard is the guard of an [httpx.Mux]: all routes but the public ones need a key or a
// token whose role has the route's permission. The returned request carries its
// sender, see [PrincipalOf].
func (a *Accounts) Guard(r *http.Request, route *httpx.Route) (*http.Request, error) {
	c := caller{address: Address(r.RemoteAddr)}
	upload := route.Permission == httpx.Upload
	switch {
	case route.Permission == httpx.Public, a.cfg.Open && !upload && knownPermission(route.Permission):
		return withCaller(r, c), nil
	case upload && !a.publisher:
		// Alpha's server answers 500 with these words.
		return nil, llm.Errorf(llm.Forbidden, "UPLOAD_SECRET not configured: set it, or another key with the role worker, to allow uploads")
	}
	list, err := a.senders(r)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(p Principal) bool { return p.Role.May(route.Permission) })
	if c.principal, err = a.teamOf(r.Context(), list[max(0, i)]); err != nil {
		return nil, err
	}
	httpx.RecordOf(r.Context()).Principal = c.principal.String()
	if i < 0 {
		return nil, llm.Errorf(llm.Forbidden, "a key with the role %s may not do this", c.principal.Role)
	}
	return withCaller(r, c), nil
}

// senders returns the principals of a request: of its secret, or the one on whose behalf the
// server itself makes it.
func (a *Accounts) senders(r *http.Request) ([]Principal, error) {
	if sender, ok := r.Context().Value(behalfKey{}).(string); ok {
		return a.sent(r.Context(), sender)
	}
	return a.identify(r.Context(), secretOf(r.Header))
}

// knownPermission reports whether any role has p: a route with a forgotten or misspelt
// permission is closed even when the service is open.
func knownPermission(p httpx.Permission) bool { return Admin.May(p) }

// identify returns the principals of a secret, at least one; several if the
// configuration lists it more than once.
func (a *Accounts) identify(ctx context.Context, secret string) ([]Principal, error) {
	if list := lookup(a.cfg.Keys, secret); len(list) > 0 {
		return list, nil
	}
	if a.cfg.Tokens != nil {
		if p, known, err := a.cfg.Tokens.Identify(ctx, secret); known || err != nil {
			return []Principal{p}, err
		}
	}
	kind := secretKind(secret)
	if kind == "" || a.cfg.Store == nil {
		return nil, errNoKey()
	}
	p, err := a.lookupSecret(ctx, kind, secret)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, errNoKey()
	case err != nil:
		return nil, asError(err)
	}
	return []Principal{p}, nil
}

// errNoKey is the same for a revoked key and for one that never existed.
func errNoKey() error {
	return llm.Errorf(llm.Unauthenticated, "missing or invalid key: send it as Authorization: Bearer KEY")
}

// asError hides the error of a store from clients, but not from the log.
func asError(err error) error {
	if _, ok := errors.AsType[*llm.Error](err); ok || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &llm.Error{Code: llm.Internal, Message: "the accounts cannot be read", Err: err}
}

// lookupSecret finds a key or a token by its hash, so that the time taken reveals nothing
// about the secret.
func (a *Accounts) lookupSecret(ctx context.Context, kind Kind, secret string) (Principal, error) {
	c, err := a.cfg.Store.Get(ctx, kind, secretID(secret))
	if err != nil {
		return Principal{}, err
	}
	if c.expired(time.Now()) {
		return Principal{}, llm.Errorf(llm.Unauthenticated, "the %s expired on %s", kind, c.Expires.UTC().Format(time.DateOnly))
	}
	if kind == APIKey {
		return Principal{Kind: string(APIKey), Name: c.Name, Role: c.Role, Limits: c.Limits, ID: c.instance()}, nil
	}
	user, err := a.cfg.Store.Get(ctx, User, c.Name)
	if err != nil {
		return Principal{}, err
	}
	if c.Created.Before(user.Created) { // the user of the token was deleted; this is another of the same name
		return Principal{}, ErrNotFound
	}
	return Principal{Kind: string(User), Name: user.Name, Role: user.Role, Limits: user.Limits, ID: user.instance()}, nil
}

// secretOf returns the secret of a request: that of the Authorization header or else, as older
// clients of Anthropic send it, of x-api-key.
func secretOf(h http.Header) string {
	if secret := bearer(h); secret != "" {
		return secret
	}
	return strings.TrimSpace(h.Get("X-Api-Key"))
}

// bearer returns the secret of the Authorization header. Clients spell the scheme in
// any case, and some omit it (RFC 9110, 11.1: the scheme is case-insensitive).
func bearer(h http.Header) string {
	fields := strings.Fields(h.Get("Authorization"))
	switch {
	case len(fields) == 2 && strings.EqualFold(fields[0], "bearer"):
		return fields[1]
	case len(fields) == 1 && !strings.EqualFold(fields[0], "bearer"):
		return fields[0]
	}
	return ""
}

// subscriberBits is the longest prefix of IPv6 addresses that one subscriber gets, in bits
// (RFC 6177): the owner of one address has 2^64 of them.
const subscriberBits = 64

// Address returns the identity of a sender: an IPv4 address, or the network of an IPv6
// address. Headers that name another address can be forged and are ignored.
func Address(remote string) string {
	ap, err := netip.ParseAddrPort(remote)
	if err != nil {
		return remote
	}
	ip := ap.Addr().Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	network, err := ip.Prefix(subscriberBits)
	if err != nil {
		return remote
	}
	return network.String()
}
