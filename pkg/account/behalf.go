package account

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"glossa/pkg/llm"
)

type behalfKey struct{}

// Sender returns a text that identifies the principal of a request for [OnBehalf], "" if no
// credentials were required. It contains no secret.
func Sender(ctx context.Context) string {
	p := callerOf(ctx).principal
	if p.Grant != "" {
		return p.Kind + " " + p.Grant
	}
	return p.owner()
}

// owner returns a text that identifies the principal as the owner of data.
func (p Principal) owner() string {
	if p.ID != "" {
		return p.Kind + " " + p.ID
	}
	return p.String()
}

// OnBehalf returns a context for requests that this server makes itself for a [Sender], such as the lines of
// a batch. The guard looks the principal up anew: its role and limits are those of now, and
// requests for one that was revoked are rejected.
func OnBehalf(ctx context.Context, sender string) context.Context {
	return context.WithValue(ctx, behalfKey{}, sender)
}

// sent returns the principal of a [Sender], if it still exists.
func (a *Accounts) sent(ctx context.Context, sender string) (Principal, error) {
	kind, instance, _ := strings.Cut(sender, " ")
	for _, k := range a.cfg.Keys {
		if p := k.principal(); p.String() == sender {
			return p, nil
		}
	}
	if a.cfg.Tokens != nil {
		if p, ok := a.cfg.Tokens.Again(instance); ok && p.Kind == kind {
			return p, nil
		}
	}
	if k := Kind(kind); a.cfg.Store == nil || k != User && k != APIKey {
		return Principal{}, gone(kind)
	}
	_, id, _ := strings.Cut(instance, " ")
	c, err := a.cfg.Store.Get(ctx, Kind(kind), id)
	switch {
	case errors.Is(err, ErrNotFound), err == nil && c.instance() != instance:
		return Principal{}, gone(kind)
	case err != nil:
		return Principal{}, asError(err)
	case c.expired(time.Now()):
		return Principal{}, llm.Errorf(llm.Unauthenticated, "the %s expired on %s", c.Kind, c.Expires.UTC().Format(time.DateOnly))
	}
	return Principal{Kind: kind, Name: c.Name, Role: c.Role, Limits: c.Limits, ID: c.instance()}, nil
}

// instance returns a text that identifies a credential, and not a later one of the same name.
func (c Credential) instance() string {
	return strconv.FormatInt(c.Created.Unix(), 10) + " " + c.ID
}

func gone(kind string) error {
	return llm.Errorf(llm.Unauthenticated, "the %s, for whom this is done, no longer exists", kind)
}
