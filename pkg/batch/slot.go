package batch

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Slot takes one of n places for processes that work at once. It returns nil if all are taken. The
// process calls leave at its end; the place of one that was killed is free when its lease ends.
func (b *Batches) Slot(ctx context.Context, n int) (leave func(context.Context) error, err error) {
	for slot := range n {
		prefix := fmt.Sprintf("workers/%04d/", slot)
		turn, keys, err := b.freeTurn(ctx, prefix)
		if err != nil {
			return nil, err
		}
		if turn == 0 {
			continue
		}
		key := fmt.Sprintf("%s%08d", prefix, turn)
		switch err := b.createJSON(ctx, key, time.Now().Add(b.cfg.Lease)); {
		case err == nil:
			return b.hold(ctx, key, keys), nil
		case !errors.Is(err, ErrExists): // another process was first
			return nil, err
		}
	}
	return nil, nil
}

// freeTurn returns the number of the next process in a place, 0 if it is taken, and the keys of those before.
func (b *Batches) freeTurn(ctx context.Context, prefix string) (turn int, keys []string, err error) {
	keys, err = b.cfg.Store.List(ctx, prefix)
	if err != nil || len(keys) == 0 {
		return 1, keys, err
	}
	last := keys[len(keys)-1] // a renewal of the last turn, or the turn itself
	var until time.Time
	switch err := b.readJSON(ctx, last, &until); {
	case errors.Is(err, ErrNotFound): // its process left just now
		return 0, nil, nil
	case err != nil:
		return 0, nil, err
	case time.Now().Before(until):
		return 0, nil, nil
	}
	if _, err := fmt.Sscanf(last, prefix+"%d", &turn); err != nil {
		return 0, nil, fmt.Errorf("object %s: %w", last, err)
	}
	return turn + 1, keys, nil
}

// hold renews the lease of a place until it is left, and then deletes its objects, and those of the
// processes before.
func (b *Batches) hold(ctx context.Context, key string, before []string) (leave func(context.Context) error) {
	renewals := 0
	stop := b.renew(ctx, func(n int) string {
		renewals = n
		return renewal(key, n)
	})
	return func(ctx context.Context) error {
		stop()
		keys := append(before, key)
		for n := range renewals {
			keys = append(keys, renewal(key, n+1))
		}
		return b.deleteAll(ctx, keys)
	}
}
