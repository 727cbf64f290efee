// Command glossa serves language models and holds the operator's commands, one file
// each. It is the only program that contains the starter models.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Exit statuses.
const (
	exitFailure = 1
	exitUsage   = 2
)

// A program is one run of the command.
type program struct {
	args           []string
	stdin          io.Reader
	stdout, stderr io.Writer
	settings       settings
	unwritten      error // of the help, whose functions return none
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run runs a command, prints its error and returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	path, err := execute(ctx, args, stdin, stdout, stderr)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		fmt.Fprintf(stderr, "%s: %v\nRun '%s --help' for usage.\n", path, err, path)
		return exitUsage
	}
	fmt.Fprintf(stderr, "%s: %v\n", path, err)
	return exitFailure
}

// execute runs a command and returns its full name, such as "glossa models add".
func execute(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (path string, err error) {
	p := &program{args: args, stdin: stdin, stdout: stdout, stderr: stderr}
	root := p.root()
	root.SetArgs(append([]string{}, args...)) // cobra reads the process's arguments if they are nil
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	c, err := root.ExecuteContextC(ctx)
	return c.CommandPath(), cmp.Or(err, p.unwritten)
}
