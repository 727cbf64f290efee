package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"glossa/pkg/account"
)

// teamCommand returns glossa team.
func (p *program) teamCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "team", Short: "Create, limit, list and delete teams, whose members share limits", Args: subcommand, RunE: needsSubcommand,
		Long: `Create, limit, list and delete the teams of a file or a DynamoDB table. The
limits of a team hold for all its members together, in addition to their own.
glossa key limit NAME --team TEAM makes a key a member, glossa user limit a
user, and a rule of an OpenID Connect provider its users.`,
		Example: `  glossa team create shop --usd-per-month 50 --accounts accounts.json
  glossa key create ci --role client --team shop --accounts accounts.json`,
	}
	c.AddCommand(p.teamCreateCommand(), p.teamLimitCommand(), p.teamListCommand(), p.teamDeleteCommand())
	return c
}

// teamCreateCommand returns glossa team create.
func (p *program) teamCreateCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "create NAME", Short: "Create a team", Args: positional(1, "NAME"),
		Example: "  glossa team create shop --usd-per-month 50 --models 'novels,gpt-*'",
	}
	limits := limitFlags(c.Flags())
	return p.onAccounts(c, func(ctx context.Context, store account.Store, args []string) error {
		return createTeam(ctx, store, args[0], limits, p.stdout)
	})
}

// teamLimitCommand returns glossa team limit.
func (p *program) teamLimitCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "limit NAME", Short: "Limit the requests, tokens, costs and models of a team", Args: positional(1, "NAME"),
		Example: "  glossa team limit shop --requests 10/s --tokens-per-day 1000000",
	}
	limits := limitFlags(c.Flags())
	return p.onAccounts(c, func(ctx context.Context, store account.Store, args []string) error {
		return limitNamed(ctx, store, account.Team, strings.ToLower(args[0]), limits, p.stdout)
	})
}

// teamListCommand returns glossa team list.
func (p *program) teamListCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "list", Short: "List the teams and their members", Args: positional(0),
		Example: "  glossa team list --accounts accounts.json",
	}
	asJSON := jsonFlag(c.Flags())
	return p.onAccounts(c, func(ctx context.Context, store account.Store, _ []string) error {
		return listTeams(ctx, store, *asJSON, p.stdout)
	})
}

// teamDeleteCommand returns glossa team delete.
func (p *program) teamDeleteCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "delete NAME", Short: "Delete a team without members", Args: positional(1, "NAME"),
		Example: "  glossa team delete shop --accounts accounts.json",
	}
	return p.onAccounts(c, func(ctx context.Context, store account.Store, args []string) error {
		return deleteTeam(ctx, store, strings.ToLower(args[0]), p.stdout)
	})
}

func createTeam(ctx context.Context, store account.Store, name string, given *limitOptions, w io.Writer) error {
	limits, err := given.apply(account.Limits{})
	if err != nil {
		return usageError{err}
	}
	team, err := account.NewTeam(name, limits)
	if err != nil {
		return usageError{err}
	}
	if team.Name == noTeam {
		return usagef("a team cannot be called %s: that stands for no team", noTeam)
	}
	switch err := store.Add(ctx, team); {
	case errors.Is(err, account.ErrExists):
		return fmt.Errorf("the team %s exists: glossa team limit changes its limits", team.Name)
	case err != nil:
		return err
	}
	_, err = fmt.Fprintf(w, "the team %s is created; its limits: %s\n", team.Name, team.Limits)
	return err
}

// members returns the names of the members of each team, such as "key ci". Those who come with the
// tokens of providers are not stored.
func members(ctx context.Context, store account.Store) (map[string][]string, error) {
	all := map[string][]string{}
	for _, kind := range []account.Kind{account.APIKey, account.User} {
		list, err := store.List(ctx, kind)
		if err != nil {
			return nil, withHint(err)
		}
		for _, c := range list {
			if team := c.Limits.Team; team != "" {
				all[team] = append(all[team], string(kind)+" "+c.Name)
			}
		}
	}
	return all, nil
}

// A listedTeam is a team of a listing for programs.
type listedTeam struct {
	listedAccount
	Members []string `json:"members"` // keys and users: "key ci"
}

// listTeams prints the teams by name, with their members.
func listTeams(ctx context.Context, store account.Store, asJSON bool, w io.Writer) error {
	list, err := store.List(ctx, account.Team)
	if err != nil {
		return withHint(err)
	}
	of, err := members(ctx, store)
	if err != nil {
		return err
	}
	if asJSON {
		teams := []listedTeam{}
		for _, one := range listedAccounts(list) {
			teams = append(teams, listedTeam{one, append([]string{}, of[one.Name]...)})
		}
		return printJSON(w, map[string]any{"teams": teams})
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tCREATED\tLIMITS\tMEMBERS") // errors come with Flush
	for _, c := range list {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", c.Name, c.Created.Format(time.DateOnly), c.Limits, strings.Join(of[c.Name], ", "))
	}
	return t.Flush()
}

// deleteTeam deletes a team that has no members: they could do nothing without it.
func deleteTeam(ctx context.Context, store account.Store, name string, w io.Writer) error {
	of, err := members(ctx, store)
	if err != nil {
		return err
	}
	if list := of[name]; list != nil {
		return fmt.Errorf("the team %s has members: %s; take them out with --team %s first", name, strings.Join(list, ", "), noTeam)
	}
	switch err := store.Delete(ctx, account.Team, name); {
	case errors.Is(err, account.ErrNotFound):
		return fmt.Errorf("there is no team %s: glossa team list shows them", name)
	case err != nil:
		return withHint(err)
	}
	_, err = fmt.Fprintf(w, "the team %s is deleted\n", name)
	return err
}
