package account

import (
	"context"
	"errors"

	"glossa/pkg/llm"
)

// NewTeam returns a team. Its limits hold for all its members together: the users and keys whose
// [Limits] name it. Names are case-insensitive.
func NewTeam(name string, limits Limits) (Credential, error) {
	name = fold(name)
	c := Credential{Kind: Team, ID: name, Name: name, Created: now(), Limits: limits}
	return c, c.check()
}

// teamOf adds the limits of a principal's team. A principal whose team does not exist may do
// nothing: its limits are not known.
func (a *Accounts) teamOf(ctx context.Context, p Principal) (Principal, error) {
	if p.Limits.Team == "" {
		return p, nil
	}
	if a.cfg.Store == nil {
		return p, noTeam(p.Limits.Team)
	}
	team, err := a.cfg.Store.Get(ctx, Team, p.Limits.Team)
	switch {
	case errors.Is(err, ErrNotFound):
		return p, noTeam(p.Limits.Team)
	case err != nil:
		return p, asError(err)
	}
	p.Shared = team.Limits
	return p, nil
}

func noTeam(name string) error {
	return llm.Errorf(llm.Forbidden, "the team %s of this key or user does not exist: ask the operator", name)
}

// A Bound is what limits a principal: its own limits, or those that it shares with its team.
type Bound struct {
	Name   string // of who has the limits: "key ci", "team shop"
	Limits Limits
}

// Bounds returns what limits the principal, all of which holds.
func (p Principal) Bounds() []Bound {
	list := []Bound{{p.String(), p.Limits}}
	if p.Limits.Team != "" {
		list = append(list, Bound{string(Team) + " " + p.Limits.Team, p.Shared})
	}
	return list
}
