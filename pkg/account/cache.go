package account

import (
	"context"
	"errors"
	"sync"
	"time"

	"glossa/pkg/llm"
)

// Patience is the time that cached credentials stay valid after the store begins to
// fail.
const Patience = 5 * time.Minute

const (
	storeTimeout = 3 * time.Second // for one answer of the store
	retryPause   = time.Second     // between two calls for a credential after the store failed
	maxKnown     = 1 << 14         // cached credentials
	maxUnknown   = 1 << 12         // cached ids without a credential: attackers can make up many
)

// A cache keeps answers of a store for [maxAge].
type cache struct {
	now func() time.Time

	mu      sync.Mutex
	known   map[reference]*answer
	unknown map[reference]*answer
}

// An answer is the store's answer for one credential.
type answer struct {
	mu    sync.Mutex // held during a call to the store: one call serves all waiters
	c     Credential
	found bool
	err   error     // the error of the last call; nil: it succeeded
	when  time.Time // start of the last call that succeeded; zero: none has
	retry time.Time // no call before this time
}

// get returns the store's answer. If the cached one is too old, it calls ask.
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

// age returns the time from then to now. It also checks the wall clock: the monotonic
// clock may stand still while a function is frozen between requests, and keys are
// revoked meanwhile.
func age(now, then time.Time) time.Duration {
	return max(now.Sub(then), now.Round(0).Sub(then.Round(0)))
}

// refresh calls the store. It runs on if the caller leaves: others wait for the answer too.
func (k *cache) refresh(ctx context.Context, a *answer, now time.Time, ask func(context.Context) (Credential, error)) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	c, err := ask(ctx)
	switch {
	case err == nil:
		a.c, a.found, a.err, a.when = c, true, nil, now
	case errors.Is(err, ErrNotFound):
		a.c, a.found, a.err, a.when = Credential{}, false, nil, now
	default:
		a.err, a.retry = err, k.now().Add(retryPause)
	}
}

// answer returns the cached answer, or a new entry for it.
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

// keep stores an answer in the map of its kind, so that made-up ids evict no credentials.
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

// put adds to a map. If it is full, an arbitrary entry goes, because ranging over a
// map starts at a random one.
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

// forget makes the next get call the store.
func (k *cache) forget(at reference) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.known, at)
	delete(k.unknown, at)
}

// unavailable returns the error for clients when the store fails; nil stays nil.
func unavailable(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return &llm.Error{Code: llm.Unavailable, Message: "the accounts cannot be read now: try again", RetryAfter: maxAge, Err: err}
}
