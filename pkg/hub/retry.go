package hub

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	maxAttempts = 6                // consecutive ones without progress
	firstWait   = time.Second      // doubles each time
	longestWait = 30 * time.Second // unless the server asks for more
	maxAsked    = 6 * time.Minute  // a longer wait that a server requests ends the download; its windows have 5 minutes
)

var errStalled = errors.New("no data arrived for too long")

// connectionError is an error of the connection: a retry may help.
type connectionError struct{ error }

func (b *connectionError) Unwrap() error { return b.error }

// permanent reports whether retries cannot help.
func (b *connectionError) permanent() bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](b.error); ok {
		return true
	}
	e, ok := errors.AsType[*net.DNSError](b.error)
	return ok && e.IsNotFound
}

// retry calls try until it succeeds or retries cannot help. Attempts with progress do
// not count.
func (r *requester) retry(ctx context.Context, try func(a *attempt) (progress bool, err error)) error {
	for failures := 1; ; failures++ {
		progress, err := r.attempt(ctx, try)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if progress {
			failures = 1
		}
		asked, again := retryable(err)
		switch {
		case !again:
			return err
		case failures >= maxAttempts:
			return fmt.Errorf("%w (%d attempts)", err, failures)
		case asked > maxAsked:
			return fmt.Errorf("%w: the hub asks to retry in %s", err, asked)
		}
		wait := max(asked, backoff(failures))
		if r.retrying != nil {
			r.retrying(err, wait)
		}
		if err := r.sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// attempt calls try with a context that ends when no bytes arrive for too long.
func (r *requester) attempt(ctx context.Context, try func(*attempt) (bool, error)) (progress bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(stallTime, func() { cancel(errStalled) })
	defer timer.Stop()
	progress, err = try(&attempt{ctx, timer})
	if err != nil && context.Cause(ctx) == errStalled {
		err = &connectionError{errStalled}
	}
	return progress, err
}

// retryable reports whether a retry may help, and the wait that the server requests.
func retryable(err error) (asked time.Duration, again bool) {
	if b, ok := errors.AsType[*connectionError](err); ok {
		return 0, !b.permanent()
	}
	if e, ok := errors.AsType[*StatusError](err); ok {
		return e.after, e.passing
	}
	return 0, false
}

// backoff returns the wait after a number of failures, with a random part so that the
// files of a download do not all retry at once.
func backoff(failures int) time.Duration {
	wait := min(firstWait<<min(failures-1, 10), longestWait)
	return wait/2 + rand.N(wait/2)
}

// sleep waits for d, or returns the error of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A StatusError is an answer with an error status.
type StatusError struct {
	Status int  // of HTTP
	Access bool // a token, or another one, may help

	message string
	passing bool          // a retry may help
	after   time.Duration // the wait that the server requests
}

// Error says what failed and what to do.
func (e *StatusError) Error() string { return e.message }

// refusal returns the error of an answer about the repository, or about one of its files.
func (r *requester) refusal(res *http.Response, path string) error {
	e := &StatusError{Status: res.StatusCode}
	said := res.Header.Get("X-Error-Message")
	host := res.Request.URL.Host
	what := host + ": " + r.repo
	if path != "" {
		what += ": " + path
	}
	page := r.base.JoinPath(r.repo)
	switch code := res.Header.Get("X-Error-Code"); {
	case res.StatusCode == http.StatusTooManyRequests, res.StatusCode == http.StatusRequestTimeout, res.StatusCode >= 500:
		e.passing, e.after = true, retryAfter(res.Header, time.Now())
		e.message = fmt.Sprintf("%s: %s", what, status(res))
	case !r.ours(res.Request.URL): // of a signed URL; the next attempt gets a new one
		e.passing = true
		e.message = fmt.Sprintf("%s: %s", what, status(res))
	case code == "GatedRepo":
		e.Access = true
		e.message = fmt.Sprintf("%s is gated: accept its terms at %s and use a token of that account with read permission", what, page)
	case code == "RevisionNotFound":
		e.message = fmt.Sprintf("%s has no revision %q: %s/tree/main names its branches and tags", what, r.revision, page)
	case code == "EntryNotFound":
		e.message = fmt.Sprintf("%s no longer exists: pull again", what)
	case res.StatusCode == http.StatusUnauthorized && r.token != "":
		e.Access = true
		e.message = fmt.Sprintf("%s does not exist, or the token is expired or its account has no access: see %s", what, page)
	case res.StatusCode == http.StatusUnauthorized:
		e.Access = true
		e.message = fmt.Sprintf("%s does not exist, or it is private: check the name at %s; a private model needs a token", what, page)
	case res.StatusCode == http.StatusForbidden:
		e.Access = true
		e.message = fmt.Sprintf("access to %s is denied: request access for the account of the token at %s, and use a token with read permission", what, page)
	case res.StatusCode == http.StatusNotFound:
		e.message = fmt.Sprintf("%s does not exist: check the name at %s", what, page)
	default:
		e.message = fmt.Sprintf("%s: %s", what, status(res))
	}
	if said != "" {
		e.message += fmt.Sprintf(" (it says %.300q)", said)
	}
	return e
}

func status(res *http.Response) string {
	return strings.TrimSpace(fmt.Sprintf("status %d %s", res.StatusCode, http.StatusText(res.StatusCode)))
}

// The seconds until a rate limit ends: "api";r=0;t=55.
var rateLimit = regexp.MustCompile(`(?:^|;)\s*t\s*=\s*(\d{1,9})`)

// retryAfter returns the wait that a server requests, or 0.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if n, err := strconv.ParseUint(value, 10, 30); err == nil {
		return time.Duration(n) * time.Second
	}
	if t, err := http.ParseTime(value); err == nil {
		return max(0, t.Sub(now))
	}
	if match := rateLimit.FindStringSubmatch(h.Get("RateLimit")); match != nil && value == "" {
		n, _ := strconv.ParseUint(match[1], 10, 30) // at most nine digits
		return time.Duration(n) * time.Second
	}
	return 0
}
