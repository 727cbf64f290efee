// Package account decides who may use which route: users with passwords, the
// tokens that they get for them, API keys, the roles of all of these and the
// permissions of a role. It knows routes and the Authorization header, nothing of
// dialects. What it knows of persons and keys comes from a [Store]: a [File] or a
// [Table]. It keeps the [Limits] of each and leaves it to others to hold to them.
//
// Source: the roles and POST /users/me/token of seed 000, the bearer secret of
// seed 002, /api/upload.
package account

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// A Role is what the owner of a key is to the service.
type Role string

// The roles.
const (
	Admin   Role = "admin"   // everything
	Worker  Role = "worker"  // inference and publishing checkpoints
	Client  Role = "client"  // inference
	Monitor Role = "monitor" // models, metrics and usage, no inference
)

// may lists the permissions of each role; every role sees the models.
func (role Role) may() []httpx.Permission {
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

// May tells whether the role has the permission. A role or a permission that is
// not known has none.
func (role Role) May(p httpx.Permission) bool {
	return p == httpx.Public || slices.Contains(role.may(), p)
}

// A Principal is who sends a request.
type Principal struct {
	Kind   string // user, key or configured
	Name   string
	Role   Role
	Limits Limits // of those whom a [Store] knows
}

// String is how the log names the principal.
func (p Principal) String() string { return strings.TrimSpace(p.Kind + " " + p.Name) }

// Config of [New]. Its zero value refuses all but the public routes.
type Config struct {
	// Open lets everybody in and ignores the Authorization header (seed 002), save
	// that publishing always needs a key that may.
	Open  bool
	Keys  []Key // beside those of Store
	Store Store // users, tokens and API keys; nil: none
}

// Accounts answers for each request whether it may be, and lets users log in.
type Accounts struct {
	cfg       Config
	publisher bool // there may be a key that publishes
	passwords *verifier
	failures  failures
}

// New returns the accounts of a configuration.
func New(cfg Config) *Accounts {
	return &Accounts{
		cfg:       cfg,
		publisher: cfg.Store != nil || slices.ContainsFunc(cfg.Keys, func(k Key) bool { return k.Role.May(httpx.Upload) }),
		passwords: newVerifier(),
		failures:  newFailures(),
	}
}

// caller is what the context of a request says of its sender.
type caller struct {
	address   string    // of the network, cut to what one subscriber has
	principal Principal // zero: nobody was asked
}

type callerKey struct{}

// withCaller puts c into the request's context, and into that of [llm.SenderOf] by its
// name: the principal's, or the address where nobody was asked.
func withCaller(r *http.Request, c caller) *http.Request {
	sender := c.address
	if c.principal != (Principal{}) {
		sender = c.principal.String()
	}
	ctx := llm.WithSender(r.Context(), sender)
	return r.WithContext(context.WithValue(ctx, callerKey{}, c))
}

func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// PrincipalOf returns who sent the request that ctx belongs to, if that was asked.
func PrincipalOf(ctx context.Context) (Principal, bool) {
	p := callerOf(ctx).principal
	return p, p != Principal{}
}
