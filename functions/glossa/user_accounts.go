package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"glossa/pkg/account"
	"glossa/pkg/llm"
)

// An accountSource names the file or table of users and keys.
type accountSource struct{ file, table *string }

// accountsFlags adds the flags that name the file or table of accounts.
func accountsFlags(c *cobra.Command) accountSource {
	f := c.Flags()
	s := accountSource{
		f.String("accounts", "", "`file` of users and API keys, created if missing"),
		f.String("table-name", "", "DynamoDB `table` of users and API keys, if no file is named"),
	}
	withVariables(f, "accounts", "table-name")
	return s
}

// onAccounts adds the flags that name the file or table of accounts to a command, which then runs
// on it.
func (p *program) onAccounts(c *cobra.Command, run func(ctx context.Context, store account.Store, args []string) error) *cobra.Command {
	source := accountsFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		store, err := source.store(p)
		if err != nil {
			return err
		}
		return run(c.Context(), store, args)
	}
	return c
}

// store opens the file or table that the flags name, else the one of the settings.
func (s accountSource) store(p *program) (account.Store, error) {
	cfg, err := p.environment()
	if err != nil {
		return nil, err
	}
	file, table := *s.file, *s.table
	if file == "" && table == "" {
		file, table = cfg.Accounts, cfg.Table
	} else if file != "" && table != "" {
		return nil, usagef("--accounts and --table-name cannot be used together")
	}
	switch {
	case file != "":
		return account.NewFile(file), nil
	case table == "":
		return nil, usagef("no account store: pass --accounts or --table-name, or set GLOSSA_ACCOUNTS or GLOSSA_TABLE")
	}
	t, err := cfg.OpenTable(table)
	if err != nil {
		return nil, err
	}
	return account.NewTable(t), nil
}

// limitOptions holds the limits of a command line.
type limitOptions struct {
	flags                    *pflag.FlagSet
	requests                 *string
	day, month               *int64
	usdDay, usdMonth, models *string
	team                     *string // nil: of a team, which is in none
	none                     *bool
}

// memberLimitFlags adds the flags of the limits of a user or a key.
func memberLimitFlags(f *pflag.FlagSet) *limitOptions {
	g := limitFlags(f)
	g.team = f.String("team", "", "the `team` whose limits also apply, see glossa team; none: no team")
	return g
}

// limitFlags adds the flags of limits.
func limitFlags(f *pflag.FlagSet) *limitOptions {
	return &limitOptions{
		flags:    f,
		requests: f.String("requests", "", "`rate` of requests, such as 10/s or 600/m; 0: no limit"),
		day:      f.Int64("tokens-per-day", 0, "`number` of tokens of prompts and answers per day (UTC); 0: no limit"),
		month:    f.Int64("tokens-per-month", 0, "`number` of tokens per month (UTC); 0: no limit"),
		usdDay:   f.String("usd-per-day", "", "cost in `US-dollars` per day (UTC), such as 2.5; 0: no limit"),
		usdMonth: f.String("usd-per-month", "", "cost in `US-dollars` per month (UTC); 0: no limit"),
		models:   f.String("models", "", "the only models that may be used: `names` separated by commas, or NAME* for all that begin with NAME; \"*\": all models"),
		none:     f.Bool("none", false, "remove all limits except those set by the other flags"),
	}
}

// noTeam is the value of --team that takes a user or a key out of its team.
const noTeam = "none"

// names are the flags of limits, besides none.
func (g *limitOptions) names() []string {
	list := []string{"requests", "tokens-per-day", "tokens-per-month", "usd-per-day", "usd-per-month", "models"}
	if g.team != nil {
		list = append(list, "team")
	}
	return list
}

// given reports whether any limit is set.
func (g *limitOptions) given() bool {
	return *g.none || slices.ContainsFunc(g.names(), g.flags.Changed)
}

// apply changes the limits that are set.
func (g *limitOptions) apply(limits account.Limits) (_ account.Limits, err error) {
	if *g.none {
		limits = account.Limits{}
	}
	if g.flags.Changed("requests") {
		limits.Requests = account.Rate{}
		if *g.requests != "0" {
			limits.Requests, err = account.ParseRate(*g.requests)
		}
	}
	for name, to := range map[string]struct {
		given *string
		limit *llm.USD
	}{"usd-per-day": {g.usdDay, &limits.USDPerDay}, "usd-per-month": {g.usdMonth, &limits.USDPerMonth}} {
		if g.flags.Changed(name) {
			amount, wrong := llm.ParseUSD(*to.given)
			if *to.limit = amount; wrong != nil {
				err = cmp.Or(err, fmt.Errorf("--%s: %w", name, wrong))
			}
		}
	}
	if g.flags.Changed("models") {
		limits.Models = ""
		if *g.models != "*" {
			models, wrong := account.ParseModels(*g.models)
			limits.Models, err = models, cmp.Or(err, wrong)
		}
	}
	if g.flags.Changed("tokens-per-day") {
		limits.TokensPerDay = *g.day
	}
	if g.flags.Changed("tokens-per-month") {
		limits.TokensPerMonth = *g.month
	}
	if g.team != nil && g.flags.Changed("team") {
		if limits.Team = strings.ToLower(*g.team); limits.Team == noTeam {
			limits.Team = ""
		}
	}
	return limits, cmp.Or(err, limits.Check())
}

// checkTeam returns an error if limits name a team that does not exist.
func checkTeam(ctx context.Context, store account.Store, limits account.Limits) error {
	if limits.Team == "" {
		return nil
	}
	_, err := store.Get(ctx, account.Team, limits.Team)
	if errors.Is(err, account.ErrNotFound) || isMissing(err) {
		return fmt.Errorf("there is no team %s: glossa team create creates it", limits.Team)
	}
	return err
}

// limitNamed changes the limits of a user or a team.
func limitNamed(ctx context.Context, store account.Store, kind account.Kind, name string, given *limitOptions, w io.Writer) error {
	c, err := store.Get(ctx, kind, name)
	if errors.Is(err, account.ErrNotFound) {
		return fmt.Errorf("there is no %s %s: glossa %s list shows them", kind, name, kind)
	}
	if err != nil {
		return withHint(err)
	}
	return setLimits(ctx, store, c, given, w)
}

// setLimits changes the limits of a credential and prints them.
func setLimits(ctx context.Context, store account.Store, c account.Credential, g *limitOptions, w io.Writer) error {
	if !g.given() {
		return usagef("no limit: pass --%s or --none", strings.Join(g.names(), ", --"))
	}
	limits, err := g.apply(c.Limits)
	if err != nil {
		return usageError{err}
	}
	if err := checkTeam(ctx, store, limits); err != nil {
		return err
	}
	if err := store.SetLimits(ctx, c.Kind, c.ID, limits); errors.Is(err, account.ErrNotFound) {
		return fmt.Errorf("the %s %s was deleted in the meantime", c.Kind, c.Name)
	} else if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "the limits of the %s %s: %s; running servers know them within 5 s\n", c.Kind, c.Name, limits)
	return err
}
