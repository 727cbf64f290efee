package catalog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"glossa/pkg/llm"
)

// A flight is one look at records and runs, for which many may wait.
type flight struct {
	done chan struct{} // closed when the rest is set
	view *view
	err  error // there is no view: a fault of the program
}

// view returns what there is. A view is used for half of the TTL; from then on the next
// question has a new one made, for which nobody waits unless the view is older than the
// TTL.
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

// begin returns the look that is under way, or begins one, unless there is a newer view
// than old.
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
		// Not of the first caller's context: others wait for it too.
		go c.fly(context.WithoutCancel(ctx), c.flight)
	}
	return c.flight
}

// fly makes the view of f. The goroutine is f's: it ends when f is done, which the time
// limit of the source bounds.
func (c *Catalog) fly(ctx context.Context, f *flight) {
	defer func() {
		if p := recover(); p != nil {
			f.err = &llm.Error{Code: llm.Internal, Message: "the models cannot be listed", Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
		c.flights.Lock()
		defer c.flights.Unlock()
		defer close(f.done)
		if c.flight != f {
			return // Refresh came in between
		}
		c.flight = nil
		if f.view != nil {
			c.now.Store(f.view)
			c.forget(f.view)
		}
	}()
	c.load.Lock()
	defer c.load.Unlock()
	v := c.look(ctx)
	c.tell(ctx, v)
	f.view = v
}

// Refresh makes the next question look at runs again, and at records unless they were
// read a moment ago.
func (c *Catalog) Refresh() {
	c.flights.Lock()
	defer c.flights.Unlock()
	c.now.Store(nil)
	c.flight = nil // it may have begun too early
}

// look reads records and roots; c.load is held.
func (c *Catalog) look(ctx context.Context) *view {
	roots := make([]scan, len(c.cfg.Roots))
	var waits []func()
	for i, root := range c.cfg.Roots {
		waits = append(waits, beside(func() { roots[i] = c.scanRoot(i, root) }))
	}
	c.source.look(ctx)
	c.local.look(ctx)
	for _, wait := range waits {
		wait()
	}
	b := &builder{
		view: view{
			at: c.source.asked, window: c.source.window, names: map[string]*Entry{}, unserved: map[string]*llm.Error{},
			err: c.source.problem(), good: c.source.good, serves: map[string]bool{},
		},
		roots: roots, used: map[place]bool{}, fixed: map[string]bool{}, at: map[model]int{},
	}
	for _, family := range []string{Bedrock, SageMaker} {
		b.serves[family] = c.cfg.serves(family)
	}
	if !c.cfg.ListedOnly {
		b.records = c.source.shelf
	}
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
		v.hard = v.soft // who asks may as well wait: there is nothing to be had
	}
	return v
}

// beside runs f and returns how to wait for it. Its panic is that of who waits.
func beside(f func()) (wait func()) {
	ended := make(chan any, 1)
	go func() { // ends with f
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

// tell logs what is wrong, each thing once, and what no longer is; c.load is held.
func (c *Catalog) tell(ctx context.Context, v *view) {
	if c.cfg.Log == nil {
		return
	}
	log := func(level slog.Level, message string, problem string) {
		c.cfg.Log.LogAttrs(ctx, level, message, slog.String("problem", problem))
	}
	now := map[string]bool{}
	for _, err := range v.problems {
		text := err.Error()
		if now[text] = true; c.told[text] {
			continue
		}
		if IsWarning(err) {
			log(slog.LevelWarn, "model record", text)
		} else {
			log(slog.LevelWarn, "not served", text)
		}
	}
	for _, text := range slices.Sorted(maps.Keys(c.told)) {
		if !now[text] {
			log(slog.LevelInfo, "no longer wrong", text)
		}
	}
	c.told = now
	switch fails := v.err != nil; {
	case fails && !c.fails:
		log(slog.LevelError, "models", v.err.Error())
	case !fails && c.fails:
		c.cfg.Log.LogAttrs(ctx, slog.LevelInfo, "models: records can be read again")
	}
	c.fails = v.err != nil
}

// missing is the error of a name that no model has.
func (v *view) missing(name string) error {
	why, unserved := v.unserved[name]
	switch {
	case why != nil:
		return why
	case v.unread(name) != nil:
		return v.unread(name)
	case unserved:
		return &llm.Error{Code: llm.NotFound, Param: "model", Message: fmt.Sprintf("the model %q is listed and cannot be served: its record is missing or wrong", short(name))}
	case !v.good:
		return v.unknown()
	case name != "":
		return &llm.Error{Code: llm.NotFound, Param: "model", Message: fmt.Sprintf("there is no model %q", short(name))}
	}
	return &llm.Error{Code: llm.NotFound, Param: "model", Message: "there are no models"}
}

// unread is the error of a name that a model may have which could not be looked at; nil
// if all could, or if there are no words for clients.
func (v *view) unread(name string) error {
	for _, problem := range v.problems {
		u, ok := errors.AsType[Unread](problem)
		e, told := errors.AsType[*llm.Error](problem)
		if ok && told && e.Code == llm.Upstream && (u.Model == "" || u.Model == name) {
			return &llm.Error{Code: e.Code, Message: e.Message, Err: problem}
		}
	}
	return nil
}

// unknown is the error of who asks for models of which nothing could be read yet.
func (v *view) unknown() error {
	return &llm.Error{
		Code: llm.Unavailable, RetryAfter: max(time.Second, v.soft), Err: v.err,
		Message: "the records of the models cannot be read now: try again later",
	}
}

// all returns the problems, with that of the source.
func (v *view) all() []error {
	if v.err == nil {
		return slices.Clone(v.problems)
	}
	return append([]error{v.err}, v.problems...)
}
