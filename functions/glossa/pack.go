package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/dtype"
	"glossa/pkg/engine/transformer"
)

var packUsage = "SOURCE [-o FILE.safetensors] [--quant " + strings.Join(packFormats, "|") + "]"

// packFormats are the formats that models are packed in, the default first.
var packFormats = []string{dtype.Q8_0.Option(), dtype.Q4_0.Option(), dtype.BF16.Option(), dtype.F32.Option()}

// packOptions holds the command line of pack.
type packOptions struct {
	source, file, quant string
}

// pack writes a model as one file that loads without conversion.
func pack(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	p := &packOptions{}
	f := flags("pack", packUsage, stdout)
	f.StringVar(&p.file, "o", "", "`file` to write; an existing packed model is replaced (default SOURCE's name and the format)")
	f.StringVar(&p.quant, "quant", packFormats[0], "`format` of the weights: "+strings.Join(packFormats, ", "))
	var err error
	if p.source, err = parseNamed(f, args); err != nil {
		return err
	}
	if err := p.complete(); err != nil {
		return err
	}
	return p.run(ctx, stdout, stderr)
}

// complete checks the arguments before anything is read.
func (p *packOptions) complete() error {
	if p.source == "" {
		return fmt.Errorf("%w: which model?", errUsage)
	}
	if !slices.Contains(packFormats, p.quant) {
		return fmt.Errorf("%w: --quant: %q is not one of %s", errUsage, p.quant, strings.Join(packFormats, ", "))
	}
	full, err := filepath.Abs(p.source)
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(full), ".gguf"), checkpoint.PackSuffix)
	p.source, p.file = full, cmp.Or(p.file, name+"-"+p.quant+checkpoint.PackSuffix)
	if !strings.HasSuffix(p.file, checkpoint.PackSuffix) {
		return fmt.Errorf("%w: -o: %q does not end in %s, which other programs expect of such files", errUsage, p.file, checkpoint.PackSuffix)
	}
	dir, base := filepath.Split(p.file)
	packed, _ := checkpoint.IsPack(os.DirFS(filepath.Clean(dir+".")), base) // an unreadable file is not a pack
	if _, err := os.Lstat(p.file); err == nil && !packed {
		return fmt.Errorf("%s exists and is not a packed model: it is not replaced", p.file)
	}
	return nil
}

// run writes the file under a temporary name first, so that no partial model appears.
func (p *packOptions) run(ctx context.Context, out, notes io.Writer) (err error) {
	m, err := arch.OpenAny(os.DirFS(filepath.Dir(p.source)), filepath.Base(p.source))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	k, err := benchKernels()
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(p.file), "."+filepath.Base(p.file)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // already renamed on success
	bar, size := newBar(notes), int64(0)
	err = arch.Pack(file, m, k, transformer.Formats()[p.quant], func(done, total int64) error {
		bar.show(packProgress{done, total}, time.Now())
		size = total
		return context.Cause(ctx)
	})
	bar.end()
	if err = errors.Join(err, file.Chmod(0o644), file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), p.file); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s: %s, %d weights in %s of %s: glossa serve --checkpoints %s\n",
		p.file, m.Name(), m.Weights.Elements(), p.quant, megabytes(size), filepath.Dir(p.file))
	return err
}

// packProgress is the progress of pack in bytes.
type packProgress struct{ done, total int64 }

func (p packProgress) share() float64 { return float64(p.done) / float64(max(1, p.total)) }

// String formats the progress.
func (p packProgress) String() string {
	return fmt.Sprintf("%s of %s", megabytes(p.done), megabytes(p.total))
}
