// Package account decides who may use which route: keys, the roles they carry and
// the permissions of a role. It knows routes and the Authorization header, nothing
// of dialects or of where keys come from.
//
// Source: the roles of seed 000 and the bearer secret of seed 002, /api/upload.
package account

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
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

// A Key is a secret and its role. It holds a hash of the secret only, so that a
// Key that is printed tells nothing.
type Key struct {
	Role Role
	hash [sha256.Size]byte
}

// NewKey returns the key of a role; spaces around the secret are no part of it.
func NewKey(role Role, secret string) (Key, error) {
	secret = strings.TrimSpace(secret)
	switch {
	case role.may() == nil:
		return Key{}, fmt.Errorf("there is no role %q: admin, worker, client and monitor are", role)
	case secret == "":
		return Key{}, fmt.Errorf("the key of a role %q is empty", role)
	case strings.ContainsAny(secret, " \t\r\n"):
		return Key{}, fmt.Errorf("the key of a role %q holds a space, which no client can send", role)
	}
	return Key{Role: role, hash: sha256.Sum256([]byte(secret))}, nil
}

// ParseKeys reads a list such as "client:k1,monitor:k2". Its errors name the place
// in the list and never what stands there.
func ParseKeys(list string) ([]Key, error) {
	var keys []Key
	var errs []error
	for i, item := range strings.Split(list, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		role, secret, ok := strings.Cut(item, ":")
		if !ok || Role(role).may() == nil {
			errs = append(errs, fmt.Errorf("key %d: want role:key with the role admin, worker, client or monitor", i+1))
			continue
		}
		key, err := NewKey(Role(role), secret)
		if err != nil {
			errs = append(errs, fmt.Errorf("key %d: %w", i+1, err))
			continue
		}
		keys = append(keys, key)
	}
	return keys, errors.Join(errs...)
}

// Guard returns what [httpx.Mux] asks before each handler. Without open everything
// but the public routes needs a key whose role has the route's permission. With
// open the Authorization header is ignored (seed 002), save that publishing
// always needs a key that may.
func Guard(open bool, keys []Key) func(*http.Request, *httpx.Route) (*http.Request, error) {
	publishers := slices.ContainsFunc(keys, func(k Key) bool { return k.Role.May(httpx.Upload) })
	return func(r *http.Request, route *httpx.Route) (*http.Request, error) {
		upload := route.Permission == httpx.Upload
		switch {
		case route.Permission == httpx.Public, open && !upload && known(route.Permission):
			return r, nil
		case upload && !publishers:
			return nil, llm.Errorf(llm.Internal, "UPLOAD_SECRET not configured")
		}
		roles := lookup(keys, bearer(r.Header))
		if len(roles) == 0 {
			return nil, llm.Errorf(llm.Unauthenticated, "no valid key: send it as Authorization: Bearer KEY")
		}
		if !slices.ContainsFunc(roles, func(role Role) bool { return role.May(route.Permission) }) {
			return nil, llm.Errorf(llm.Forbidden, "a key of the role %s may not do this", roles[0])
		}
		return r, nil
	}
}

// known tells whether any role has p: a route whose permission was forgotten or
// misspelt is refused even when the service is open.
func known(p httpx.Permission) bool { return Admin.May(p) }

// lookup returns the roles of secret. It compares with every key, each in
// constant time.
func lookup(keys []Key, secret string) (roles []Role) {
	if secret == "" {
		return nil
	}
	hash := sha256.Sum256([]byte(secret))
	for i := range keys {
		if subtle.ConstantTimeCompare(hash[:], keys[i].hash[:]) == 1 {
			roles = append(roles, keys[i].Role)
		}
	}
	return roles
}

// bearer returns the secret of the Authorization header. Clients spell the scheme
// in any case and some leave it out (RFC 9110, 11.1: the scheme has no case).
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
