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

// limits bound one call: somebody waits for its answer. The SDK's own retryer waits up
// to 2 s and then up to 4 s between its three attempts, and without a deadline it waits
// for an answer for ever; the service answers in milliseconds when it can.
type limits struct {
	attempts int
	attempt  time.Duration // the longest one, dialling included
	wait     time.Duration // the longest before the second attempt; it doubles
}

// usual is at most 6.3 s: three attempts and waits of 0.1 s and 0.2 s.
func usual() limits {
	return limits{attempts: 3, attempt: 2 * time.Second, wait: 100 * time.Millisecond}
}

// options sets how calls are repeated. Those that are safe, which come to the same if
// they are done twice, are repeated after every error that may pass. Others (additions,
// writes with conditions) are repeated only if nothing can have happened: if the service
// was too busy to take them or was not reached. After a status of 500 or a connection
// that broke they may have been done.
// Source: Developer Guide, "Error handling with DynamoDB", HTTP status code 5xx.
func (l limits) options(client *dynamodb.Client) (safe, once func(*dynamodb.Options)) {
	given := client.Options().HTTPClient
	if b, ok := given.(*awshttp.BuildableClient); ok && b.GetTimeout() == 0 {
		given = b.WithTimeout(l.attempt)
	}
	tokens := ratelimit.NewTokenRateLimit(retry.DefaultRetryRateTokens) // of all calls: a service that is down is not asked thrice
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

// delay is how long to wait after an attempt, the first of which is 1: at random, so that
// those who failed together do not come again together.
func (l limits) delay(attempt int, _ error) (time.Duration, error) {
	return rand.N(l.wait << max(attempt-1, 0)), nil
}

// unreached says that there was no connection.
func unreached(err error) aws.Ternary {
	if e, ok := errors.AsType[*net.OpError](err); !ok || e.Op != "dial" {
		return aws.UnknownTernary
	}
	return retry.RetryableConnectionError{}.IsErrorRetryable(err)
}
