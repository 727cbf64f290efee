package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/term"

	"glossa/pkg/account"
	"glossa/pkg/terminal"
)

const userUsage = `add NAME --role R
       glossa user limit NAME [--requests N/s|N/m] [--tokens-per-day N] [--tokens-per-month N] [--none]
       glossa user remove NAME
       glossa user list
       each with [--accounts FILE | --table-name T]`

// user changes the users of the accounts.
func user(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	f := flags("user", userUsage, stdout)
	source, limits := accountsFlags(f), limitFlags(f)
	role := f.String("role", "", "add: admin, worker, client or monitor; the password is read from the terminal, or is the first line of the input")
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
		return limitUser(ctx, store, name, limits, f, stdout)
	case verb == "add" && name != "":
		return addUser(ctx, store, name, account.Role(*role), stdin, stdout, stderr)
	case verb == "remove" && name != "":
		return removeUser(ctx, store, name, stdout)
	case verb == "list" && name == "":
		return listUsers(ctx, store, stdout)
	}
	return fmt.Errorf("%w: add NAME, limit NAME, remove NAME or list", errUsage)
}

// addUser asks for the password after it has checked that the user can be added.
func addUser(ctx context.Context, store account.Store, name string, role account.Role, stdin io.Reader, stdout, stderr io.Writer) error {
	if err := account.CheckUser(name, role); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	exists := fmt.Errorf("the user %s exists: remove it first, which also ends its logins", name)
	switch _, err := store.Get(ctx, account.User, name); {
	case err == nil:
		return exists
	case !errors.Is(err, account.ErrNotFound) && !isMissing(err):
		return err
	}
	password, err := readPassword(ctx, stdin, stderr)
	if err != nil {
		return err
	}
	c, err := account.NewUser(name, role, password)
	if err != nil {
		return err
	}
	if err := store.Add(ctx, c); errors.Is(err, account.ErrExists) {
		return exists
	} else if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "the user %s of the role %s is added\n", c.Name, c.Role)
	return err
}

// removeUser removes a user, which invalidates its tokens.
func removeUser(ctx context.Context, store account.Store, name string, w io.Writer) error {
	err := store.Delete(ctx, account.User, name)
	if errors.Is(err, account.ErrNotFound) {
		return fmt.Errorf("there is no user %s: glossa user list shows them", name)
	}
	if err != nil {
		return withHint(err)
	}
	_, err = fmt.Fprintf(w, "the user %s is removed; running servers know it within 5 s\n", name)
	return err
}

// limitUser changes the limits of a user.
func limitUser(ctx context.Context, store account.Store, name string, given *limitOptions, f *flag.FlagSet, w io.Writer) error {
	c, err := store.Get(ctx, account.User, name)
	if errors.Is(err, account.ErrNotFound) {
		return fmt.Errorf("there is no user %s: glossa user list shows them", name)
	}
	if err != nil {
		return withHint(err)
	}
	return setLimits(ctx, store, c, given, f, w)
}

// listUsers prints the users by name.
func listUsers(ctx context.Context, store account.Store, w io.Writer) error {
	list, err := store.List(ctx, account.User)
	if err != nil {
		return withHint(err)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tROLE\tCREATED\tLIMITS") // errors come with Flush
	for _, c := range list {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", c.Name, c.Role, c.Created.Format(time.DateOnly), c.Limits)
	}
	return t.Flush()
}

// isMissing reports whether the file of accounts does not exist yet.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// withHint adds to the error of a missing file how to create one.
func withHint(err error) error {
	if isMissing(err) {
		return fmt.Errorf("%w: glossa user add and glossa key create create it", err)
	}
	return err
}

// parseVerb reads a verb, an optional name, which it converts to lower case, and flags.
func parseVerb(f *flag.FlagSet, args []string) (name, verb string, err error) {
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		verb, args = args[0], args[1:]
	}
	name, err = parseNamed(f, args)
	return strings.ToLower(name), verb, err
}

// readPassword reads a password twice from a terminal without echo, or the first line of
// any other input.
func readPassword(ctx context.Context, in io.Reader, notes io.Writer) (string, error) {
	if !terminal.Is(in) {
		line, err := bufio.NewReader(io.LimitReader(in, terminal.MaxLine)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("reading the password: %w", err)
		}
		return strings.TrimRight(line, "\r\n"), nil
	}
	fd := int(in.(*os.File).Fd())
	first, err := ask(ctx, fd, "password: ", notes)
	if err != nil {
		return "", err
	}
	second, err := ask(ctx, fd, "again: ", notes)
	if err == nil && first != second {
		err = errors.New("the two passwords differ")
	}
	return first, err
}

// ask reads a line from the terminal without echo. Reading cannot be interrupted, so a
// goroutine does it, which may live until the process ends.
func ask(ctx context.Context, fd int, prompt string, notes io.Writer) (string, error) {
	type answer struct {
		password []byte
		err      error
	}
	state, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	fmt.Fprint(notes, prompt)
	defer fmt.Fprintln(notes)
	answers := make(chan answer, 1)
	go func() {
		b, err := term.ReadPassword(fd)
		answers <- answer{b, err}
	}()
	select {
	case a := <-answers:
		return string(a.password), a.err
	case <-ctx.Done():
		return "", errors.Join(context.Cause(ctx), term.Restore(fd, state))
	}
}
