package catalog

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// How long a source may take to answer, and the pauses between attempts while it fails:
// they grow and are short enough that its return is soon seen.
const (
	sourceTimeout = 2 * time.Second // while there is an answer of before; less than half of [DefaultTTL]
	firstTimeout  = 5 * time.Second
	firstPause    = 250 * time.Millisecond
	maxPause      = 4 * time.Second
)

// A feed keeps the last answer of a source.
type feed struct {
	source Source // nil: no records
	ttl    time.Duration
	reader reader

	good   bool      // there was an answer
	size   int       // of the last one, in bytes of JSON
	answer time.Time // when the last one was asked for
	listing

	err    error // of the last attempt
	failed int   // attempts since the last answer
	asked  time.Time
	window
}

// A window says for how long, from when its source was asked, something is used as it
// is, and for how long while it is being renewed.
type window struct{ soft, hard time.Duration }

// look asks the source again if it is time.
func (f *feed) look(ctx context.Context) {
	if f.source == nil {
		f.asked, f.window, f.good = time.Now(), window{f.ttl / 2, f.ttl}, true
		return
	}
	if !f.asked.IsZero() && age(f.asked) < f.soft {
		return
	}
	items, err := f.ask(ctx)
	if f.err = err; err != nil {
		f.failed++
		pause := min(maxPause, firstPause<<min(f.failed-1, 10))
		pause = pause/2 + rand.N(pause/2+1)
		f.window = window{pause, pause + f.ttl}
		return
	}
	f.listing = f.reader.read(items, nil)
	f.good, f.answer, f.failed = true, f.asked, 0
	f.size = 0
	for _, it := range items {
		f.size += len(it.JSON)
	}
	f.window = window{f.ttl / 2 * f.weight(), f.ttl * f.weight()}
}

// weight is by how much longer large answers are used than small ones, so that reading
// costs no more than a mebibyte in half of the TTL.
func (f *feed) weight() time.Duration { return time.Duration(max(1, (f.size+1<<20-1)>>20)) }

// ask asks the source. A process that was stopped meanwhile, as functions are between
// requests, finds its connections dead and time limits passed: that is no failure of
// the source, which is asked once more.
func (f *feed) ask(ctx context.Context) (items []Item, err error) {
	limit := firstTimeout
	if f.good {
		limit = min(firstTimeout, sourceTimeout*f.weight())
	}
	for range 2 {
		f.asked = time.Now()
		limited, cancel := context.WithTimeout(ctx, limit)
		items, err = f.source.Items(limited)
		cancel()
		if err == nil || age(f.asked) < limit+time.Second {
			break
		}
	}
	return items, err
}

// problem says that the source fails, if it does.
func (f *feed) problem() error {
	switch {
	case f.err == nil:
		return nil
	case !f.good:
		return fmt.Errorf("records cannot be read: %w", f.err)
	}
	return fmt.Errorf("records cannot be read, those of %s are served: %w", f.answer.UTC().Format(time.RFC3339), f.err)
}

// age is the time since t. The wall clock counts too: the other one may stand still
// while a process is stopped.
func age(t time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}
