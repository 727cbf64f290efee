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

// packing is what the command line asks for.
type packing struct {
	source, file, quant string
}

// pack writes a model as one file that is used as it lies on the disk.
func pack(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	p := &packing{}
	f := flags("pack", packUsage, stdout)
	f.StringVar(&p.file, "o", "", "`file` to write, replaced if it is a packed model (default SOURCE's name and the format)")
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

// complete refuses what cannot be meant before anything is read.
func (p *packing) complete() error {
	if p.source == "" {
		return fmt.Errorf("%w: which model?", errUsage)
	}
	if !slices.Contains(packFormats, p.quant) {
		return fmt.Errorf("%w: --quant: %q is none of %s", errUsage, p.quant, strings.Join(packFormats, ", "))
	}
	full, err := filepath.Abs(p.source)
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(full), ".gguf"), checkpoint.PackSuffix)
	p.source, p.file = full, cmp.Or(p.file, name+"-"+p.quant+checkpoint.PackSuffix)
	if !strings.HasSuffix(p.file, checkpoint.PackSuffix) {
		return fmt.Errorf("%w: -o: %q does not end in %s, by which other programs know such files", errUsage, p.file, checkpoint.PackSuffix)
	}
	dir, base := filepath.Split(p.file)
	packed, _ := checkpoint.IsPack(os.DirFS(filepath.Clean(dir+".")), base) // what cannot be read is none
	if _, err := os.Lstat(p.file); err == nil && !packed {
		return fmt.Errorf("%s exists and is no packed model: it is left as it is", p.file)
	}
	return nil
}

// run writes the file under another name first: there is never half a model.
func (p *packing) run(ctx context.Context, out, notes io.Writer) (err error) {
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
	defer os.Remove(file.Name()) // gone already if all went well
	bar, size := newBar(notes), int64(0)
	err = arch.Pack(file, m, k, transformer.Formats()[p.quant], func(done, total int64) error {
		bar.show(packed{done, total}, time.Now())
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

// packed is a reading of a bar: bytes that are written, of all.
type packed struct{ done, total int64 }

func (p packed) share() float64 { return float64(p.done) / float64(max(1, p.total)) }

// String spells the reading out.
func (p packed) String() string {
	return fmt.Sprintf("%s of %s", megabytes(p.done), megabytes(p.total))
}
