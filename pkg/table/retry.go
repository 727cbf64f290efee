package table

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"glossa/pkg/backend/awsrest"
)

// limits bound one call, because a client waits for it. The service normally answers in
// milliseconds.
type limits struct {
	attempts int
	attempt  time.Duration // the longest attempt, including dialling
	wait     time.Duration // the longest wait before the second attempt; it doubles
}

// defaultLimits returns at most 6.3 s: three attempts and waits of 0.1 s and 0.2 s.
func defaultLimits() limits {
	return limits{attempts: 3, attempt: 2 * time.Second, wait: 100 * time.Millisecond}
}

// All calls share tokens, so that a service that is down does not get three requests for each:
// a retry costs some, which come back if it succeeds, and a call without retries earns one.
const (
	retryTokens = 500
	retryCost   = 5
)

// retry calls try until it succeeds, fails for good, or has failed too often.
func (t *Table) retry(ctx context.Context, safe bool, try func(context.Context) error) error {
	release := func() error { return t.tokens.AddTokens(1) }
	for attempt := 1; ; attempt++ {
		bounded, cancel := context.WithTimeout(ctx, t.limits.attempt)
		err := try(bounded)
		cancel()
		if err == nil {
			_ = release() // it never fails
			return nil
		}
		if attempt == t.limits.attempts || ctx.Err() != nil || !temporary(err, safe) {
			return err
		}
		back, empty := t.tokens.GetToken(ctx, retryCost)
		if empty != nil {
			return err
		}
		release = back
		select {
		case <-time.After(rand.N(t.limits.wait << (attempt - 1))): // random, so that clients that failed together do not return together
		case <-ctx.Done():
			return err
		}
	}
}

// temporary reports whether a call that failed may be made again. A safe call may after each
// temporary error. Another one (an addition, a write with conditions) may only if it cannot
// have taken effect: if the service was too busy to accept it or was not reached. After a
// status of 500 or a broken connection it may have taken effect. Source: Developer Guide,
// "Error handling with DynamoDB", HTTP status code 5xx.
func temporary(err error, safe bool) bool {
	e, ok := errors.AsType[*awsrest.Error](err)
	if !ok {
		return false // there are no credentials
	}
	dial, _ := errors.AsType[*net.OpError](err)
	switch {
	case throttled(e), dial != nil && dial.Op == "dial":
		return true
	case !safe:
		return false
	}
	return e.Err != nil || e.Status >= http.StatusInternalServerError || e.Status == http.StatusTooManyRequests
}
