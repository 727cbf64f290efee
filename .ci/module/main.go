// Command module renames the module: the path in go.mod, in imports, and in the names of
// packages in comments and documents. It knows Go's syntax and nothing of glossa.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	root := flag.String("root", ".", "the `directory` of the module")
	check := flag.Bool("check", false, "rename in a copy, build and test it, and install the command from it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := fmt.Errorf("usage: module PATH, or module -check")
	switch {
	case *check && flag.NArg() == 0:
		err = try(ctx, *root, os.Stdout)
	case !*check && flag.NArg() == 1:
		err = rename(*root, flag.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "module:", err)
		os.Exit(1)
	}
}
