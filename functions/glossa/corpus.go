package main

import (
	"bufio"
	"strings"

	"github.com/spf13/cobra"

	"glossa/pkg/starter/corpus"
)

// corpusCommand returns glossa corpus, which writes the training text of a starter model.
func (p *program) corpusCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "corpus " + strings.Join(corpus.Names(), "|"), Short: "Write the training text of a starter model", Args: positional(1, "NAME"),
		Example: "  glossa corpus novels --bytes 6000000 > novels.txt", ValidArgs: corpus.Names(),
	}
	seed := c.Flags().Uint64("seed", 1, "the same seed gives the same text")
	size := c.Flags().Int("bytes", 1_000_000, "approximate size in bytes; the last passage is complete")
	c.RunE = func(_ *cobra.Command, args []string) error {
		if *size < 1 {
			return usagef("--bytes: %d must be positive", *size)
		}
		text, err := corpus.Text(args[0], *seed, *size)
		if err != nil {
			return usageError{err}
		}
		w := bufio.NewWriter(p.stdout)
		w.WriteString(text) // Flush returns its error
		return w.Flush()
	}
	return c
}
