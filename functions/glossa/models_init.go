package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"glossa/pkg/app"
	"glossa/pkg/catalog"
	"glossa/pkg/deployment"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/dtype"
	"glossa/pkg/publish"
	"glossa/pkg/starter"
)

// An initial says what a new table and its bucket are given.
type initial struct {
	table, checkpoints string
	outputs            string // file of a deployment's outputs; "": none
	starters, force    bool
}

// run gives a table the records inside this program, and with starters the models to the
// place of checkpoints. What is there stays, and so does what was deleted: deployments
// repeat this.
func (o initial) run(ctx context.Context, w io.Writer) error {
	if err := o.deployed(); err != nil {
		return err
	}
	e, err := editor(o.table)
	if err != nil {
		return err
	}
	items, err := inside(ctx, o.starters)
	if err != nil {
		return err
	}
	if o.starters { // before their records: what is listed is there
		if err := o.publish(ctx, e, w); err != nil {
			return err
		}
	}
	sown, err := e.WriteSeed(ctx, catalog.Seed{Items: items, Force: o.force})
	if err := wrote(w, sown.Written); err != nil {
		return err
	}
	if err == nil && len(sown.Kept) > 0 {
		_, err = fmt.Fprintf(w, "kept %d %s as they are\n", len(sown.Kept), plural("record", len(sown.Kept)))
	}
	for _, key := range sown.Deleted {
		fmt.Fprintf(w, "left out models/%s: it was deleted\n", key) // the error matters more
	}
	return err
}

// deployed reads the names of the table and the bucket from the outputs of a deployment.
func (o *initial) deployed() error {
	if o.outputs == "" {
		return nil
	}
	if o.table != "" || o.checkpoints != "" {
		return fmt.Errorf("%w: --outputs names the table and the checkpoints", errUsage)
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
			return fmt.Errorf("%s is of several deployments, %s among them: name one by --table-name and --checkpoints", o.outputs, stack)
		default:
			o.table, o.checkpoints = table, "s3://"+bucket+"/"+deployment.Checkpoints
		}
	}
	if o.table == "" {
		return fmt.Errorf("%s names no %s and %s: did make deploy end well?", o.outputs, deployment.TableOutput, deployment.BucketOutput)
	}
	return nil
}

// publish publishes the starter models where no model has their name, each once.
func (o initial) publish(ctx context.Context, e catalog.Editor, w io.Writer) error {
	cfg, err := environment()
	if err != nil {
		return err
	}
	if cfg.Checkpoints = strings.TrimSuffix(cmp.Or(o.checkpoints, cfg.Checkpoints), "/"); cfg.Checkpoints == "" {
		return fmt.Errorf("%w: --starters: where to? --checkpoints s3://BUCKET/PREFIX or GLOSSA_CHECKPOINTS says", errUsage)
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
	for _, name := range slices.Backward(starter.Names()) { // whom requests mean that name none is the newest
		place := cfg.Checkpoints + "/" + name
		told := "left " + place + " as it is"
		if o.force || !given[place] {
			err := publishStarter(ctx, store, name, !o.force)
			if err != nil && !errors.Is(err, publish.ErrExists) {
				return fmt.Errorf("%s: %w", place, err)
			}
			if err == nil {
				told = "published " + place
			}
		}
		if _, err := fmt.Fprintln(w, told); err != nil {
			return err
		}
		if err := e.MarkSeeded(ctx, place); err != nil {
			return err
		}
	}
	return nil
}

// publishStarter publishes one of the models inside this program, as exact as it is there;
// if fresh, only where none has its name.
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
