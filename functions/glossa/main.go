// Command glossa serves language models and holds the operator's commands, one file
// each. It is the only program that contains the starter models.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// A command is one row of the table: glossa NAME ARGS.
type command struct {
	name, usage, summary string
	run                  func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error
}

func commands() []command {
	return []command{
		{"serve", serveUsage, "serve the models over HTTP", serve},
		{"health", healthUsage, "check that a server answers", health},
		{"models", modelsUsage, "list models and report problems; add, remove and check their records", models},
		{"chat", chatUsage, "chat with a model in the terminal", chat},
		{"train", trainUsage, "train a model on a text", trainModel},
		{"bench", benchUsage, "measure how fast models compute", measure},
		{"pull", pullUsage, "download a model from the Hugging Face hub", pull},
		{"pack", packUsage, "write a model as one file that loads without conversion", pack},
		{"publish", publishUsage, "pack a model and store it where models are served from, a directory or S3", publishModel},
		{"user", userUsage, "add, limit, list and remove users, who log in with a password", user},
		{"key", keyUsage, "create, limit, list and revoke API keys", key},
		{"corpus", corpusUsage, "write the training text of a starter model", writeCorpus},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run runs a command and returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		return help(stdout)
	}
	for _, c := range commands() {
		if c.name != args[0] {
			continue
		}
		switch err := c.run(ctx, args[1:], stdin, stdout, stderr); {
		case err == nil, errors.Is(err, flag.ErrHelp):
			return 0
		case errors.Is(err, errUsage):
			fmt.Fprintf(stderr, "glossa %s: %v\nusage: glossa %s %s\n", c.name, err, c.name, c.usage)
			return 2
		default:
			fmt.Fprintf(stderr, "glossa %s: %v\n", c.name, err)
			return 1
		}
	}
	fmt.Fprintf(stderr, "glossa: there is no command %q: glossa help lists them\n", args[0])
	return 2
}
