package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// TokenLifetime is how long a token that a login gave is good.
const TokenLifetime = 24 * time.Hour

// A Grant is what a user gets for a password.
type Grant struct {
	Token   string // for Authorization: Bearer
	Role    Role
	Expires time.Time
}

// errWrong does not tell whether there is such a user.
func errWrong() error { return llm.Errorf(llm.Unauthenticated, "the email or the password is wrong") }

// Login gives a token for a user's name, which may be an address of mail, and
// password. Those that fail are few for each name and each address that they come
// from; more are [llm.Overloaded] until some time has passed.
func (a *Accounts) Login(ctx context.Context, email, password string) (Grant, error) {
	if a.cfg.Store == nil {
		return Grant{}, llm.Errorf(llm.Unsupported, "there are no users here: send a key as Authorization: Bearer KEY")
	}
	name, from := fold(email), callerOf(ctx).address
	if err := a.attempt(name, from); err != nil {
		return Grant{}, err
	}
	user, err := a.check(ctx, name, password)
	if llm.AsError(err).Code != llm.Unauthenticated {
		a.users.giveBack(name)
		a.addresses.giveBack(from)
	}
	if err != nil {
		return Grant{}, asError(err)
	}
	secret, token := newToken(user.Name)
	if err := a.cfg.Store.Add(ctx, token); err != nil {
		return Grant{}, asError(fmt.Errorf("the token cannot be kept: %w", err))
	}
	p := Principal{Kind: string(User), Name: user.Name, Role: user.Role}
	httpx.RecordOf(ctx).Principal = p.String()
	return Grant{Token: secret, Role: user.Role, Expires: token.Expires}, nil
}

// attempt counts a login as one that fails, for its name and its address.
func (a *Accounts) attempt(name, from string) error {
	now := time.Now()
	wait := a.addresses.take(from, now)
	if wait == 0 {
		if wait = a.users.take(name, now); wait > 0 {
			a.addresses.giveBack(from)
		}
	}
	if wait > 0 {
		return &llm.Error{Code: llm.Overloaded, Message: "too many failed logins: wait", RetryAfter: wait}
	}
	return nil
}

// check returns the user of a name and a password. Somebody unknown costs as much
// as a wrong password.
func (a *Accounts) check(ctx context.Context, name, password string) (Credential, error) {
	if len(password) > maxPassword {
		return Credential{}, errWrong()
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
		return Credential{}, errWrong()
	}
	return user, nil
}
