package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
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
		if e, name := &b.entries[i], b.draftOf(&b.entries[i]); name != "" {
			e.draft = b.names[name]
			if err := b.checkDraft(e, name); err != nil {
				why[e.Name] = fmt.Errorf("its draft model %q %w", short(name), err)
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

// draftOf returns the name of the draft model of e, "" if it has none.
func (b *builder) draftOf(e *Entry) string {
	if e.Run == nil || e.rec.NoDrafts {
		return ""
	}
	return cmp.Or(e.rec.Draft, b.drafts[e.Name])
}

// checkDrafts warns of draft models that are set for models which do not exist.
func (b *builder) checkDrafts() {
	for _, name := range slices.Sorted(maps.Keys(b.drafts)) {
		_, unserved := b.unserved[name]
		if e := b.names[Local+"/"+name]; !unserved && (e == nil || e.Name != name) {
			b.problems = append(b.problems, Warning{fmt.Errorf("the draft model %q is for the model %q, which does not exist", short(b.drafts[name]), short(name))})
		}
	}
}

// checkDraft returns why the draft model of e, which has a name, cannot be used.
func (b *builder) checkDraft(e *Entry, name string) error {
	d := e.draft
	_, unserved := b.unserved[name]
	switch {
	case d == nil && (unserved || b.unread(name) != nil):
		return errors.New("cannot be served")
	case d == nil:
		return errors.New("does not exist")
	case d == e:
		return errors.New("is the model itself")
	case e.Task != llm.TaskGenerate:
		return errors.New("is for models that continue texts, which this one does not")
	case d.Run == nil:
		return errors.New("does not run in this process")
	case d.Task != llm.TaskGenerate:
		return errors.New("does not continue texts")
	}
	for seen := map[*Entry]bool{}; d != nil && !seen[d]; {
		seen[d] = true
		if d = b.names[b.draftOf(d)]; d == e {
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
