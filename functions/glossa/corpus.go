package main

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"glossa/pkg/starter/corpus"
)

const corpusUsage = "novels|abc|chords|forms [--seed N] [--bytes N]"

// writeCorpus writes the training text of a starter model to stdout.
func writeCorpus(_ context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	f := flags("corpus", corpusUsage, stderr)
	seed := f.Uint64("seed", 1, "the same `N` gives the same text")
	size := f.Int("bytes", 1_000_000, "approximate size in bytes; the last passage is complete")
	name, err := parseNamed(f, args)
	switch {
	case err != nil:
		return err
	case name == "":
		return fmt.Errorf("%w: which text?", errUsage)
	case *size < 1:
		return fmt.Errorf("%w: --bytes must be positive, not %d", errUsage, *size)
	}
	text, err := corpus.Text(name, *seed, *size)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(stdout)
	w.WriteString(text) // Flush returns its error
	return w.Flush()
}
