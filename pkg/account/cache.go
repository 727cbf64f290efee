package account

import (
	"context"
	"errors"
	"sync"
	"time"

	"glossa/pkg/llm"
)

// Patience is how long credentials are good that were known when the store began to
// fail.
const Patience = 5 * time.Minute

const (
	askPatience = 3 * time.Second // for one answer of the store
	askPause    = time.Second     // between two questions for a credential that the store could not answer
	maxKnown    = 1 << 14         // credentials that are remembered
	maxUnknown  = 1 << 12         // and ids of none: who makes them up can be many
)

// A cache remembers for [maxAge] what a store said.
type cache struct {
	now func() time.Time

	mu      sync.Mutex
	known   map[reference]*answer
	unknown map[reference]*answer
}

// An answer is what a store said of one credential.
type answer struct {
	mu    sync.Mutex // held while the store is asked: once for all who wait
	c     Credential
	found bool
	err   error     // what the store failed with last; nil: it did not
	when  time.Time // it was asked before it answered; zero: it never did
	retry time.Time // it may be asked again
}

// get returns what the store said, which ask asks if that is too old.
func (k *cache) get(ctx context.Context, at reference, ask func(context.Context) (Credential, error)) (Credential, error) {
	a := k.answer(at)
	a.mu.Lock()
	defer a.mu.Unlock()
	now := k.now()
	if (a.when.IsZero() || age(now, a.when) >= maxAge) && !now.Before(a.retry) {
		k.refresh(ctx, a, now, ask)
		k.keep(at, a)
	}
	switch {
	case a.err == nil && a.found, a.found && age(now, a.when) < Patience:
		return a.c, nil
	case a.err == nil:
		return Credential{}, ErrNotFound
	}
	return Credential{}, unavailable(a.err)
}

// age is the time from then to now. The wall clock counts too: the other one may stand
// still while a function is stopped between requests, and keys are revoked meanwhile.
func age(now, then time.Time) time.Duration {
	return max(now.Sub(then), now.Round(0).Sub(then.Round(0)))
}

// refresh asks the store. Who asks may leave: the answer is for others too.
func (k *cache) refresh(ctx context.Context, a *answer, now time.Time, ask func(context.Context) (Credential, error)) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askPatience)
	defer cancel()
	c, err := ask(ctx)
	switch {
	case err == nil:
		a.c, a.found, a.err, a.when = c, true, nil, now
	case errors.Is(err, ErrNotFound):
		a.c, a.found, a.err, a.when = Credential{}, false, nil, now
	default:
		a.err, a.retry = err, k.now().Add(askPause)
	}
}

// answer returns what is remembered, or a place for it.
func (k *cache) answer(at reference) *answer {
	k.mu.Lock()
	defer k.mu.Unlock()
	if a, ok := k.known[at]; ok {
		return a
	}
	if a, ok := k.unknown[at]; ok {
		return a
	}
	a := &answer{}
	put(&k.unknown, at, a, maxUnknown)
	return a
}

// keep puts an answer where its kind is kept: made-up ids drive no credential out.
func (k *cache) keep(at reference, a *answer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.known, at)
	delete(k.unknown, at)
	if a.found {
		put(&k.known, at, a, maxKnown)
	} else {
		put(&k.unknown, at, a, maxUnknown)
	}
}

// put adds to a map, from which another goes if it is full: any, as ranging over a map
// begins anywhere.
func put(m *map[reference]*answer, at reference, a *answer, size int) {
	if *m == nil {
		*m = map[reference]*answer{}
	}
	for other := range *m {
		if len(*m) < size {
			break
		}
		delete(*m, other)
	}
	(*m)[at] = a
}

// forget makes the next get ask the store.
func (k *cache) forget(at reference) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.known, at)
	delete(k.unknown, at)
}

// unavailable is what is said of a store that cannot be asked; nil stays nil.
func unavailable(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return &llm.Error{Code: llm.Unavailable, Message: "the accounts cannot be read now: try again", RetryAfter: maxAge, Err: err}
}
