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

	"glossa/pkg/app"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/publish"
)

var publishUsage = "SOURCE [--name N] --checkpoints DIR|s3://BUCKET/PREFIX [--quant " + strings.Join(packFormats, "|") + "] [--new]"

// publishOptions holds the command line of publish.
type publishOptions struct {
	source, dir, base string // SOURCE, its directory and its base name
	checkpoints       string
	quant             string
	upload            publish.Upload
}

// publishModel packs a model and stores it where models are served from, with the AWS
// account that the AWS CLI would use.
func publishModel(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	p := &publishOptions{}
	f := flags("publish", publishUsage, stdout)
	f.StringVar(&p.upload.Name, "name", "", "`name` of the model (default SOURCE's)")
	f.StringVar(&p.checkpoints, "checkpoints", "", "directory, or s3://bucket/prefix, of models (GLOSSA_CHECKPOINTS)")
	f.StringVar(&p.quant, "quant", "", "`format` of the weights: "+strings.Join(packFormats, ", ")+" (default f32 of Alpha's runs, else q8_0; a packed model has its own)")
	f.BoolVar(&p.upload.New, "new", false, "fail if a model of this name exists")
	source, err := parseNamed(f, args)
	if err != nil {
		return err
	}
	cfg, err := environment()
	if err != nil {
		return err
	}
	cfg.Checkpoints = cmp.Or(p.checkpoints, cfg.Checkpoints)
	if err := p.complete(source, cfg.Checkpoints); err != nil {
		return err
	}
	return p.run(ctx, cfg, stdout, stderr)
}

// complete checks the arguments before anything is read.
func (p *publishOptions) complete(source, checkpoints string) error {
	switch {
	case source == "":
		return fmt.Errorf("%w: which model?", errUsage)
	case checkpoints == "":
		return fmt.Errorf("%w: where to? --checkpoints names a directory or s3://BUCKET/PREFIX", errUsage)
	case p.quant != "" && !slices.Contains(packFormats, p.quant):
		return fmt.Errorf("%w: --quant: %q is not one of %s", errUsage, p.quant, strings.Join(packFormats, ", "))
	}
	full, err := filepath.Abs(source)
	if err != nil {
		return err
	}
	p.source, p.dir, p.base = full, filepath.Dir(full), filepath.Base(full)
	p.upload.Name = cmp.Or(p.upload.Name, strings.TrimSuffix(strings.TrimSuffix(p.base, ".gguf"), checkpoint.PackSuffix))
	p.upload.Quant = p.quant
	if err := publish.CheckName(p.upload.Name); err != nil {
		return fmt.Errorf("%w: %w: choose another with --name", errUsage, err)
	}
	return nil
}

// run publishes the model. Parts sent before an interruption are not sent again.
func (p *publishOptions) run(ctx context.Context, cfg app.Config, out, notes io.Writer) (err error) {
	store, err := app.OpenStore(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	store.Resume = true
	bar, size := newBar(notes), int64(0)
	p.upload.Progress = func(done, total int64) {
		bar.show(packProgress{done, total}, time.Now())
		size = total
	}
	err = p.put(ctx, store)
	bar.end()
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("%w: run the same command to resume", err)
		}
		return err
	}
	_, err = fmt.Fprintf(out, "%s: %s of weights in %s\n", p.upload.Name, megabytes(size), strings.TrimSuffix(cfg.Checkpoints, "/"))
	return err
}

// put publishes the source as its kind requires: a run of Alpha, a packed model or
// another model.
func (p *publishOptions) put(ctx context.Context, store *publish.Store) error {
	fsys := os.DirFS(p.dir)
	run, file, err := publish.ReadRun(fsys, p.base)
	if err == nil {
		run.Name, run.Quant, run.New, run.Progress = p.upload.Name, p.upload.Quant, p.upload.New, p.upload.Progress
		return errors.Join(store.Put(ctx, run), file.Close())
	}
	isPack, _ := checkpoint.IsPack(fsys, p.base) // an unreadable file is not a pack
	if isPack {
		return p.putPack(ctx, store)
	}
	m, err := arch.OpenAny(fsys, p.base)
	if err != nil {
		return err
	}
	return errors.Join(store.PutModel(ctx, p.upload, m), m.Close())
}

// putPack publishes a packed model as it is.
func (p *publishOptions) putPack(ctx context.Context, store *publish.Store) error {
	f, err := os.Open(p.source)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil {
		p.upload.Checkpoint, p.upload.Size = f, info.Size()
		err = store.Put(ctx, p.upload)
	}
	return errors.Join(err, f.Close())
}
