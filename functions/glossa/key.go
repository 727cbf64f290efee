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

// keyCommand returns glossa key.
func (p *program) keyCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "key", Short: "Create, limit, list and revoke API keys", Args: subcommand, RunE: needsSubcommand,
		Long: `Create, limit, list and revoke the API keys of a file or a DynamoDB table. A
key is shown once, when it is created; only its SHA-256 is stored.`,
		Example: `  glossa key create ci --role client --accounts accounts.json
  glossa key limit ci --requests 10/s --accounts accounts.json
  glossa key list --accounts accounts.json`,
	}
	c.AddCommand(p.keyCreateCommand(), p.keyLimitCommand(), p.keyListCommand(), p.keyRevokeCommand())
	return c
}

// roles are the roles of users and keys.
func roles() []string {
	return []string{string(account.Admin), string(account.Worker), string(account.Client), string(account.Monitor)}
}

// roleFlag adds the flag --role. The function that it returns gives its value, which is required.
func roleFlag(c *cobra.Command) func() (account.Role, error) {
	role := c.Flags().String("role", "", strings.Join(roles()[:3], ", ")+" or "+roles()[3])
	completeWords(c, "role", roles()...)
	return func() (account.Role, error) {
		if *role == "" {
			return "", usagef("--role is required: %s", strings.Join(roles(), ", "))
		}
		return account.Role(*role), nil
	}
}

// keyCreateCommand returns glossa key create.
func (p *program) keyCreateCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "create NAME", Short: "Create a key and print it once", Args: positional(1, "NAME"),
		Example: "  glossa key create ci --expires 90d --models 'novels,gpt-*' --usd-per-day 5",
	}
	role := roleFlag(c)
	life := lifetime(365 * day)
	c.Flags().Var(&life, "expires", "`time` until the key expires, such as 90d or 12h, or never")
	limits := memberLimitFlags(c.Flags())
	return p.onAccounts(c, func(ctx context.Context, store account.Store, args []string) error {
		role, err := role()
		if err != nil {
			return err
		}
		return createKey(ctx, store, strings.ToLower(args[0]), role, time.Duration(life), limits, p.stdout, p.stderr)
	})
}

// keyLimitCommand returns glossa key limit.
func (p *program) keyLimitCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "limit NAME", Short: "Limit the requests, tokens, costs and models of a key", Args: positional(1, "NAME"),
		Example: "  glossa key limit ci --requests 10/s --tokens-per-day 1000000",
	}
	limits := memberLimitFlags(c.Flags())
	return p.onAccounts(c, func(ctx context.Context, store account.Store, args []string) error {
		return limitKeys(ctx, store, strings.ToLower(args[0]), limits, p.stdout)
	})
}

// keyListCommand returns glossa key list.
func (p *program) keyListCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "list", Short: "List the keys, without their secrets", Args: positional(0),
		Example: "  glossa key list --accounts accounts.json",
	}
	asJSON := jsonFlag(c.Flags())
	return p.onAccounts(c, func(ctx context.Context, store account.Store, _ []string) error {
		return listKeys(ctx, store, *asJSON, p.stdout)
	})
}

// keyRevokeCommand returns glossa key revoke.
func (p *program) keyRevokeCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "revoke NAME", Short: "Revoke a key", Args: positional(1, "NAME"),
		Example: "  glossa key revoke ci --accounts accounts.json",
	}
	return p.onAccounts(c, func(ctx context.Context, store account.Store, args []string) error {
		return revokeKeys(ctx, store, strings.ToLower(args[0]), p.stdout)
	})
}

// day is the longest unit of a lifetime.
const day = 24 * time.Hour

// A lifetime is the value of --expires; 0 is forever.
type lifetime time.Duration

// String formats the lifetime in days, if it has whole ones.
func (l *lifetime) String() string {
	switch d := time.Duration(*l); {
	case d == 0:
		return "never"
	case d%day == 0:
		return fmt.Sprintf("%dd", d/day)
	default:
		return d.String()
	}
}

// Type returns the word for the value in the help.
func (l *lifetime) Type() string { return "time" }

// Set parses a number of days, such as 90d, a duration of Go, such as 12h, or never.
func (l *lifetime) Set(text string) error {
	if text == "never" {
		*l = 0
		return nil
	}
	d, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n uint16
		_, err = fmt.Sscanf(days+"\n", "%d\n", &n)
		d = time.Duration(n) * day
	}
	if err != nil || d <= 0 {
		return fmt.Errorf("%q must be a duration with a unit, such as 90d or 12h, or never", text)
	}
	*l = lifetime(d)
	return nil
}

// createKey prints the new key, which is not stored, alone to stdout and a note to stderr.
func createKey(ctx context.Context, store account.Store, name string, role account.Role, life time.Duration, given *limitOptions, stdout, stderr io.Writer) error {
	var expires time.Time
	if life > 0 {
		expires = time.Now().Add(life)
	}
	secret, c, err := account.NewAPIKey(name, role, expires)
	if err != nil {
		return usageError{err}
	}
	if c.Limits, err = given.apply(account.Limits{}); err != nil {
		return usageError{err}
	}
	if err := checkTeam(ctx, store, c.Limits); err != nil {
		return err
	}
	same, err := keysNamed(ctx, store, c.Name)
	switch {
	case err != nil && !isMissing(err):
		return err
	case len(same) > 0:
		return fmt.Errorf("the key %s exists: revoke it, or choose another name", c.Name)
	}
	if err := store.Add(ctx, c); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "the key %s of the role %s, expires: %s; it is not shown again\n", c.Name, c.Role, expiry(c))
	_, err = fmt.Fprintln(stdout, secret)
	return err
}

// revokeKeys deletes the keys of a name: one, unless two were created at the same moment.
func revokeKeys(ctx context.Context, store account.Store, name string, w io.Writer) error {
	list, err := keysNamed(ctx, store, name)
	if err != nil {
		return withHint(err)
	}
	if len(list) == 0 {
		return fmt.Errorf("there is no key %s: glossa key list shows them", name)
	}
	for _, c := range list {
		if err := store.Delete(ctx, account.APIKey, c.ID); err != nil && !errors.Is(err, account.ErrNotFound) {
			return err
		}
	}
	_, err = fmt.Fprintf(w, "the key %s is revoked; running servers know it within 5 s\n", name)
	return err
}

// keysNamed returns the API keys of a name.
func keysNamed(ctx context.Context, store account.Store, name string) (list []account.Credential, err error) {
	all, err := store.List(ctx, account.APIKey)
	for _, c := range all {
		if c.Name == name {
			list = append(list, c)
		}
	}
	return list, err
}

// A listedAccount is a user, a key or a team of a listing for programs.
type listedAccount struct {
	Name    string         `json:"name"`
	Role    account.Role   `json:"role,omitempty"`  // of a user or key
	Last4   string         `json:"last4,omitempty"` // of a key: its last four characters
	Created time.Time      `json:"created"`
	Expires time.Time      `json:"expires,omitzero"` // zero: never
	Limits  account.Limits `json:"limits,omitzero"`
}

// listedAccounts returns credentials without their secrets.
func listedAccounts(list []account.Credential) []listedAccount {
	out := make([]listedAccount, len(list))
	for i, c := range list {
		out[i] = listedAccount{c.Name, c.Role, c.Last4, c.Created, c.Expires, c.Limits}
	}
	return out
}

// listKeys prints the API keys by name, without their secrets.
func listKeys(ctx context.Context, store account.Store, asJSON bool, w io.Writer) error {
	list, err := store.List(ctx, account.APIKey)
	if err != nil {
		return withHint(err)
	}
	if asJSON {
		return printJSON(w, map[string]any{"keys": listedAccounts(list)})
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tROLE\tKEY\tCREATED\tEXPIRES\tLIMITS") // errors come with Flush
	for _, c := range list {
		fmt.Fprintf(t, "%s\t%s\t…%s\t%s\t%s\t%s\n", c.Name, c.Role, c.Last4, c.Created.Format(time.DateOnly), expiry(c), c.Limits)
	}
	return t.Flush()
}

// expiry is the day (UTC) on which a credential expires.
func expiry(c account.Credential) string {
	day := c.Expires.Format(time.DateOnly)
	switch {
	case c.Expires.IsZero():
		return "never"
	case c.Expires.Before(time.Now()):
		return day + " (expired)"
	}
	return day
}

// limitKeys changes the limits of the keys of a name.
func limitKeys(ctx context.Context, store account.Store, name string, given *limitOptions, w io.Writer) error {
	list, err := keysNamed(ctx, store, name)
	if err != nil {
		return withHint(err)
	}
	if len(list) == 0 {
		return fmt.Errorf("there is no key %s: glossa key list shows them", name)
	}
	for _, c := range list {
		if err := setLimits(ctx, store, c, given, w); err != nil {
			return err
		}
	}
	return nil
}
