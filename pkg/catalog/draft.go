package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"glossa/pkg/llm"
)

// A draft model is a model of the catalog like others: requests may name it, and its weights are in
// memory once. A model that has one holds it while it is open.

// refuseDrafts removes the models whose draft models cannot be used, as a problem each, and reports
// whether there were any: they may have been the draft models of others. Afterwards the names must be
// indexed again.
func (b *builder) refuseDrafts() (refused bool) {
	why := map[string]error{}
	for i := range b.entries {
		if e := &b.entries[i]; e.rec.Draft != "" {
			e.draft = b.names[e.rec.Draft]
			if err := b.checkDraft(e); err != nil {
				why[e.Name] = fmt.Errorf("its draft model %q %w", short(e.rec.Draft), err)
			}
		}
	}
	b.entries = slices.DeleteFunc(b.entries, func(e Entry) bool {
		err := why[e.Name]
		if e.Family != Local || err == nil {
			return false
		}
		b.refuse(model{e.Family, e.Name}, nil)
		b.problems = append(b.problems, Unread{Model: e.Name, Err: err})
		return true
	})
	return len(why) > 0
}

// checkDraft returns why the draft model of e cannot be used.
func (b *builder) checkDraft(e *Entry) error {
	d := e.draft
	_, unserved := b.unserved[e.rec.Draft]
	switch {
	case d == nil && (unserved || b.unread(e.rec.Draft) != nil):
		return errors.New("cannot be served")
	case d == nil:
		return errors.New("does not exist")
	case d == e:
		return errors.New("is the model itself")
	case d.Run == nil:
		return errors.New("does not run in this process")
	case d.Task != llm.TaskGenerate:
		return errors.New("does not continue texts")
	}
	for seen := map[*Entry]bool{}; d != nil && d.rec.Draft != "" && !seen[d]; {
		seen[d] = true
		if d = b.names[d.rec.Draft]; d == e {
			return errors.New("has a draft model that leads back to the model itself")
		}
	}
	return nil
}

// admit makes room for a model that is to be opened, and uses its draft model, which may be nil;
// c.mu is held.
func (c *Catalog) admit(ctx context.Context, o *opened, draft *Entry) error {
	if err := c.checkMemory(o, draft); err != nil {
		return err
	}
	if draft == nil {
		return c.makeRoom(o)
	}
	d, err := c.use(ctx, draft)
	if err != nil {
		return err
	}
	if err := c.makeRoom(o); err != nil {
		d.release()
		return err
	}
	o.draft = d
	return nil
}

// openRun opens a model in this process, after its draft model.
func (c *Catalog) openRun(ctx context.Context, o *opened, e *Entry) (llm.Backend, error) {
	options := e.rec.options()
	options.ExpertMemory = o.experts // no other goroutine reads or writes it now
	if o.draft != nil {
		<-o.draft.ready
		if o.draft.err != nil {
			return nil, o.draft.err
		}
		options.Draft, options.DraftName = o.draft.backend, o.draft.name
	}
	return c.cfg.Loader.Open(ctx, e.Run, options)
}

// releaseDraft ends the use of a draft model; the catalog's mu is held.
func (o *opened) releaseDraft() {
	if o.draft != nil {
		o.draft.release()
		o.draft = nil
	}
}
