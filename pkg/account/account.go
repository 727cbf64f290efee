// Package account decides who may use which route: users with passwords, the tokens
// that they receive for them, API keys, the roles of all of these and the permissions
// of a role. It knows routes and the Authorization header, nothing of dialects. Users
// and keys come from a [Store]: a [File] or a [Table]. It stores the [Limits] of each;
// other packages enforce them.
//
// Source: the roles and POST /users/me/token of Aleph Alpha, the bearer secret of
// Alpha's /api/upload.
package account

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// A Role is a set of permissions of a user or a key.
type Role string

// The roles.
const (
	Admin   Role = "admin"   // everything
	Worker  Role = "worker"  // inference and publishing checkpoints
	Client  Role = "client"  // inference
	Monitor Role = "monitor" // models, metrics and usage, no inference
)

// permissions lists the permissions of each role; every role may list the models.
func (role Role) permissions() []httpx.Permission {
	switch role {
	case Admin:
		return []httpx.Permission{httpx.Listing, httpx.Metrics, httpx.Inference, httpx.Upload}
	case Worker:
		return []httpx.Permission{httpx.Listing, httpx.Inference, httpx.Upload}
	case Client:
		return []httpx.Permission{httpx.Listing, httpx.Inference}
	case Monitor:
		return []httpx.Permission{httpx.Listing, httpx.Metrics}
	}
	return nil
}

// Known reports whether there is such a role.
func (role Role) Known() bool { return role.permissions() != nil }

// May reports whether the role has the permission. An unknown role has no permissions,
// and nobody has an unknown permission.
func (role Role) May(p httpx.Permission) bool {
	return p == httpx.Public || slices.Contains(role.permissions(), p)
}

// A Principal is the sender of a request.
type Principal struct {
	Kind   string // user, key, configured, or subject of a token of [Tokens]
	Name   string
	Role   Role
	Limits Limits // zero unless the principal is in a [Store]
	Shared Limits // those of its team, which hold for all members together; zero without one
	ID     string // of the [Credential.instance] in its [Store], of a subject, or of a [Key]
	Grant  string // of a subject: what [Tokens.Again] needs
}

// Tokens identify the senders of tokens that others issue.
type Tokens interface {
	// Identify returns the principal of a token. It reports false if the text is not a token
	// of a known issuer. Errors are for clients.
	Identify(ctx context.Context, token string) (p Principal, known bool, err error)
	// Again returns the principal of an earlier [Principal.Grant] with the role and limits of
	// now. It reports false if the grant no longer counts.
	Again(grant string) (Principal, bool)
}

// String returns the name of the principal for the log.
func (p Principal) String() string { return strings.TrimSpace(p.Kind + " " + p.Name) }

// Config configures [New]. Its zero value rejects all but the public routes.
type Config struct {
	// Open admits everybody and ignores the Authorization header, as Alpha's server. Publishing
	// still needs a key with the permission.
	Open  bool
	Keys  []Key // in addition to those of Store
	Store Store // users, tokens and API keys; nil: none

	Tokens Tokens // of others; nil: none
}

// Accounts authorises requests and lets users log in.
type Accounts struct {
	cfg       Config
	publisher bool // a key with the permission to publish may exist
	passwords *verifier
	failures  failures
}

// New returns the accounts for a configuration.
func New(cfg Config) *Accounts {
	return &Accounts{
		cfg:       cfg,
		publisher: cfg.Store != nil || cfg.Tokens != nil || slices.ContainsFunc(cfg.Keys, func(k Key) bool { return k.Role.May(httpx.Upload) }),
		passwords: newVerifier(),
		failures:  newFailures(),
	}
}

// caller is the sender of a request, kept in its context.
type caller struct {
	address   string    // IP address or network, see [Address]
	principal Principal // zero: no credentials were required
}

type callerKey struct{}

// withCaller adds c to the request's context, its name to that of [llm.SenderOf], and its
// principal as the owner of [llm.OwnerOf]. The name is the principal's, or the address if no
// credentials were required; there is no owner then.
func withCaller(r *http.Request, c caller) *http.Request {
	ctx := context.WithValue(r.Context(), callerKey{}, c)
	sender := c.address
	if c.principal != (Principal{}) {
		sender = c.principal.String()
		ctx = llm.WithOwner(ctx, c.principal.owner())
	}
	return r.WithContext(llm.WithSender(ctx, sender))
}

func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// PrincipalOf returns the sender of the request that ctx belongs to. It reports false if no
// credentials were required.
func PrincipalOf(ctx context.Context) (Principal, bool) {
	p := callerOf(ctx).principal
	return p, p != Principal{}
}
