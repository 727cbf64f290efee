package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"glossa/pkg/llm"
)

// identity is what an open backend depends on: with another identity the model is opened
// again.
type identity struct {
	source, checkpoint string
	files              string
	step               int
	size               int64
	modTime            time.Time

	template, cap, languages, quant, kv string
	special, public, noDrafts           bool
	context                             int

	// Of remote families: the whole item and its row, from which their backends are made.
	record, row string
	streams     bool

	draft string // the identity of the draft model

	fallbacks string
	cache     int
}

func (e *Entry) identity() identity {
	id := identity{
		template: e.rec.ChatTemplate, cap: e.rec.Cap, special: e.rec.ParseSpecial, public: e.rec.Public, languages: strings.Join(e.rec.Languages, " "),
		noDrafts: e.rec.NoDrafts, kv: e.rec.KV,
		context: e.rec.Context, fallbacks: strings.Join(e.rec.Fallbacks, "\n"), cache: e.rec.CacheSeconds,
	}
	if e.draft != nil {
		id.draft = e.draft.Version()
	}
	if !e.InProcess {
		id.record, id.row, id.streams = e.rec.raw, e.rec.Type, e.rec.Streaming
	}
	if r := e.Run; r != nil {
		id.source, id.checkpoint, id.files = r.Source, r.Checkpoint, r.Files
		id.step, id.size, id.modTime = r.Step, r.Size, r.ModTime.UTC()
		id.quant = e.quant()
	}
	return id
}

// key returns the key of the model in Catalog.open.
func (e *Entry) key() string { return e.Family + "/" + e.Name }

// memory returns what the model takes in memory.
func (e *Entry) memory() memory {
	m := memory{bytes: e.bytes()}
	if r := e.Run; r != nil {
		m.mixture, m.paged = r.Mixture, r.Paged[e.quant()]
	}
	if r := e.Run; r != nil && r.Base != "" {
		m.base, m.weights = r.Base, r.Source+"\n"+e.quant()+"\n"+e.rec.KV+"\n"+r.Weights
		m.shared, m.bytes = m.bytes-r.Added, r.Added
	}
	return m
}

// quant returns the quantisation of the weights of a model in the process.
func (e *Entry) quant() string { return cmp.Or(e.rec.Quant, e.Run.Quant) }

// bytes returns the memory of the model's weights, 0 if it is remote.
func (e *Entry) bytes() int64 {
	if e.Run == nil {
		return 0
	}
	if n, ok := e.Run.Sizes[e.rec.Quant]; ok {
		return n
	}
	return e.Run.Bytes
}

// opened is a backend that is open, is being opened, or could not be opened.
type opened struct {
	identity
	key     string // in Catalog.open
	name    string
	ready   chan struct{} // closed when the fields below are set
	backend llm.Backend
	err     error
	until   time.Time // do not retry before

	// Under the catalog's mu:
	memory
	users  int           // contexts that hold it, and open models for which it drafts
	used   time.Time     // when the last of them began or ended
	draft  *opened       // its draft model, which it holds; nil: there is none
	idle   time.Duration // see [Catalog.Keep]
	expiry *time.Timer   // that ends it; nil: there was none yet
}

// isReady reports whether opening has ended.
func (o *opened) isReady() bool {
	select {
	case <-o.ready:
		return true
	default:
		return false
	}
}

// stale reports whether the model must be opened again.
func (o *opened) stale(id identity) bool {
	return o.identity != id || o.isReady() && o.broken() && time.Now().After(o.until)
}

// broken reports whether opening failed, or reading the weights did later.
func (o *opened) broken() bool {
	b, ok := o.backend.(interface{ Failed() error })
	return o.err != nil || ok && b.Failed() != nil
}

// backend returns the open backend of e. Concurrent requests open it once. A backend that
// was opened before e changed is closed after its last generation.
func (c *Catalog) backend(ctx context.Context, e *Entry) (llm.Backend, error) {
	o, err := c.hold(ctx, e)
	if err != nil {
		return nil, err
	}
	select {
	case <-o.ready:
		return o.backend, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// patience is how long a request waits for the memory of models in use. The context of a
// request ends a moment after its answer, so that its model may be free soon.
const patience = time.Second

// hold returns the opened backend of e, or starts to open it, and holds it until ctx ends.
func (c *Catalog) hold(ctx context.Context, e *Entry) (*opened, error) {
	var tooLong <-chan time.Time
	for {
		c.mu.Lock()
		o, err := c.tryHold(ctx, e)
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.Code != llm.Overloaded {
			c.mu.Unlock()
			return o, err
		}
		if c.released == nil {
			c.released = make(chan struct{})
		}
		released := c.released
		c.mu.Unlock()
		if tooLong == nil {
			tooLong = time.After(patience)
		}
		select {
		case <-released:
		case <-tooLong:
			return nil, err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// tryHold is hold without waiting; c.mu is held.
func (c *Catalog) tryHold(ctx context.Context, e *Entry) (*opened, error) {
	o, err := c.use(ctx, e)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() {
		c.mu.Lock()
		o.release()
		c.freed()
		c.mu.Unlock()
		c.closeExpired(o)
	})
	return o, nil
}

// use returns the opened backend of e, or starts to open it, with a user more; c.mu is held.
func (c *Catalog) use(ctx context.Context, e *Entry) (*opened, error) {
	key, id := e.key(), e.identity()
	o := c.open[key]
	if o == nil || o.stale(id) {
		c.drop(key)
		o = &opened{identity: id, key: key, name: e.Name, idle: -1, ready: make(chan struct{}), memory: e.memory()}
		if err := c.admit(ctx, o, e.draft); err != nil {
			return nil, err
		}
		c.open[key] = o
		// It does not end with the first caller's context: other requests wait for it too.
		go c.start(context.WithoutCancel(ctx), o, e)
	}
	o.users++
	o.used = time.Now()
	return o, nil
}

// release ends a use of o; the catalog's mu is held.
func (o *opened) release() {
	o.users--
	o.used = time.Now()
}

// freed closes unused backends and wakes the requests that wait for memory; c.mu is held.
func (c *Catalog) freed() {
	c.forgetGone()
	if c.released != nil {
		close(c.released)
		c.released = nil
	}
}

// forgetGone closes the backends in c.gone that are no longer used; c.mu is held.
func (c *Catalog) forgetGone() {
	for {
		i := slices.IndexFunc(c.gone, unused)
		if i < 0 {
			return
		}
		o := c.gone[i]
		c.gone = slices.Delete(c.gone, i, i+1)
		o.close() // which may end the last use of another
	}
}

// close releases what the garbage collector does not free, such as a mapped file, and the draft
// model; the catalog's mu is held.
func (o *opened) close() {
	if b, ok := o.backend.(io.Closer); ok {
		_ = b.Close() // it only read
	}
	o.releaseDraft()
}

// unused reports whether the memory of o can be freed.
func unused(o *opened) bool { return o.users == 0 && o.isReady() }

// drop closes the backend under key, if there is one, once it is unused; c.mu is held.
func (c *Catalog) drop(key string) {
	o := c.open[key]
	if o == nil {
		return
	}
	delete(c.open, key)
	c.gone = append(c.gone, o)
	c.forgetGone()
}

// Drop closes the local model of a name, whose file was replaced or deleted, after its last
// generation. Call [Catalog.Refresh] before, so that no request opens the old file again.
func (c *Catalog) Drop(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(Local + "/" + name)
}

// start opens the backend of o. Its goroutine ends when o is ready.
func (c *Catalog) start(ctx context.Context, o *opened, e *Entry) {
	defer func() {
		if p := recover(); p != nil {
			cause := fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			o.backend, o.err = nil, &llm.Error{Code: llm.Internal, Message: fmt.Sprintf("the model %q could not be opened", e.Name), Err: cause}
		}
		o.until = time.Now().Add(c.cfg.TTL)
		if o.err != nil {
			c.failed(o, e)
		}
		close(o.ready)
		c.mu.Lock()
		c.freed() // all requests may have ended meanwhile
		c.mu.Unlock()
		c.closeExpired(o)
	}()
	if e.Run != nil {
		o.backend, o.err = c.openRun(ctx, o, e)
	} else {
		o.backend, o.err = c.cfg.Openers[e.Family](ctx, e.rec)
	}
}

// failed gives the error of o a message for clients, and frees the memory.
func (c *Catalog) failed(o *opened, e *Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o.memory = memory{}
	o.releaseDraft()
	switch _, ok := errors.AsType[*llm.Error](o.err); {
	case ok:
	case e.Run != nil:
		o.err = unservable(e.Name, "could not be opened", o.err)
	default:
		o.err = &llm.Error{Code: llm.Internal, Message: fmt.Sprintf("the model %q could not be opened", e.Name), Err: o.err}
	}
}

// forget closes the backends of models that no longer exist, each after its last generation.
func (c *Catalog) forget(v *view) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.open {
		if e := v.names[key]; e == nil || e.key() != key {
			c.drop(key)
		}
	}
}
