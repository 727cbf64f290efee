package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// errUsage marks errors of the command line; run shows the usage with them.
var errUsage = errors.New("wrong arguments")

// flags returns the flag set of a command; -h prints usage and the flags to w.
func flags(name, usage string, w io.Writer) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(w)
	f.Usage = func() {
		fmt.Fprintf(w, "usage: glossa %s %s\n\n", name, usage)
		f.PrintDefaults()
	}
	return f
}

// parse reads args into f. It rejects arguments that are not flags, unless rest is true.
func parse(f *flag.FlagSet, args []string, rest bool) error {
	out := f.Output()
	usage := f.Usage
	f.SetOutput(io.Discard) // run prints the error, once
	f.Usage = func() {}
	err := f.Parse(args)
	f.SetOutput(out)
	switch {
	case errors.Is(err, flag.ErrHelp):
		usage()
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", errUsage, err)
	case !rest && f.NArg() > 0:
		return fmt.Errorf("%w: %q is not a flag", errUsage, f.Arg(0))
	}
	return nil
}

// help prints the table of commands.
func help(w io.Writer) int {
	fmt.Fprint(w, "usage: glossa COMMAND [ARGS], with -h for the arguments of a command\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-8s %s\n", c.name, c.summary)
	}
	return 0
}

// parseNamed reads args into f and returns one argument that is not a flag, which may
// stand before or after the flags; "" if there is none.
func parseNamed(f *flag.FlagSet, args []string) (name string, err error) {
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	}
	if err := parse(f, args, true); err != nil {
		return "", err
	}
	switch {
	case f.NArg() == 0:
		return name, nil
	case f.NArg() == 1 && name == "":
		return f.Arg(0), nil
	}
	return "", fmt.Errorf("%w: %q: one argument too many", errUsage, f.Arg(0))
}
