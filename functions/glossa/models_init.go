package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"glossa/pkg/app"
	"glossa/pkg/catalog"
	"glossa/pkg/deployment"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/dtype"
	"glossa/pkg/publish"
	"glossa/pkg/starter"
)

// modelsInitCommand returns glossa models init.
func (p *program) modelsInitCommand() *cobra.Command {
	var o initOptions
	c := &cobra.Command{
		Use: "init", Short: "Fill a new table and its bucket", Args: positional(0),
		Long: `Write the built-in records to a table and, with --starters, the starter models
to the checkpoints. Existing items stay, and deleted ones stay deleted.`,
		Example: `  glossa models init --table-name glossa
  glossa models init --starters --outputs infra/cdk.out/outputs.json`,
	}
	modelFlags(c, &o.modelsOptions)
	c.Flags().StringVar(&o.outputs, "outputs", "", "`file` of outputs of cdk deploy, which names the table and the bucket")
	c.Flags().BoolVar(&o.starters, "starters", false, "include the starters: their records, and the models, which go to --checkpoints")
	c.Flags().BoolVar(&o.force, "force", false, "overwrite changed items and restore deleted ones")
	c.RunE = func(c *cobra.Command, _ []string) error { return o.run(c.Context(), p) }
	return c
}

// An initOptions says what a new table and its bucket receive.
type initOptions struct {
	modelsOptions
	outputs         string // file of a deployment's outputs; "": none
	starters, force bool
}

// run writes the built-in records to a table and, with starters, the starter models to the
// checkpoints. Existing items stay and deleted items stay deleted, because every deployment
// repeats this.
func (o initOptions) run(ctx context.Context, p *program) error {
	if err := o.readOutputs(); err != nil {
		return err
	}
	e, err := p.editor(o.table)
	if err != nil {
		return err
	}
	items, err := builtinRecords(ctx, o.starters)
	if err != nil {
		return err
	}
	if o.starters { // before their records, so that every listed model exists
		if err := o.publishStarters(ctx, p, e); err != nil {
			return err
		}
	}
	sown, err := e.WriteSeed(ctx, catalog.Seed{Items: items, Force: o.force})
	if err := printWritten(p.stdout, sown.Written); err != nil {
		return err
	}
	if err == nil && len(sown.Kept) > 0 {
		_, err = fmt.Fprintf(p.stdout, "kept %d %s as they are\n", len(sown.Kept), plural("record", len(sown.Kept)))
	}
	for _, key := range sown.Deleted {
		fmt.Fprintf(p.stdout, "left out models/%s: it was deleted\n", key) // the error matters more
	}
	return err
}

// readOutputs reads the names of the table and the bucket from the outputs of a deployment.
func (o *initOptions) readOutputs() error {
	if o.outputs == "" {
		return nil
	}
	if o.table != "" || o.checkpoints != "" {
		return usagef("--outputs names the table and the checkpoints: it cannot be used with --table-name or --checkpoints")
	}
	raw, err := os.ReadFile(o.outputs)
	if err != nil {
		return fmt.Errorf("%w: make deploy writes it", err)
	}
	var stacks map[string]map[string]string
	if err := json.Unmarshal(raw, &stacks); err != nil {
		return fmt.Errorf("%s: %w", o.outputs, err)
	}
	for stack, outputs := range stacks {
		table, bucket := outputs[deployment.TableOutput], outputs[deployment.BucketOutput]
		switch {
		case table == "" || bucket == "":
		case o.table != "":
			return fmt.Errorf("%s holds several deployments, %s among them: choose one with --table-name and --checkpoints", o.outputs, stack)
		default:
			o.table, o.checkpoints = table, "s3://"+bucket+"/"+deployment.Checkpoints
		}
	}
	if o.table == "" {
		return fmt.Errorf("%s names no %s and %s: did make deploy succeed?", o.outputs, deployment.TableOutput, deployment.BucketOutput)
	}
	return nil
}

// publishStarters publishes each starter model once, unless a model of its name exists.
func (o initOptions) publishStarters(ctx context.Context, p *program, e catalog.Editor) error {
	cfg, err := p.environment()
	if err != nil {
		return err
	}
	if cfg.Checkpoints = strings.TrimSuffix(cmp.Or(o.checkpoints, cfg.Checkpoints), "/"); cfg.Checkpoints == "" {
		return usagef("no place for the starters: pass --checkpoints s3://BUCKET/PREFIX or set GLOSSA_CHECKPOINTS")
	}
	given, err := e.Seeded(ctx)
	if err != nil {
		return err
	}
	store, err := app.OpenStore(cfg)
	if err != nil {
		return err
	}
	defer store.Close()
	for _, name := range slices.Backward(starter.Names()) { // the newest is the default model
		location := cfg.Checkpoints + "/" + name
		message := "left " + location + " as it is"
		if o.force || !given[location] {
			err := publishStarter(ctx, store, name, !o.force)
			if err != nil && !errors.Is(err, publish.ErrExists) {
				return fmt.Errorf("%s: %w", location, err)
			}
			if err == nil {
				message = "published " + location
			}
		}
		if _, err := fmt.Fprintln(p.stdout, message); err != nil {
			return err
		}
		if err := e.MarkSeeded(ctx, location); err != nil {
			return err
		}
	}
	return nil
}

// publishStarter publishes a starter model in full precision; if fresh, only where no model
// of its name exists.
func publishStarter(ctx context.Context, store *publish.Store, name string, fresh bool) error {
	published, err := arch.Detect(starter.Runs(), name)
	if err != nil {
		return err
	}
	if !published {
		u, file, err := publish.ReadRun(starter.Runs(), name)
		if err != nil {
			return err
		}
		u.New = fresh
		return errors.Join(store.Put(ctx, u), file.Close())
	}
	m, err := arch.Open(starter.Runs(), name)
	if err != nil {
		return err
	}
	return errors.Join(store.PutModel(ctx, publish.Upload{Name: name, Quant: dtype.F32.Option(), New: fresh}, m), m.Close())
}
