package batch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"
)

// A Step is what [Batches.Step] did.
type Step struct {
	Ended bool          // nothing is left to do
	Wait  time.Duration // nothing can be done before; 0: continue at once
}

// idle is how often a batch is looked at while other processes work on it.
const idle = 30 * time.Second

// Step does one piece of a batch's work: it checks the input, or makes an attempt at a part, or
// assembles the files. Any number of processes may call it at once, and any may be killed.
func (b *Batches) Step(ctx context.Context, owner, id string) (Step, error) {
	s, err := b.step(ctx, owner, id)
	if errors.Is(err, ErrNotFound) {
		// Another process may have ended the batch meanwhile, and deleted its answers.
		if w, failed := b.load(ctx, owner, id); failed == nil && w.end != nil {
			return Step{}, nil
		}
	}
	return s, err
}

func (b *Batches) step(ctx context.Context, owner, id string) (Step, error) {
	w, err := b.load(ctx, owner, id)
	switch {
	case errors.Is(err, ErrNotFound):
		return b.orphan(ctx, owner, id)
	case err != nil:
		return Step{}, err
	case w.end != nil:
		return Step{Ended: true}, b.clean(ctx, w)
	case w.plan == nil:
		p, err := b.plan(ctx, owner, w.Order)
		if err != nil {
			return Step{}, err
		}
		return Step{}, b.fix(ctx, w, "plan", p)
	case len(w.plan.Problems) > 0:
		return Step{}, once(b.createJSON(ctx, w.endKey(), end{Status: Failed, At: time.Now(), Problems: w.plan.Problems}))
	case w.seal != nil:
		return Step{}, b.finish(ctx, w)
	}
	stop := !w.cancelled.IsZero() || !time.Now().Before(w.Expires)
	part, wait, err := b.choose(ctx, w, stop)
	switch {
	case err != nil:
		return Step{}, err
	case part >= 0:
		err := b.try(ctx, w, part) // it may have stored answers all the same
		return Step{}, errors.Join(err, b.late(ctx, w))
	case wait > 0:
		return Step{Wait: wait}, nil
	}
	return Step{}, b.fix(ctx, w, "seal", w.newSeal())
}

// fix writes what all processes then see, unless another process was first.
func (b *Batches) fix(ctx context.Context, w *work, name string, v any) error {
	if err := once(b.createJSON(ctx, w.key(name), v)); err != nil {
		return err
	}
	return b.late(ctx, w)
}

// late removes what this process has just written if the batch ended meanwhile: those that ended it
// cleaned up before.
func (b *Batches) late(ctx context.Context, w *work) error {
	if ended, err := optional(b, ctx, w.endKey(), &w.end); !ended || err != nil {
		return err
	}
	return b.clean(ctx, w)
}

// once accepts that another process was first.
func once(err error) error {
	if errors.Is(err, ErrExists) {
		return nil
	}
	return err
}

// creation is the longest time that the creation of a batch takes.
const creation = 10 * time.Minute

// orphan removes the entry of a batch that was never created. A young one may still be.
func (b *Batches) orphan(ctx context.Context, owner, id string) (Step, error) {
	created := timeOf(batchPrefix, id)
	if created.IsZero() {
		return Step{}, ErrNotFound
	}
	if time.Since(created) < creation {
		return Step{Wait: idle}, nil
	}
	return Step{Ended: true}, b.cfg.Store.Delete(ctx, openKey(owner, id))
}

// choose returns a part for an attempt, or -1 and how long to wait; 0: no part is left. If the
// batch stops, it only waits for attempts that run.
func (b *Batches) choose(ctx context.Context, w *work, stop bool) (part int, wait time.Duration, err error) {
	later := func(d time.Duration) {
		if wait == 0 || d < wait {
			wait = d
		}
	}
	for _, i := range w.inTurn() {
		p := &w.parts[i]
		if whole, err := b.whole(ctx, w, i); err != nil {
			return 0, 0, err
		} else if whole {
			continue
		}
		if p.open() {
			var until time.Time
			if err := b.readJSON(ctx, p.claim, &until); err != nil {
				return 0, 0, err
			}
			if d := time.Until(until); d > 0 && !until.Add(-b.cfg.Lease).Before(b.cfg.Alone) {
				later(min(d, idle))
				continue
			}
		}
		if stop {
			w.missing = true
			continue
		}
		if last := p.last(); last.attempt == p.claims && last.notBefore > 0 {
			if d := time.Until(time.UnixMilli(last.notBefore)); d > 0 {
				later(min(d, time.Until(w.Expires)))
				continue
			}
		}
		return i, 0, nil
	}
	return -1, wait, nil
}

// inTurn returns the parts, from a random one on, so that processes seldom choose the same one.
// Those whose answers must be read to know whether they are whole come last.
func (w *work) inTurn() []int {
	var known, read []int
	first := rand.IntN(max(1, len(w.parts)))
	for i := range w.parts {
		i = (i + first) % len(w.parts)
		if w.mustRead(i) {
			read = append(read, i)
		} else {
			known = append(known, i)
		}
	}
	return append(known, read...)
}

// mustRead reports whether only the answers of a part show whether it is whole: the numbers of
// one commit prove it, those of several may count a line twice.
func (w *work) mustRead(part int) bool {
	p, lines := &w.parts[part], len(w.plan.Parts[part])
	done, failed := p.counts(lines)
	return done+failed == lines && len(p.answers) > 1
}

// whole reports whether every line of a part is answered.
func (b *Batches) whole(ctx context.Context, w *work, part int) (bool, error) {
	p, lines := &w.parts[part], len(w.plan.Parts[part])
	if !w.mustRead(part) {
		done, failed := p.counts(lines)
		return done+failed == lines, nil
	}
	answered, err := b.answered(ctx, p.keys())
	return len(answered) == lines, err
}

func (p *progress) keys() (keys []string) {
	for _, c := range p.answers {
		keys = append(keys, c.key)
	}
	return keys
}

// answered returns the answers of attempts by line. Of two answers to a line the first counts.
func (b *Batches) answered(ctx context.Context, keys []string) (map[int]record, error) {
	lines := map[int]record{}
	for _, key := range keys {
		r, err := b.cfg.Store.Open(ctx, key, 0, -1)
		if err != nil {
			return nil, err
		}
		for d := json.NewDecoder(r); err == nil; {
			var rec record
			if err = d.Decode(&rec); err == nil {
				if _, ok := lines[rec.Line]; !ok {
					lines[rec.Line] = rec
				}
			}
		}
		_ = r.Close() // it was only read
		if !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("object %s: %w", key, err)
		}
	}
	return lines, nil
}

// An attempt that has lost this many predecessors takes one line at a time; after twice as many
// in a row the line is given up, because it may be what kills them.
const patience = 3

// try makes an attempt: it runs the lines of a part that have no answer, and commits their
// answers.
func (b *Batches) try(ctx context.Context, w *work, part int) error {
	p := &w.parts[part]
	c := commit{attempt: p.claims + 1}
	claim := w.claimKey(part, c.attempt)
	err := b.createJSON(ctx, claim, time.Now().Add(b.cfg.Lease))
	if errors.Is(err, ErrExists) {
		return nil // another process makes this attempt
	}
	if err != nil {
		return err
	}
	answered, err := b.answered(ctx, p.keys())
	if err != nil {
		return err
	}
	var left []span
	for _, at := range w.plan.Parts[part] {
		if _, ok := answered[at.Line]; !ok {
			left = append(left, at)
		}
	}
	if len(left) == 0 {
		return nil
	}
	// A line that is always throttled does not hold up the others.
	throttled := 0
	for _, c := range p.answers {
		if c.notBefore > 0 {
			throttled++
		}
	}
	first := throttled % len(left)
	left = append(left[first:len(left):len(left)], left[:first]...)
	all, since := p.lost()
	if all >= patience {
		left = left[:1]
	}
	running, cancel := context.WithTimeout(ctx, b.cfg.Attempt)
	defer cancel()
	defer b.renew(ctx, func(n int) string { return renewal(claim, n) })()
	a := &attempt{b: b, w: w, throttled: throttled, giveUp: since >= 2*patience, input: input{b: b, w: w}}
	out, err := a.run(running, left, &c)
	if err != nil && len(out) == 0 && c.notBefore == 0 {
		return err
	}
	// Answers are kept even when the process is about to stop or the store has failed.
	return errors.Join(err, once(b.cfg.Store.Create(context.WithoutCancel(ctx), w.answersKey(part, c), bytes.NewReader(out))))
}

// again reports whether an answer with this status is worth another attempt: throttling until
// the batch expires, faults of gateways a few times.
func again(status, attempts int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return true
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return attempts < patience
	}
	return false
}

// Bounds of the wait after a throttled attempt.
const (
	maxBackoff    = 5 * time.Minute
	maxRetryAfter = time.Hour
)

func backoff(attempts int, asked time.Duration) time.Duration {
	wait := min(time.Second<<min(attempts, 10), maxBackoff)
	return max(wait, min(asked, maxRetryAfter))
}
