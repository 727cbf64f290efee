package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

const batchPrefix = "batch_"

// A draft is the object of a batch as it was created.
type draft struct {
	Order
	ID      string    `json:"id"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
}

// Create orders a batch. Its lines are checked later, by [Batches.Step].
func (b *Batches) Create(ctx context.Context, owner string, o Order) (Batch, error) {
	if !slices.Contains(b.cfg.Endpoints, o.Endpoint) {
		return Batch{}, fmt.Errorf("%w: endpoint must be one of %s", ErrInvalid, strings.Join(b.cfg.Endpoints, ", "))
	}
	f, err := b.File(ctx, owner, o.Input)
	if err != nil {
		return Batch{}, err
	}
	if f.Purpose != "batch" {
		return Batch{}, fmt.Errorf("%w: the purpose of the file is %q, not batch", ErrInvalid, f.Purpose)
	}
	if err := b.checkFiles(ctx, owner, 0); err != nil {
		return Batch{}, err
	}
	open, err := b.openOf(ctx, owner)
	if err != nil {
		return Batch{}, err
	}
	if len(open) >= b.cfg.MaxOpen {
		return Batch{}, fmt.Errorf("%w batches: wait for one of the %d or cancel one", ErrFull, len(open))
	}
	if err := b.forget(ctx, owner, open); err != nil {
		return Batch{}, err
	}
	d := draft{Order: o, ID: newID(batchPrefix), Created: time.Now()}
	d.Expires = d.Created.Add(b.cfg.Window)
	// Open comes first: a kill between the two leaves an entry that Step removes.
	if err := b.createJSON(ctx, openKey(owner, d.ID), owner); err != nil {
		return Batch{}, err
	}
	if err := b.createJSON(ctx, room(owner)+"batches/"+d.ID, d); err != nil {
		return Batch{}, err
	}
	return Batch{Order: d.Order, ID: d.ID, Created: d.Created, Expires: d.Expires, Status: Validating}, nil
}

// forget removes the oldest batches of an owner that have ended, beyond those that are kept. Their files stay.
func (b *Batches) forget(ctx context.Context, owner string, open []string) error {
	ended, err := b.newestFirst(ctx, room(owner)+"ended/")
	if err != nil {
		return err
	}
	// The ends go last: after a kill the next call finds them again.
	var drafts, ends []string
	for _, id := range ended[min(len(ended), b.cfg.MaxEnded):] {
		if !slices.Contains(open, id) { // what it worked with is removed
			drafts, ends = append(drafts, room(owner)+"batches/"+id), append(ends, room(owner)+"ended/"+id)
		}
	}
	if err := b.deleteAll(ctx, drafts); err != nil {
		return err
	}
	return b.deleteAll(ctx, ends)
}

// Batch returns the state of a batch.
func (b *Batches) Batch(ctx context.Context, owner, id string) (Batch, error) {
	w, err := b.load(ctx, owner, id)
	if err != nil {
		return Batch{}, err
	}
	return w.state(), nil
}

// IDs returns the ids of an owner's batches, the newest first.
func (b *Batches) IDs(ctx context.Context, owner string) ([]string, error) {
	return b.newestFirst(ctx, room(owner)+"batches/")
}

// Cancel stops a batch. Lines that run may still be answered. A batch that has ended stays as
// it is.
func (b *Batches) Cancel(ctx context.Context, owner, id string) (Batch, error) {
	w, err := b.load(ctx, owner, id)
	if err != nil {
		return Batch{}, err
	}
	if w.end == nil && w.seal == nil {
		if err := b.createJSON(ctx, w.key("cancel"), time.Now()); err != nil && !errors.Is(err, ErrExists) {
			return Batch{}, err
		}
	}
	return b.Batch(ctx, owner, id)
}
