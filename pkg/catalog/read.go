package catalog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"glossa/pkg/llm"
)

// A flight is one read of records and roots, for which many requests may wait.
type flight struct {
	done chan struct{} // closed when the other fields are set
	view *view
	err  error // of a panic; there is no view
}

// view returns a view that is younger than the TTL. From half of the TTL on, the next
// request starts a read for a new view, but waits for it only if the old view is older than
// the TTL.
func (c *Catalog) view(ctx context.Context) (*view, error) {
	begun := time.Now()
	for {
		v := c.now.Load()
		if v != nil && age(v.at) < v.soft {
			return v, nil
		}
		f := c.begin(ctx, v)
		if v != nil && age(v.at) < v.hard {
			return v, nil
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		switch {
		case f.err != nil:
			return nil, f.err
		case !f.view.at.Before(begun) || age(f.view.at) < f.view.hard:
			return f.view, nil
		}
	}
}

// begin returns the flight under way, or starts one, unless there is a newer view than old.
func (c *Catalog) begin(ctx context.Context, old *view) *flight {
	c.flights.Lock()
	defer c.flights.Unlock()
	if v := c.now.Load(); v != nil && v != old {
		f := &flight{done: make(chan struct{}), view: v}
		close(f.done)
		return f
	}
	if c.flight == nil {
		c.flight = &flight{done: make(chan struct{})}
		// It does not end with the first caller's context: other requests wait for it too.
		go c.fly(context.WithoutCancel(ctx), c.flight)
	}
	return c.flight
}

// fly makes the view of f. The goroutine ends when f is done, which the time limit of the
// source bounds.
func (c *Catalog) fly(ctx context.Context, f *flight) {
	defer func() {
		if p := recover(); p != nil {
			f.err = &llm.Error{Code: llm.Internal, Message: "the models cannot be listed", Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
		c.flights.Lock()
		defer c.flights.Unlock()
		defer close(f.done)
		if c.flight != f {
			return // Refresh was called meanwhile
		}
		c.flight = nil
		if f.view != nil {
			c.now.Store(f.view)
			c.forget(f.view)
		}
	}()
	c.load.Lock()
	defer c.load.Unlock()
	v := c.read(ctx)
	c.logProblems(ctx, v)
	f.view = v
}

// Refresh makes the next request read the runs again, and the records unless they were
// read a moment ago.
func (c *Catalog) Refresh() {
	c.flights.Lock()
	defer c.flights.Unlock()
	c.now.Store(nil)
	c.flight = nil // it may have started too early
}

// read reads records and roots; c.load is held.
func (c *Catalog) read(ctx context.Context) *view {
	roots := make([]scan, len(c.cfg.Roots))
	var waits []func()
	for i, root := range c.cfg.Roots {
		waits = append(waits, concurrently(func() { roots[i] = c.scanRoot(i, root) }))
	}
	c.source.refresh(ctx)
	c.local.refresh(ctx)
	for _, wait := range waits {
		wait()
	}
	b := &builder{
		view: view{
			at: c.source.asked, window: c.source.window, names: map[string]*Entry{}, unserved: map[string]*llm.Error{},
			err: c.source.problem(), good: c.source.good, serves: map[string]bool{},
		},
		memory: c.cfg.Memory, drafts: c.cfg.Drafts, roots: roots, used: map[place]bool{}, fixed: map[string]bool{}, at: map[model]int{},
	}
	for _, family := range []string{Bedrock, SageMaker} {
		b.serves[family] = c.cfg.serves(family)
	}
	if !c.cfg.ListedOnly {
		b.records = c.source.items
	}
	b.items = maps.Clone(c.local.items)
	if b.items == nil {
		b.items = itemSet{}
	}
	maps.Copy(b.items, c.source.items)
	b.addListing(&c.source.listing, c.cfg)
	more := c.local.listing
	more.records = slices.DeleteFunc(slices.Clone(more.records), func(r Record) bool {
		return r.Family != Local || slices.ContainsFunc(c.source.records, func(own Record) bool { return own.Family == Local && own.Name == r.Name })
	})
	more.unserved = nil
	b.addListing(&more, c.cfg)
	for i, root := range c.cfg.Roots {
		b.addRuns(i, root)
	}
	v := b.done()
	if !v.good && len(v.entries) == 0 {
		v.hard = v.soft // requests wait for the next read: this view is empty
	}
	return v
}

// concurrently runs f in a goroutine. wait returns when f has returned, and panics if f did.
func concurrently(f func()) (wait func()) {
	ended := make(chan any, 1)
	go func() {
		defer func() {
			p := recover()
			if p != nil {
				p = fmt.Sprintf("%v\n%s", p, debug.Stack())
			}
			ended <- p
		}()
		f()
	}()
	return func() {
		if p := <-ended; p != nil {
			panic(p)
		}
	}
}

// logProblems logs new problems, each once, and those that are solved; c.load is held.
func (c *Catalog) logProblems(ctx context.Context, v *view) {
	if c.cfg.Log == nil {
		return
	}
	log := func(level slog.Level, message string, problem string) {
		c.cfg.Log.LogAttrs(ctx, level, message, slog.String("problem", problem))
	}
	now := map[string]bool{}
	for _, err := range v.problems {
		text := err.Error()
		if now[text] = true; c.logged[text] {
			continue
		}
		if IsWarning(err) {
			log(slog.LevelWarn, "model record", text)
		} else {
			log(slog.LevelWarn, "not served", text)
		}
	}
	for _, text := range slices.Sorted(maps.Keys(c.logged)) {
		if !now[text] {
			log(slog.LevelInfo, "valid again", text)
		}
	}
	c.logged = now
	switch fails := v.err != nil; {
	case fails && !c.fails:
		log(slog.LevelError, "models", v.err.Error())
	case !fails && c.fails:
		c.cfg.Log.LogAttrs(ctx, slog.LevelInfo, "models: records can be read again")
	}
	c.fails = v.err != nil
}

// missing returns the error of a name that no model has.
func (v *view) missing(name string) error {
	why, unserved := v.unserved[name]
	switch {
	case why != nil:
		return why
	case v.unread(name) != nil:
		return v.unread(name)
	case unserved:
		return &llm.Error{Code: llm.NotFound, Param: "model", Message: fmt.Sprintf("the model %q is listed but cannot be served: its record is missing or invalid", short(name))}
	case !v.good:
		return v.unknown()
	case name != "":
		return &llm.Error{Code: llm.NotFound, Param: "model", Message: fmt.Sprintf("the model %q does not exist", short(name))}
	}
	return &llm.Error{Code: llm.NotFound, Param: "model", Message: "this server has no models"}
}

// unread returns the error of a name that is, or may be, that of a model which could not be
// read. It is nil if the model was read or does not exist.
func (v *view) unread(name string) error {
	for _, problem := range v.problems {
		u, ok := errors.AsType[Unread](problem)
		e, forClients := errors.AsType[*llm.Error](problem)
		switch {
		case !ok || u.Model != "" && u.Model != name:
		case forClients && e.Code == llm.Upstream:
			return &llm.Error{Code: e.Code, Message: e.Message, Err: problem}
		case u.Model != "" && !forClients:
			return unservable(name, "cannot be served", u.Err)
		}
	}
	return nil
}

// maxReason bounds the part of a cause in the message of an error, in bytes.
const maxReason = 500

// unservable returns the error of a local model whose files are missing or wrong, which is a
// fault of the server. Its message contains the cause, which names the file and the reason.
func unservable(name, what string, cause error) *llm.Error {
	reason := cause.Error()
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "") + "..."
	}
	return &llm.Error{Code: llm.Internal, Message: fmt.Sprintf("the model %q %s: %s", short(name), what, reason), Err: cause}
}

// unknown returns the error of requests while no record could be read yet.
func (v *view) unknown() error {
	return &llm.Error{
		Code: llm.Unavailable, RetryAfter: max(time.Second, v.soft), Err: v.err,
		Message: "the records of the models cannot be read now: try again later",
	}
}

// all returns the problems, the source's first.
func (v *view) all() []error {
	if v.err == nil {
		return slices.Clone(v.problems)
	}
	return append([]error{v.err}, v.problems...)
}
