package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"glossa/pkg/bench"
	"glossa/pkg/bench/quoting"
	"glossa/pkg/catalog"
	"glossa/pkg/engine/dtype"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// benchOptions holds the command line of bench.
type benchOptions struct {
	model          string // a file; "": shapes
	shapes, quants []string
	kv             string // "": that of a record without one
	config         bench.Config
	speculate      bool
	draft          string // a draft model for that of the file
	prefix         int    // tokens; 0: not measured
	contexts       []int  // numbers of tokens of prompts
	json           bool
	save           string
}

// benchCommand returns glossa bench.
func (p *program) benchCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "bench [MODEL]", Short: "Measure how fast models compute", Args: positional(0, "MODEL"),
		Long: `Measure how fast a model, or built-in shapes with random weights, compute
prompts and generate text.

OF LIMIT is the share of the machine's limit. The limit is the shortest time
that a pass can take: that of reading the model's weights from memory once or
that of its multiplications, whichever is longer. Both speeds are measured
with the same threads and instructions before and after each measurement, and
the highest ones count, those of the measurements themselves included.

With --speculate, tasks that quote their prompt are answered with and without
drafts in turn: PLAIN is one token in a pass, DRAFTING several where that is
faster. RATIO is the median of the ratios of neighbouring measurements. DRAFT is
text for drafts from the prompt and the answer; shapes also answer the last task
with a draft model that is right in that percentage of tokens, and a MODEL with
that of --draft.

With --prefix, the first token of an answer is measured after a prompt of that
number of tokens and a few more: COMPUTED, with the beginning FROM DIRECTORY as
after a restart with glossa serve --prefixes, and FROM MEMORY.

With --context, prompts of some lengths are read in turn, in passes of 64
tokens as a server reads them, and text is generated after each. RATIO is the
share of the speed with the first length.`,
		Example: `  glossa bench
  glossa bench runs/mine --quant q8_0,f32
  glossa bench --shape gpt2-124m --threads 1,2,4 --json
  glossa bench --speculate
  glossa bench --prefix 1500 --shape gpt2-124m
  glossa bench --context 128,512,2000,8000 --shape llama3.2-1b --kv q8`,
	}
	b := &benchOptions{}
	f := c.Flags()
	shapes := f.String("shape", "", "`names` of built-in shapes, with random weights: "+strings.Join(bench.Shapes(), ", ")+" (default all)")
	quants := f.String("quant", "", "`names` of weight formats: "+strings.Join(dtype.Options(), ", ")+", stored (default "+dtype.Q8_0.Option()+"; for a MODEL stored)")
	f.StringVar(&b.kv, "kv", "", "`format` of keys and values: "+strings.Join(catalog.KVs(), ", ")+" (default that of a record without \"kv\")")
	threads := f.String("threads", defaultThreads(runtime.GOMAXPROCS(0)), "`numbers` of threads")
	batches := f.String("batch", "1", "`numbers` of rows that are computed in one pass")
	f.IntVar(&b.config.Prefill, "prefill", 128, "tokens of the prompt; 0: do not measure prompts")
	f.IntVar(&b.config.Decode, "decode", 64, "tokens generated after a prompt of 16; 0: do not measure generation")
	f.IntVar(&b.config.Repeat, "repeat", 5, "measurements; the median is shown")
	f.BoolVar(&b.speculate, "speculate", false, "measure tasks that quote their prompt, with and without drafts (default shapes "+strings.Join(quoting.Shapes(), ", ")+")")
	f.StringVar(&b.draft, "draft", "", "directory or `file` of a draft model for a MODEL, with --speculate")
	f.IntVar(&b.prefix, "prefix", 0, "measure the first token after a known beginning of this number of `tokens`; 0: do not")
	f.IntSliceVar(&b.contexts, "context", nil, "measure prompts of these `numbers` of tokens, and generation after each")
	f.BoolVar(&b.json, "json", false, "print one JSON object per line")
	f.StringVar(&b.save, "save", "", "write the weights of one shape, or of one MODEL of GPT-2's architecture, in one format to a GGUF `file`, and measure them")
	completeWords(c, "shape", bench.Shapes()...)
	completeWords(c, "kv", catalog.KVs()...)
	completeWords(c, "quant", append(dtype.Options(), "stored")...)
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if b.model = first(args); b.model != "" {
			*quants = cmp.Or(*quants, "stored")
		}
		b.shapes, b.quants = strings.Split(cmp.Or(*shapes, strings.Join(b.known(), ",")), ","), strings.Split(cmp.Or(*quants, dtype.Q8_0.Option()), ",")
		if b.config.Threads, err = numbers("threads", *threads); err != nil {
			return err
		}
		if b.config.Batches, err = numbers("batch", *batches); err != nil {
			return err
		}
		if err := b.check(); err != nil {
			return err
		}
		b.config.KV = transformer.KVFormats()[b.kv]
		if b.config.Kernels, err = p.kernels(); err != nil {
			return err
		}
		if len(b.contexts) > 0 {
			return b.measureContexts(c.Context(), p.stdout)
		}
		if b.prefix > 0 {
			return b.measureKnown(c.Context(), p.stdout)
		}
		if b.speculate {
			return b.measureQuoting(c.Context(), p.stdout)
		}
		return b.measure(c.Context(), p.stdout)
	}
	return c
}

// first returns the first argument, "" if there is none.
func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// measure prints how fast models compute.
func (b *benchOptions) measure(ctx context.Context, w io.Writer) error {
	print := printerOf(b, w, b.tablePrinter(w))
	if err := b.eachModel(func(m *bench.Model) error { return b.run(ctx, m, print) }); err != nil || b.json || b.model == "" {
		return err
	}
	return b.printFirstToken(w)
}

// eachModel calls do with the model of a file, or with each shape.
func (b *benchOptions) eachModel(do func(m *bench.Model) error) error {
	if b.model != "" {
		m, err := bench.Open(b.model)
		if err != nil {
			return err
		}
		return errors.Join(do(m), m.Close())
	}
	for _, name := range b.shapes {
		m, err := bench.Random(name)
		if err == nil {
			err = do(m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// printerOf returns a function that prints results as lines of JSON, if these are wanted, or else as table does.
func printerOf[T any](b *benchOptions, w io.Writer, table func(T) error) func(T) error {
	if !b.json {
		return table
	}
	lines := json.NewEncoder(w)
	return func(r T) error { return lines.Encode(r) }
}

// known returns the shapes that can be measured.
func (b *benchOptions) known() []string {
	if b.speculate {
		return quoting.Shapes()
	}
	return bench.Shapes()
}

// check validates the arguments before the measurements begin.
func (b *benchOptions) check() error {
	for _, name := range b.shapes {
		if known := b.known(); !slices.Contains(known, name) {
			return usagef("--shape: %q must be %s", name, strings.Join(known, ", "))
		}
	}
	for _, name := range b.quants {
		if _, ok := transformer.Formats()[name]; !ok || name == "stored" && b.model == "" {
			return usagef("--quant: %q must be %s or, for a MODEL, stored", name, strings.Join(dtype.Options(), ", "))
		}
	}
	if b.kv != "" && !slices.Contains(catalog.KVs(), b.kv) {
		return usagef("--kv: %q must be %s", b.kv, strings.Join(catalog.KVs(), ", "))
	}
	if err := b.checkTogether(); err != nil {
		return err
	}
	if _, err := os.Stat(b.model); b.model != "" && errors.Is(err, fs.ErrNotExist) {
		hint := "--shape measures built-in shapes"
		if slices.Contains(bench.Shapes(), b.model) {
			hint = "did you mean --shape " + b.model + "?"
		}
		return usagef("%q does not exist: MODEL is the directory or file of a model; %s", b.model, hint)
	}
	return nil
}

// checkTogether validates numbers, and flags that need or exclude others.
func (b *benchOptions) checkTogether() error {
	oneRow := slices.Equal(b.config.Batches, []int{1})
	switch {
	case b.config.Prefill < 0 || b.config.Decode < 0 || b.config.Repeat < 1:
		return usagef("--prefill and --decode must not be negative, --repeat must be positive")
	case len(b.contexts) > 0 && (slices.Min(b.contexts) < 1 || b.config.Decode < 1 || b.prefix > 0 || b.speculate || b.save != "" || !oneRow):
		return usagef("--context takes positive numbers of tokens; it needs --decode and --batch 1, and excludes --prefix, --speculate and --save")
	case b.prefix < 0 || b.prefix > 0 && (b.save != "" || b.speculate || !oneRow):
		return usagef("--prefix must not be negative; it needs --batch 1, and excludes --speculate and --save")
	case b.draft != "" && (!b.speculate || b.model == ""):
		return usagef("--draft needs a MODEL and --speculate")
	case b.speculate && (b.save != "" || !oneRow):
		return usagef("--speculate needs --batch 1, and excludes --save")
	case b.save != "" && (b.model == "" && len(b.shapes) != 1 || len(b.quants) != 1 || b.quants[0] == "stored"):
		return usagef("--save needs one MODEL or --shape, and one --quant other than stored")
	}
	return nil
}

// run saves a model if --save is set, and measures it in every format.
func (b *benchOptions) run(ctx context.Context, m *bench.Model, print func(bench.Result) error) error {
	if b.save != "" {
		if err := saveModel(m, b.save, transformer.Formats()[b.quants[0]]); err != nil {
			return err
		}
	}
	if b.config.Prefill == 0 && b.config.Decode == 0 {
		return nil
	}
	for _, quant := range b.quants {
		cfg := b.config
		cfg.Format = transformer.Formats()[quant]
		for r, err := range bench.Run(ctx, m, cfg) {
			if err == nil {
				err = print(r)
			}
			if err != nil {
				return err
			}
		}
		runtime.GC() // free the weights before the next ones are loaded
	}
	return nil
}

// saveModel writes a file and removes it on failure.
func saveModel(m *bench.Model, name string, format transformer.Format) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := errors.Join(m.Save(file, format), file.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}

// printFirstToken prints the time from opening a model to its first token, in the first format.
func (b *benchOptions) printFirstToken(w io.Writer) error {
	cfg := b.config
	cfg.Format = transformer.Formats()[b.quants[0]]
	took, err := bench.FirstToken(b.model, cfg)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\nfrom the file to the first token, tokenizer and all: %.3f s\n", took.Seconds())
	return err
}

// tablePrinter returns a function that prints results as a table with a heading.
func (b *benchOptions) tablePrinter(w io.Writer) func(bench.Result) error {
	begun := false
	return func(r bench.Result) error {
		if !begun {
			begun = true
			fmt.Fprintf(w, "%s kernels, %s/%s, %d processors; medians of %d\n", b.config.Kernels.Name(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), b.config.Repeat)
			fmt.Fprint(w, "limit: the time to read the weights once or to multiply them, whichever is longer, at the highest speeds seen here\n\n")
			fmt.Fprintf(w, "%-20s %-6s %7s %5s  %-8s %10s  %8s  %s\n", "SHAPE", "QUANT", "THREADS", "BATCH", "PHASE", "TOKENS/S", "OF LIMIT", "MACHINE")
		}
		share, machine := "-", "-"
		if r.LimitFraction != nil {
			share = fmt.Sprintf("%.0f %%", 100**r.LimitFraction)
			machine = fmt.Sprintf("reads %.1f GB/s, computes %.0f GOP/s", r.Limit.Bandwidth/1e9, r.Limit.Operations/1e9)
		}
		_, err := fmt.Fprintf(w, "%-20s %-6s %7d %5d  %-8s %10s  %8s  %s\n", r.Shape, r.Quant, r.Threads, r.Batch, r.Phase, speed(r.TokensPerSecond), share, machine)
		return err
	}
}

// speed formats a number of tokens per second.
func speed(v float64) string {
	if v < 1000 {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// kernels returns the kernels that the settings select.
func (p *program) kernels() (*kernel.Kernels, error) {
	cfg, err := p.environment()
	if err != nil {
		return nil, err
	}
	if cfg.Kernel == "" {
		return kernel.Best(), nil
	}
	return kernel.ByName(cfg.Kernel)
}

// defaultThreads returns one thread and as many threads as processors.
func defaultThreads(processors int) string {
	if processors == 1 {
		return "1"
	}
	return fmt.Sprintf("1,%d", processors)
}

// numbers parses a list of positive numbers, separated by commas.
func numbers(flag, text string) (list []int, err error) {
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 || n > 4096 {
			return nil, usagef("--%s: %q must be an integer from 1 to 4096", flag, part)
		}
		list = append(list, n)
	}
	return list, nil
}
