package catalog

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"glossa/pkg/llm"
)

// identity tells whether an open backend is still that of its model.
type identity struct {
	source, checkpoint string
	step               int
	size               int64
	modTime            time.Time
	template, cap      string
}

func (e *Entry) identity() identity {
	id := identity{template: e.rec.ChatTemplate, cap: e.rec.Cap}
	if r := e.Run; r != nil {
		id.source, id.checkpoint, id.step, id.size, id.modTime = r.Source, r.Checkpoint, r.Step, r.Size, r.ModTime.UTC()
	}
	return id
}

// opened is a backend that is open, being opened or could not be.
type opened struct {
	identity
	ready   chan struct{} // closed when the rest is set
	backend llm.Backend
	err     error
	until   time.Time // for how long err is believed
}

// stale tells whether o must be opened again.
func (o *opened) stale(id identity) bool {
	if o.identity != id {
		return true
	}
	select {
	case <-o.ready:
		return o.err != nil && time.Now().After(o.until)
	default:
		return false
	}
}

// backend returns the open backend of e, opening it once however many ask. One
// that was open before e changed is let go: its generations end on it, and the
// memory goes with the last of them.
func (c *Catalog) backend(ctx context.Context, e *Entry) (llm.Backend, error) {
	key, id := e.Family+"/"+e.Name, e.identity()
	c.mu.Lock()
	o := c.open[key]
	if o == nil || o.stale(id) {
		o = &opened{identity: id, ready: make(chan struct{})}
		c.open[key] = o
		// Not of the first caller's context: others wait for it, and more will.
		go c.start(context.WithoutCancel(ctx), o, e)
	}
	c.mu.Unlock()
	select {
	case <-o.ready:
		return o.backend, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// start opens the backend of o. The goroutine is o's: it ends when o is ready.
func (c *Catalog) start(ctx context.Context, o *opened, e *Entry) {
	defer close(o.ready)
	defer func() {
		if p := recover(); p != nil {
			o.backend, o.err = nil, fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		if o.err == nil {
			return
		}
		o.until = time.Now().Add(c.cfg.TTL)
		if _, ok := errors.AsType[*llm.Error](o.err); !ok {
			o.err = &llm.Error{Code: llm.Internal, Message: fmt.Sprintf("the model %q could not be opened", e.Name), Err: o.err}
		}
	}()
	o.backend, o.err = c.cfg.Openers[e.Family](ctx, e.rec, e.Run)
}

// forget lets go of what was opened for models that are no more, so that their
// memory is free when their last generation ends.
func (c *Catalog) forget(v *view) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.open {
		if e := v.names[key]; e == nil || e.Family+"/"+e.Name != key {
			delete(c.open, key)
		}
	}
}
