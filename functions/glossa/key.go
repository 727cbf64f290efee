package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"glossa/pkg/account"
)

const keyUsage = `create NAME --role R [--days N]
       glossa key limit NAME [--requests N/s|N/m] [--tokens-per-day N] [--tokens-per-month N] [--none]
       glossa key revoke NAME
       glossa key list
       each with [--accounts FILE | --table-name T]`

// key changes the API keys of the accounts.
func key(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	f := flags("key", keyUsage, stdout)
	source, limits := accountsFlags(f), limitFlags(f)
	role := f.String("role", "", "create: admin, worker, client or monitor")
	days := f.Int("days", 365, "create: `number` of days until the key expires; 0: never")
	name, verb, err := parseVerb(f, args)
	if err != nil {
		return err
	}
	store, err := source.store()
	if err != nil {
		return err
	}
	if given := limits.given(f); given && verb != "limit" {
		return fmt.Errorf("%w: only limit NAME sets limits", errUsage)
	}
	switch {
	case verb == "limit" && name != "":
		return limitKeys(ctx, store, name, limits, f, stdout)
	case verb == "create" && name != "":
		return createKey(ctx, store, name, account.Role(*role), *days, stdout, stderr)
	case verb == "revoke" && name != "":
		return revokeKeys(ctx, store, name, stdout)
	case verb == "list" && name == "":
		return listKeys(ctx, store, stdout)
	}
	return fmt.Errorf("%w: create NAME, limit NAME, revoke NAME or list", errUsage)
}

// createKey prints the new key, which is not stored, alone to stdout and a note to stderr.
func createKey(ctx context.Context, store account.Store, name string, role account.Role, days int, stdout, stderr io.Writer) error {
	var expires time.Time
	switch {
	case days < 0:
		return fmt.Errorf("%w: --days %d: 0 or more", errUsage, days)
	case days > 0:
		expires = time.Now().AddDate(0, 0, days)
	}
	secret, c, err := account.NewAPIKey(name, role, expires)
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
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

// listKeys prints the API keys by name, without their secrets.
func listKeys(ctx context.Context, store account.Store, w io.Writer) error {
	list, err := store.List(ctx, account.APIKey)
	if err != nil {
		return withHint(err)
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
func limitKeys(ctx context.Context, store account.Store, name string, given *limitOptions, f *flag.FlagSet, w io.Writer) error {
	list, err := keysNamed(ctx, store, name)
	if err != nil {
		return withHint(err)
	}
	if len(list) == 0 {
		return fmt.Errorf("there is no key %s: glossa key list shows them", name)
	}
	for _, c := range list {
		if err := setLimits(ctx, store, c, given, f, w); err != nil {
			return err
		}
	}
	return nil
}
