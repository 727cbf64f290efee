package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"glossa/pkg/train"
)

// trainCommand returns glossa train.
func (p *program) trainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "train --text FILE --out DIR", Short: "Train a model on a text", Args: positional(0),
		Long: `Train a model on a text and keep the run in a directory. The same command
resumes a run that Ctrl-C or power loss stopped, with the same losses.

The run has config.json, metrics.jsonl and the newest checkpoint-STEP.json. The
checkpoint is in Alpha's binary encoding, not in JSON; its name is Alpha's too.

With more --steps it continues a run, also one that is complete. The learning
rate rises over the warm-up and falls along a cosine to the last step, so from
there on it follows the schedule of the new number of steps. A complete run
has no optimiser state: its optimiser starts anew, with another warm-up.`,
		Example: `  glossa train --text mine.txt --out runs/mine
  glossa train --text mine.txt --out runs/mine --steps 4000
  cat *.txt | glossa train --text - --out runs/mine --tokenizer char`,
	}
	var c train.Config
	f := cmd.Flags()
	text := f.String("text", "", "`file` to train on, UTF-8; - is the standard input")
	out := f.String("out", "", "`directory` of the run; an existing run is resumed")
	f.StringVar(&c.Tokenizer, "tokenizer", "bpe", "bpe, char or word")
	f.StringVar(&c.Domain, "domain", "novels", "subject of the text, for listings")
	f.IntVar(&c.Steps, "steps", 2000, "optimiser steps in all; a larger number continues a run")
	f.IntVar(&c.VocabSize, "vocab", 0, "maximum size of the vocabulary; 0: 2000 for bpe, all words for word")
	f.StringSliceVar(&c.Special, "special", nil, "special `tokens` that the text spells, such as <|end|>, separated by commas")
	f.IntVar(&c.NLayer, "layers", 4, "transformer blocks")
	f.IntVar(&c.NEmbd, "embd", 128, "width of the model")
	f.IntVar(&c.NHead, "heads", 0, "attention heads; 0: one for each 32 of --embd")
	f.IntVar(&c.BlockSize, "context", 256, "context in tokens")
	f.IntVar(&c.BatchSize, "batch", 16, "windows of --context tokens in a step")
	f.Float64Var(&c.LR, "lr", 1e-3, "peak learning rate")
	f.Uint64Var(&c.Seed, "seed", 1, "the same seed gives the same losses")
	f.Float64Var(&c.ValFraction, "val", 0.05, "`share` of the text, from its end, that is held out for validation")
	completeWords(cmd, "tokenizer", "bpe", "char", "word")
	completeDirectory(cmd, "out")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := c.Check(); err != nil {
			return usageError{err}
		}
		if *text == "" || *out == "" {
			return usagef("--text and --out are required")
		}
		body, err := readText(*text, p.stdin)
		if err != nil {
			return err
		}
		return runTraining(cmd.Context(), c, body, *out, p.stdout, p.stderr)
	}
	return cmd
}

// runTraining trains with a bar on notes. A signal stops it after the current step; it
// then prints how to resume.
func runTraining(ctx context.Context, c train.Config, text, dir string, out, notes io.Writer) error {
	bar, last := newBar(notes), train.Progress{}
	var val *float64
	err := train.Run(ctx, c, text, dir, func(p train.Progress) {
		if last.Step == 0 && p.Step > 1 {
			fmt.Fprintf(notes, "resuming after step %d\n", p.Step-1)
		}
		if p.ValLoss != nil {
			val = p.ValLoss
		}
		bar.show(trainProgress{p.Step, p.Steps, p.Loss, val, p.TokensPerSecond, p.Left}, time.Now())
		last = p
	})
	bar.end()
	switch {
	case err == nil:
		_, err = fmt.Fprintf(out, "%s is trained: glossa serve --checkpoints %s\n", dir, filepath.Dir(filepath.Clean(dir)))
		return err
	case ctx.Err() == nil || !errors.Is(err, context.Cause(ctx)) || last.Step == 0:
		return err
	}
	fmt.Fprintf(notes, "step %d of %d is saved in %s: run the same command to resume\n", last.Step, last.Steps, dir)
	return fmt.Errorf("stopped: %w", context.Cause(ctx))
}

// readText returns the training text.
func readText(name string, stdin io.Reader) (string, error) {
	var b []byte
	var err error
	if name == "-" {
		b, err = io.ReadAll(stdin)
	} else {
		b, err = os.ReadFile(name)
	}
	switch {
	case err != nil:
		return "", err
	case len(b) == 0:
		return "", fmt.Errorf("%s is empty", name)
	}
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			return "", fmt.Errorf("%s: byte %d is not UTF-8", name, i)
		}
		i += size
	}
	return string(b), nil
}
