package table

import (
	"errors"
	"math/rand/v2"
	"net"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// limits bound one call, because a client waits for it. The SDK's own retryer waits up
// to 2 s and then up to 4 s between its three attempts, and without a deadline it waits
// for an answer for ever; the service normally answers in milliseconds.
type limits struct {
	attempts int
	attempt  time.Duration // the longest attempt, including dialling
	wait     time.Duration // the longest wait before the second attempt; it doubles
}

// defaultLimits returns at most 6.3 s: three attempts and waits of 0.1 s and 0.2 s.
func defaultLimits() limits {
	return limits{attempts: 3, attempt: 2 * time.Second, wait: 100 * time.Millisecond}
}

// options returns the retry options of idempotent calls (safe) and of others (once).
// Idempotent calls are retried after every temporary error. Others (additions, writes
// with conditions) are retried only if they cannot have taken effect: if the service was
// too busy to accept them or was not reached. After a status of 500 or a broken
// connection they may have taken effect. Source: Developer Guide, "Error handling with
// DynamoDB", HTTP status code 5xx.
func (l limits) options(client *dynamodb.Client) (safe, once func(*dynamodb.Options)) {
	given := client.Options().HTTPClient
	if b, ok := given.(*awshttp.BuildableClient); ok && b.GetTimeout() == 0 {
		given = b.WithTimeout(l.attempt)
	}
	tokens := ratelimit.NewTokenRateLimit(retry.DefaultRetryRateTokens) // shared by all calls: a service that is down does not get three requests for each
	with := func(retryables []retry.IsErrorRetryable) func(*dynamodb.Options) {
		retryer := retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts, o.Backoff, o.RateLimiter, o.Retryables = l.attempts, retry.BackoffDelayerFunc(l.delay), tokens, retryables
		})
		return func(o *dynamodb.Options) { o.Retryer, o.HTTPClient = retryer, given }
	}
	return with(retry.DefaultRetryables), with([]retry.IsErrorRetryable{
		retry.NoRetryCanceledError{},
		retry.RetryableErrorCode{Codes: retry.DefaultThrottleErrorCodes},
		retry.IsErrorRetryableFunc(unreached),
	})
}

// delay returns the wait after an attempt, counted from 1. It is random, so that clients
// that failed together do not return together.
func (l limits) delay(attempt int, _ error) (time.Duration, error) {
	return rand.N(l.wait << max(attempt-1, 0)), nil
}

// unreached reports whether there was no connection.
func unreached(err error) aws.Ternary {
	if e, ok := errors.AsType[*net.OpError](err); !ok || e.Op != "dial" {
		return aws.UnknownTernary
	}
	return retry.RetryableConnectionError{}.IsErrorRetryable(err)
}
