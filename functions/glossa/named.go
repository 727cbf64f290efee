package main

import (
	"flag"
	"fmt"
	"strings"
)

// parseNamed reads args into f with one argument that is no flag, before the flags
// or after them; "" if there is none.
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
	return "", fmt.Errorf("%w: %q is one too many", errUsage, f.Arg(0))
}
