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

// sent returns the principals of a [Sender], like [Accounts.identify], if it still exists.
func (a *Accounts) sent(ctx context.Context, sender string) (list []Principal, err error) {
	kind, instance, _ := strings.Cut(sender, " ")
	for _, k := range a.cfg.Keys {
		if p := k.principal(); p.owner() == sender {
			list = append(list, p)
		}
	}
	if len(list) > 0 {
		return list, nil
	}
	if a.cfg.Tokens != nil {
		if p, ok := a.cfg.Tokens.Again(instance); ok && p.Kind == kind {
			return []Principal{p}, nil
		}
	}
	p, err := a.stored(ctx, kind, instance)
	return []Principal{p}, err
}

// stored returns the principal of a [Credential.instance] in the store.
func (a *Accounts) stored(ctx context.Context, kind, instance string) (Principal, error) {
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
