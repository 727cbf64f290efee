//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Queue is Lambda's queue of asynchronous invocations, and the schedule that fills it too.
//
// Source: AWS Lambda Developer Guide, "Invoking a Lambda function asynchronously": a throttled event
// is tried again for six hours, one whose function failed twice, after a minute and after two.
type Queue struct {
	find func(arn string) (*Fleet, error)
	ctx  context.Context
	stop context.CancelFunc
	wait sync.WaitGroup

	mu     sync.Mutex
	failed int // events whose function failed each time
}

// The pauses before an event is tried again; those of AWS are longer.
const (
	afterThrottle = 500 * time.Millisecond
	afterFailure  = 2 * time.Second
	tries         = 3
)

// startLambda starts the service. find returns the function of an alias, once the functions have started.
func startLambda(t testing.TB, find func(arn string) (*Fleet, error)) (*Queue, string) {
	q := &Queue{find: find}
	q.ctx, q.stop = context.WithCancel(context.WithoutCancel(t.Context()))
	server := httptest.NewServer(q)
	t.Cleanup(server.Close)
	return q, server.URL
}

// Close ends all invocations.
func (q *Queue) Close() {
	q.stop()
	q.wait.Wait()
}

// ServeHTTP implements [http.Handler]: it answers Invoke, which waits for the function unless the
// invocation is an event.
func (q *Queue) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind := r.Header.Get("X-Amz-Invocation-Type")
	list, err := lambdaAccess(region, r)
	if err != nil || kind != "" && kind != "Event" {
		refuse(w, "lambda", http.StatusBadRequest, "InvalidParameterValueException", "only events and requests are known here")
		return
	}
	event, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller has disconnected
	}
	if kind == "" {
		q.wholly(w, list[0].Resource, event)
		return
	}
	if err := q.send(list[0].Resource, event); err != nil {
		refuse(w, "lambda", http.StatusNotFound, "ResourceNotFoundException", err.Error())
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// wholly answers with what the function of an alias or a version answers.
func (q *Queue) wholly(w http.ResponseWriter, arn string, event []byte) {
	f, err := q.find(arn)
	if err != nil {
		refuse(w, "lambda", http.StatusNotFound, "ResourceNotFoundException", err.Error())
		return
	}
	answer, err := f.Invoke(q.ctx, event)
	switch {
	case errors.Is(err, errThrottled):
		refuse(w, "lambda", http.StatusTooManyRequests, "TooManyRequestsException", err.Error())
		return
	case err != nil:
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		fmt.Fprintf(w, `{"errorMessage":%q}`, err)
		return
	}
	_, _ = io.Copy(w, answer) // the caller has disconnected
	_ = answer.Close()
}

// send queues an event for the function of an alias.
func (q *Queue) send(arn string, event []byte) error {
	f, err := q.find(arn)
	if err != nil {
		return err
	}
	q.wait.Go(func() {
		for try := 1; ; {
			err := f.invokeWhole(q.ctx, event)
			pause := afterThrottle
			switch {
			case err == nil || q.ctx.Err() != nil:
				return
			case errors.Is(err, errThrottled):
			case try == tries:
				q.mu.Lock()
				defer q.mu.Unlock()
				q.failed++
				return
			default:
				try++
				pause = afterFailure
			}
			select {
			case <-time.After(pause):
			case <-q.ctx.Done():
			}
		}
	})
	return nil
}

// invokeWhole invokes the function and waits for its end.
func (f *Fleet) invokeWhole(ctx context.Context, event []byte) error {
	answer, err := f.Invoke(ctx, event)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer)
	return errors.Join(err, answer.Close())
}

// A Timer is a rule that sends an event to a function.
type Timer struct {
	Target, Event, Every string
}

// timers returns the rules of the templates, which their functions' permissions must allow.
func timers(s *Stacks) (list []Timer, err error) {
	for _, r := range s.Of("AWS::Events::Rule") {
		rule, err := r.attribute("Arn")
		if err != nil {
			return nil, err
		}
		for _, v := range r.List("Targets") {
			target, _ := v.(map[string]any)
			to := Timer{fmt.Sprint(target["Arn"]), fmt.Sprint(target["Input"]), r.Text("ScheduleExpression")}
			allowed := s.By("AWS::Lambda::Permission", func(p *Resource) bool {
				return p.Text("FunctionName") == to.Target && p.Text("Action") == "lambda:InvokeFunction" && p.Text("Principal") == "events.amazonaws.com" && p.Text("SourceArn") == rule
			})
			if allowed == nil || r.Text("State") != "ENABLED" || !strings.HasPrefix(to.Every, "rate(") {
				return nil, fmt.Errorf("the rule %s may not invoke %s", r.name, to.Target)
			}
			list = append(list, to)
		}
	}
	return list, nil
}
