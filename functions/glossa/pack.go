package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/dtype"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/fit"
	"glossa/pkg/publish"
)

// packFormats are the formats that models are packed in, the default first.
var packFormats = []string{publish.DefaultQuant, dtype.Q8W.Option(), dtype.Q6K.Option(), dtype.Q4K.Option(), dtype.Q4_0.Option(), dtype.BF16.Option(), dtype.F32.Option(), publish.StoredQuant}

// precision describes the default of --quant of glossa pack and glossa publish.
const precision = `Quantised weights of a GGUF file stay as they are. Others are stored in q8_0,
8 bits each with a scale for every 32. It halves the memory of bf16, and texts
hardly differ. q8_128 has a scale for every 128, which embeds texts faster. q6_k
and q4_k, which take longer to find their scales, have 6.6 and 4.6 bits, and
lose less than q4_0. f32 keeps every bit of the source.`

// heads is about --head.
const heads = `

The head, which multiplies every token with the whole vocabulary, is in q8_0
where the weights are in q4_0, and in q6_k where they are in q4_k, as rounding
costs it more. A small model reads most of its bytes for it: --head q4_k.`

// packDefault is the default of --quant.
const packDefault = publish.StoredQuant + " if they are quantised, else " + publish.DefaultQuant

// packOptions holds the command line of pack.
type packOptions struct {
	source, file, quant, head string
	name                      string // of the source, without a suffix
}

// packCommand returns glossa pack.
func (p *program) packCommand() *cobra.Command {
	o := &packOptions{}
	c := &cobra.Command{
		Use: "pack SOURCE", Short: "Write a model as one file that loads without conversion", Args: positional(1, "SOURCE"),
		Long: `Write a training run, a directory of the hub or a GGUF file as one safetensors
file that loads without conversion.

` + precision + heads,
		Example: `  glossa pack checkpoints/pythia-160m
  glossa pack runs/mine -o models/mine.safetensors --quant f32`,
	}
	c.Flags().StringVarP(&o.file, "output", "o", "", "`file` to write, whose directory is created; an existing packed model is replaced (default SOURCE's name and the format)")
	c.Flags().StringVar(&o.quant, "quant", "", "`format` of the weights: "+strings.Join(packFormats, ", ")+" (default "+packDefault+")")
	c.Flags().StringVar(&o.head, "head", "", "`format` of the embedding and the head, one of those of --quant (default as above)")
	completeWords(c, "quant", packFormats...)
	completeWords(c, "head", packFormats...)
	c.RunE = func(c *cobra.Command, args []string) error {
		o.source = args[0]
		if err := o.complete(); err != nil {
			return err
		}
		if err := p.checkSource(args[0]); err != nil {
			return err
		}
		return o.run(c.Context(), p)
	}
	return c
}

// checkSource returns an error if a model to pack does not exist. It names the directory of a
// downloaded model of that name.
func (p *program) checkSource(source string) error {
	_, err := os.Stat(source)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if dir := p.existingHome(); dir != "" && filepath.IsLocal(source) {
		if _, err := os.Stat(filepath.Join(dir, source)); err == nil {
			return fmt.Errorf("%s does not exist here: the model of glossa pull is %s", source, filepath.Join(dir, source))
		}
	}
	return fmt.Errorf("%s does not exist: name a training run, a directory of the hub, a GGUF file or a packed model", source)
}

// complete checks the arguments before anything is read.
func (o *packOptions) complete() error {
	for _, f := range []struct{ flag, format string }{{"--quant", o.quant}, {"--head", o.head}} {
		if f.format != "" && !slices.Contains(packFormats, f.format) {
			return usagef("%s: %q must be %s", f.flag, f.format, strings.Join(packFormats, ", "))
		}
	}
	full, err := filepath.Abs(o.source)
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(full), ".gguf"), checkpoint.PackSuffix)
	o.source, o.name = full, name
	if o.file != "" && !strings.HasSuffix(o.file, checkpoint.PackSuffix) {
		return usagef("--output: %q must end in %s, which other programs expect of such files", o.file, checkpoint.PackSuffix)
	}
	return nil
}

// choose sets the format and the file of m where the command line does not, and refuses to
// replace a file that is not a packed model.
func (o *packOptions) choose(m *arch.Model) error {
	o.quant = publish.Quant(o.quant, m)
	if o.quant != publish.StoredQuant || !strings.HasSuffix(o.source, ".gguf") { // whose name has its format
		o.name += "-" + o.quant
	}
	if o.head != "" {
		o.name += "-head-" + o.head
	}
	o.file = cmp.Or(o.file, o.name+checkpoint.PackSuffix)
	dir, base := filepath.Split(o.file)
	packed, _ := checkpoint.IsPack(os.DirFS(filepath.Clean(dir+".")), base) // an unreadable file is not a pack
	if _, err := os.Lstat(o.file); err == nil && !packed {
		return fmt.Errorf("%s exists and is not a packed model: it is not replaced", o.file)
	}
	return nil
}

// format returns the chosen format, after choose.
func (o *packOptions) format() transformer.Format {
	format := transformer.Formats()[o.quant]
	if o.head != "" {
		format = format.WithHead(transformer.Formats()[o.head])
	}
	return format
}

// run writes the file under a temporary name first, so that no partial model appears.
func (o *packOptions) run(ctx context.Context, p *program) (err error) {
	m, err := arch.OpenAny(os.DirFS(filepath.Dir(o.source)), filepath.Base(o.source))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	if err := o.choose(m); err != nil {
		return err
	}
	k, err := p.kernels()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(o.file), 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(o.file), "."+filepath.Base(o.file)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // already renamed on success
	bar, size := newBar(p.stderr), int64(0)
	err = arch.Pack(file, m, k, o.format(), func(done, total int64) error {
		bar.show(packProgress{done, total}, time.Now())
		size = total
		return context.Cause(ctx)
	})
	bar.end()
	if err = errors.Join(err, file.Chmod(0o644), file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), o.file); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "%s: %s, %d weights in %v of %s: glossa serve --checkpoints %s\n",
		o.file, m.Name(), m.Weights.Elements(), o.format(), fit.Bytes(size), filepath.Dir(o.file))
	return err
}

// packProgress is the progress of pack in bytes.
type packProgress struct{ done, total int64 }

func (p packProgress) share() float64 { return float64(p.done) / float64(max(1, p.total)) }

// String formats the progress.
func (p packProgress) String() string {
	return fmt.Sprintf("%s of %s", fit.Bytes(p.done), fit.Bytes(p.total))
}
