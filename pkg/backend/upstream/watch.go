package upstream

import (
	"context"
	"errors"
	"io"
	"time"
)

// errSilent ends the call of an endpoint that sends nothing.
var errSilent = errors.New("the endpoint has sent nothing for too long")

// A watch ends a call whose endpoint is silent for too long. Its time runs only while somebody
// waits for the endpoint: that a client reads slowly is not the endpoint's fault.
type watch struct {
	limit time.Duration
	timer *time.Timer
	end   context.CancelCauseFunc
}

// newWatch returns a watch whose time runs, and the context of the call.
func newWatch(ctx context.Context, limit time.Duration) (*watch, context.Context) {
	ctx, end := context.WithCancelCause(ctx)
	return &watch{limit: limit, end: end, timer: time.AfterFunc(limit, func() { end(errSilent) })}, ctx
}

// rest stops the time until the next read.
func (w *watch) rest() { w.timer.Stop() }

// shorten lowers the limit of the reads to come.
func (w *watch) shorten(limit time.Duration) { w.limit = min(w.limit, limit) }

// stop ends the watch and the call.
func (w *watch) stop() {
	w.rest()
	w.end(nil)
}

// reader returns r, watched during each read.
func (w *watch) reader(r io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		w.timer.Reset(w.limit)
		defer w.rest()
		return r.Read(p)
	})
}

type readerFunc func(p []byte) (int, error)

// Read implements [io.Reader].
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// cause returns the reason why ctx ended a call that failed with err, if the watch did.
func cause(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errSilent) {
		return errSilent
	}
	return err
}
