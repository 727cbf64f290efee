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

	"github.com/spf13/cobra"

	"glossa/pkg/app"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/fit"
	"glossa/pkg/publish"
)

// publishOptions holds the command line of publish.
type publishOptions struct {
	source, dir, base string // SOURCE, its directory and its base name
	checkpoints       string
	quant             string
	upload            publish.Upload
}

// publishCommand returns glossa publish, which uses the AWS account that the AWS CLI would use.
func (p *program) publishCommand() *cobra.Command {
	o := &publishOptions{}
	c := &cobra.Command{
		Use: "publish SOURCE", Short: "Pack a model and store it where models are served from", Args: positional(1, "SOURCE"),
		Long: `Pack a model and store it in a directory or in S3, from where glossa serve and
the functions serve it. The same command resumes an interrupted upload.

` + precision + `
A packed model is stored as it is. A model of the same name is replaced, also
one of several files; --new refuses that.`,
		Example: `  glossa publish runs/mine --checkpoints s3://bucket/models
  glossa publish checkpoints/pythia-160m --name pythia --checkpoints models`,
	}
	f := c.Flags()
	f.StringVar(&o.upload.Name, "name", "", "`name` of the model (default SOURCE's)")
	f.StringVar(&o.checkpoints, "checkpoints", "", "`directory` of models, or s3://bucket/prefix")
	f.StringVar(&o.quant, "quant", "", "`format` of the weights: "+strings.Join(packFormats, ", ")+" (default "+packDefault+")")
	f.BoolVar(&o.upload.New, "new", false, "fail if a model of this name exists")
	withVariables(f, "checkpoints")
	completeWords(c, "quant", packFormats...)
	c.RunE = func(c *cobra.Command, args []string) error {
		cfg, err := p.environment()
		if err != nil {
			return err
		}
		cfg.Checkpoints = cmp.Or(o.checkpoints, cfg.Checkpoints)
		if err := o.complete(args[0], cfg.Checkpoints); err != nil {
			return err
		}
		if err := p.checkSource(args[0]); err != nil {
			return err
		}
		return o.run(c.Context(), cfg, p.stdout, p.stderr)
	}
	return c
}

// complete checks the arguments before anything is read.
func (p *publishOptions) complete(source, checkpoints string) error {
	switch {
	case checkpoints == "":
		return usagef("no place for the model: pass --checkpoints DIR or s3://BUCKET/PREFIX, or set GLOSSA_CHECKPOINTS")
	case p.quant != "" && !slices.Contains(packFormats, p.quant):
		return usagef("--quant: %q must be %s", p.quant, strings.Join(packFormats, ", "))
	}
	full, err := filepath.Abs(source)
	if err != nil {
		return err
	}
	p.source, p.dir, p.base = full, filepath.Dir(full), filepath.Base(full)
	p.upload.Name = cmp.Or(p.upload.Name, strings.TrimSuffix(strings.TrimSuffix(p.base, ".gguf"), checkpoint.PackSuffix))
	p.upload.Quant = p.quant
	if err := publish.CheckName(p.upload.Name); err != nil {
		return usagef("%w: choose another with --name", err)
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
	other, err := store.HasOther(ctx, p.upload.Name)
	if err == nil {
		err = p.put(ctx, store)
	}
	bar.end()
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("%w: run the same command to resume", err)
		}
		return err
	}
	if other {
		fmt.Fprintf(notes, "the earlier files of %s, which were not a packed model, are deleted\n", p.upload.Name)
	}
	_, err = fmt.Fprintf(out, "%s: %s of weights in %s\n", p.upload.Name, fit.Bytes(size), strings.TrimSuffix(cfg.Checkpoints, "/"))
	return err
}

// put publishes the source as its kind requires: a run of Alpha, a packed model or
// another model.
func (p *publishOptions) put(ctx context.Context, store *publish.Store) error {
	fsys := os.DirFS(p.dir)
	run, file, err := publish.ReadRun(fsys, p.base)
	if err == nil {
		run.Name, run.Quant, run.New, run.Progress = p.upload.Name, cmp.Or(p.upload.Quant, publish.DefaultQuant), p.upload.New, p.upload.Progress
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
