package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// TokenLifetime is the time that a token from a login stays valid.
const TokenLifetime = 24 * time.Hour

// A Grant is the result of a login.
type Grant struct {
	Token   string // for Authorization: Bearer
	Role    Role
	Expires time.Time
}

// errBadLogin does not reveal whether the user exists.
func errBadLogin() error {
	return llm.Errorf(llm.Unauthenticated, "wrong email or password")
}

// Login returns a token for a user's name, which may be an email address, and password. A
// few attempts may fail for a name from one address, more from the address, and many for
// the name; after that logins fail with [llm.Overloaded] for some time.
func (a *Accounts) Login(ctx context.Context, email, password string) (Grant, error) {
	if a.cfg.Store == nil {
		return Grant{}, llm.Errorf(llm.Unsupported, "this server has no users: send a key as Authorization: Bearer KEY")
	}
	name, from := fold(email), callerOf(ctx).address
	if wait := a.failures.take(name, from, time.Now()); wait > 0 {
		return Grant{}, &llm.Error{Code: llm.Overloaded, Message: "too many failed logins: try again later", RetryAfter: wait}
	}
	user, err := a.check(ctx, name, password)
	if llm.AsError(err).Code != llm.Unauthenticated {
		a.failures.giveBack(name, from)
	}
	if err != nil {
		return Grant{}, asError(err)
	}
	secret, token := newToken(user.Name)
	if err := a.cfg.Store.Add(ctx, token); err != nil {
		return Grant{}, asError(fmt.Errorf("the token cannot be stored: %w", err))
	}
	p := Principal{Kind: string(User), Name: user.Name, Role: user.Role}
	httpx.RecordOf(ctx).Principal = p.String()
	return Grant{Token: secret, Role: user.Role, Expires: token.Expires}, nil
}

// failures counts failed logins.
type failures struct{ addresses, pairs, names *limit }

func newFailures() failures {
	return failures{
		addresses: newLimit(addressBurst, addressPause), pairs: newLimit(pairBurst, pairPause), names: newLimit(nameBurst, namePause),
	}
}

// A count is a limit and one of its keys.
type count struct {
	limit *limit
	key   string
}

// counts returns the counts of a name and an address. The name's own count comes last:
// once an address is at its limit, its attempts do not count against the name.
func (f *failures) counts(name, from string) [3]count {
	return [3]count{{f.addresses, from}, {f.pairs, from + "\n" + name}, {f.names, name}}
}

// take counts a failed login. Beyond a limit it counts nothing and returns the time to
// wait.
func (f *failures) take(name, from string, now time.Time) (wait time.Duration) {
	counts := f.counts(name, from)
	for i, c := range counts {
		if wait = c.limit.take(c.key, now); wait > 0 {
			for _, taken := range counts[:i] {
				taken.limit.giveBack(taken.key)
			}
			return wait
		}
	}
	return 0
}

// giveBack undoes a take.
func (f *failures) giveBack(name, from string) {
	for _, c := range f.counts(name, from) {
		c.limit.giveBack(c.key)
	}
}

// check returns the user with a name and a password. An unknown user costs as much
// time as a wrong password.
func (a *Accounts) check(ctx context.Context, name, password string) (Credential, error) {
	if len(password) > maxPassword {
		return Credential{}, errBadLogin()
	}
	var hash *passwordHash
	user, err := a.cfg.Store.Get(ctx, User, name)
	switch {
	case err == nil:
		h, err := parseHash(user.Password)
		if err != nil {
			return Credential{}, fmt.Errorf("user %s: %w", user.Name, err)
		}
		hash = &h
	case !errors.Is(err, ErrNotFound):
		return Credential{}, err
	}
	ok, err := a.passwords.verify(ctx, hash, password)
	switch {
	case err != nil:
		return Credential{}, err
	case !ok || hash == nil:
		return Credential{}, errBadLogin()
	}
	return user, nil
}
