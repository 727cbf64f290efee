package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"glossa/pkg/account"
	"glossa/pkg/terminal"
)

// userCommand returns glossa user.
func (p *program) userCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "user", Short: "Add, limit, list and remove users, who get tokens for a password", Args: subcommand, RunE: needsSubcommand,
		Long: `Add, limit, list and remove the users of a file or a DynamoDB table. A user
sends a name and a password, of which only a hash is stored, to
POST /users/me/token and gets a token. The token is an API key for 24 hours:
programs send it, and the page takes it in the field "API key".`,
		Example: `  glossa user add ann@example.org --role admin --accounts accounts.json
  glossa user list --accounts accounts.json`,
	}
	c.AddCommand(p.userAddCommand(), p.userLimitCommand(), p.userListCommand(), p.userRemoveCommand())
	return c
}

// userAddCommand returns glossa user add.
func (p *program) userAddCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "add NAME", Short: "Add a user", Args: positional(1, "NAME"),
		Long: `Add a user. The password is read from the terminal, or is the first line of
the standard input.`,
		Example: "  glossa user add ann@example.org --role admin --accounts accounts.json",
	}
	role := roleFlag(c)
	return p.onAccounts(c, func(ctx context.Context, store account.Store, args []string) error {
		role, err := role()
		if err != nil {
			return err
		}
		return addUser(ctx, store, strings.ToLower(args[0]), role, p.stdin, p.stdout, p.stderr)
	})
}

// userLimitCommand returns glossa user limit.
func (p *program) userLimitCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "limit NAME", Short: "Limit the requests and tokens of a user", Args: positional(1, "NAME"),
		Example: "  glossa user limit ann@example.org --requests 10/s --accounts accounts.json",
	}
	limits := memberLimitFlags(c.Flags())
	return p.onAccounts(c, func(ctx context.Context, store account.Store, args []string) error {
		return limitNamed(ctx, store, account.User, strings.ToLower(args[0]), limits, p.stdout)
	})
}

// userListCommand returns glossa user list.
func (p *program) userListCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "list", Short: "List the users", Args: positional(0),
		Example: "  glossa user list --accounts accounts.json",
	}
	asJSON := jsonFlag(c.Flags())
	return p.onAccounts(c, func(ctx context.Context, store account.Store, _ []string) error {
		return listUsers(ctx, store, *asJSON, p.stdout)
	})
}

// userRemoveCommand returns glossa user remove.
func (p *program) userRemoveCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "remove NAME", Short: "Remove a user and end its logins", Args: positional(1, "NAME"),
		Example: "  glossa user remove ann@example.org --accounts accounts.json",
	}
	return p.onAccounts(c, func(ctx context.Context, store account.Store, args []string) error {
		return removeUser(ctx, store, strings.ToLower(args[0]), p.stdout)
	})
}

// addUser asks for the password after it has checked that the user can be added.
func addUser(ctx context.Context, store account.Store, name string, role account.Role, stdin io.Reader, stdout, stderr io.Writer) error {
	if err := account.CheckUser(name, role); err != nil {
		return usageError{err}
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

// listUsers prints the users by name.
func listUsers(ctx context.Context, store account.Store, asJSON bool, w io.Writer) error {
	list, err := store.List(ctx, account.User)
	if err != nil {
		return withHint(err)
	}
	if asJSON {
		return printJSON(w, map[string]any{"users": listedAccounts(list)})
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
		return fmt.Errorf("%w: create it with glossa user add or glossa key create", err)
	}
	return err
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
