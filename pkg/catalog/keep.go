package catalog

import (
	"context"
	"time"
)

// Keep sets how long the model of a name stays in memory after its last use, if it is there: with 0 it
// is closed as soon as it is unused, below 0 it stays until others need its memory, as without Keep. A
// model that is opened later does not remember it.
func (c *Catalog) Keep(ctx context.Context, name string, idle time.Duration) error {
	e, err := c.Entry(ctx, name)
	if err != nil {
		return err
	}
	c.mu.Lock()
	o := c.open[e.key()]
	if o != nil && o.bytes+o.shared > 0 { // remote models have no memory here
		o.idle = idle
	}
	closed := o != nil && c.expire(o)
	c.mu.Unlock()
	if closed {
		freeMemory()
	}
	return nil
}

// expire closes o if it is unused and its time after the last use has passed, or has that done once it
// passes, and reports whether it did; c.mu is held.
func (c *Catalog) expire(o *opened) (closed bool) {
	if o.expiry != nil {
		o.expiry.Stop()
	}
	if o.idle < 0 || !unused(o) || c.open[o.key] != o {
		return false
	}
	if rest := o.idle - time.Since(o.used); rest > 0 {
		o.expiry = time.AfterFunc(rest, func() { c.closeExpired(o) })
		return false
	}
	c.drop(o.key)
	return true
}

// closeExpired is expire, and returns the memory to the system.
func (c *Catalog) closeExpired(o *opened) {
	c.mu.Lock()
	closed := c.expire(o)
	c.mu.Unlock()
	if closed {
		freeMemory()
	}
}

// leaves returns when o leaves the memory if it is not used again, the zero time if others must need it.
func (o *opened) leaves() time.Time {
	switch {
	case o.idle < 0:
		return time.Time{}
	case o.users > 0:
		return time.Now().Add(o.idle)
	}
	return o.used.Add(o.idle)
}
