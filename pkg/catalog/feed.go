package catalog

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// Time limits of a source, and the pauses between attempts while it fails. The pauses grow,
// but stay short enough to notice its return soon.
const (
	sourceTimeout = 2 * time.Second // after the first answer; less than half of [DefaultTTL]
	firstTimeout  = 5 * time.Second
	firstPause    = 250 * time.Millisecond
	maxPause      = 4 * time.Second
)

// A feed keeps the last answer of a source.
type feed struct {
	source   Source         // nil: no records
	standard func() itemSet // records that lend their schemas
	ttl      time.Duration
	reader   reader

	good   bool      // there was an answer
	size   int       // of the last one, in bytes of JSON
	answer time.Time // when the last one was asked for
	listing

	err    error // of the last attempt
	failed int   // attempts since the last answer
	asked  time.Time
	window
}

// A window says how long after its read something is used as it is (soft), and how long
// while it is being read again (hard).
type window struct{ soft, hard time.Duration }

// refresh reads the source if it is time.
func (f *feed) refresh(ctx context.Context) {
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
	f.listing = f.reader.read(items, f.standard())
	f.good, f.answer, f.failed = true, f.asked, 0
	f.size = 0
	for _, it := range items {
		f.size += len(it.JSON)
	}
	f.window = window{f.ttl / 2 * f.weight(), f.ttl * f.weight()}
}

// weight is how many times longer a large answer is used than a small one, so that reading
// costs at most a mebibyte in half of the TTL.
func (f *feed) weight() time.Duration { return time.Duration(max(1, (f.size+1<<20-1)>>20)) }

// ask reads the source. If the process was stopped meanwhile, as functions are between
// requests, its connections are dead and the time limit has passed. That is not a failure of
// the source: ask tries once more.
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

// problem returns the error of a source that fails.
func (f *feed) problem() error {
	switch {
	case f.err == nil:
		return nil
	case !f.good:
		return fmt.Errorf("records cannot be read: %w", f.err)
	}
	return fmt.Errorf("records cannot be read, those of %s are served: %w", f.answer.UTC().Format(time.RFC3339), f.err)
}

// age is the time since t, by the wall clock too: the monotonic one may stand still while a
// process is stopped.
func age(t time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}
