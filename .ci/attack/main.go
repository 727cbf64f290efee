// Command attack attacks the built server as hostile clients would: floods, bombs,
// schemas that are hard to compile, web pages of other origins, wrong passwords, forged
// records. Each attack is limited in requests and in time, and runs against a new server on
// loopback. Meanwhile a bystander, another principal, requests one token after the other. A
// row of the table shows the answers of both, and the server's resources.
//
// It knows the server's command line, its HTTP routes and Linux's /proc, but not its
// packages. An attack's expectations are in its literal; verdict.go holds the common ones.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	glossa := flag.String("glossa", "bin/glossa", "the built `program`")
	list := flag.Bool("list", false, "list the attacks and run none")
	verbose := flag.Bool("v", false, "print a sample of each kind of answer")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: attack [-glossa FILE] [-list] [-v] [NAME...]\n\nNAME is an attack, such as fair/rows, or a group of them, such as fair.")
		flag.PrintDefaults()
	}
	flag.Parse()
	chosen, err := choose(attacks(), flag.Args())
	if err == nil && !*list {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		err = run(ctx, *glossa, chosen, *verbose, os.Stdout)
		stop()
	}
	if *list {
		for _, a := range chosen {
			fmt.Printf("%-24s %s\n", a.name, a.about)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "attack:", err)
		os.Exit(1)
	}
}

// attacks lists all attacks, in the order of the points.
func attacks() []attack {
	return slices.Concat(fairAttacks(), promptAttacks(), imageAttacks(), formAttacks(), panicAttacks(), uploadAttacks(),
		browserAttacks(), loginAttacks(), recordAttacks())
}

// choose returns the attacks of the given names and groups; all, if none is given.
func choose(all []attack, names []string) ([]attack, error) {
	if len(names) == 0 {
		return all, nil
	}
	var chosen []attack
	for _, name := range names {
		n := len(chosen)
		for _, a := range all {
			if a.name == name || strings.HasPrefix(a.name, name+"/") {
				chosen = append(chosen, a)
			}
		}
		if n == len(chosen) {
			return nil, fmt.Errorf("unknown attack or group %q: -list shows them", name)
		}
	}
	return chosen, nil
}

// run runs attacks in turn and prints a row for each, then the failures.
func run(ctx context.Context, glossa string, chosen []attack, verbose bool, out io.Writer) error {
	began := time.Now()
	calm, err := newCalm(ctx, glossa)
	if err != nil {
		return err
	}
	defer calm.close()
	printHead(out)
	var failed []row
	for _, a := range chosen {
		r, err := a.stage(ctx, glossa, calm.bystander)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		if err := ctx.Err(); err != nil {
			return errors.New("interrupted")
		}
		printRow(out, r)
		if verbose {
			printSamples(out, r)
		}
		if r.tooSlow() { // perhaps because of the machine's other work: a second time is not by chance
			if r, err = a.stage(ctx, glossa, calm.bystander); err != nil {
				return fmt.Errorf("%s: %w", a.name, err)
			}
			printRow(out, r)
		}
		if len(r.failures) > 0 {
			failed = append(failed, r)
		}
	}
	printEnd(out, failed, len(chosen), time.Since(began))
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d attacks succeed", len(failed), len(chosen))
	}
	return nil
}
