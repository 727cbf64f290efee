package remote

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"glossa/pkg/llm"
	"glossa/pkg/schema"
)

// fails fails n times.
type fails struct {
	n     int
	fault Fault
	at    []time.Time
}

func (f *fails) call() (string, error) {
	if f.at = append(f.at, time.Now()); len(f.at) <= f.n {
		return "", &f.fault
	}
	return "fine", nil
}

func (f *fails) pauses() (list []time.Duration) {
	for i := 1; i < len(f.at); i++ {
		list = append(list, f.at[i].Sub(f.at[i-1]))
	}
	return list
}

func TestRetry(t *testing.T) {
	half := func() float64 { return 0.5 }
	for name, test := range map[string]struct {
		fails    fails
		budget   Retry
		deadline time.Duration
		want     []time.Duration
		fine     bool
	}{
		"none":         {fails{}, Retry{}, 0, nil, true},
		"twice":        {fails{n: 2, fault: Fault{retryable: true}}, Retry{Pause: time.Second, Jitter: half}, 0, []time.Duration{500 * time.Millisecond, time.Second}, true},
		"for good":     {fails{n: 1}, Retry{}, 0, nil, false},
		"attempts":     {fails{n: 9, fault: Fault{retryable: true}}, Retry{Attempts: 2, Pause: time.Second, Jitter: half}, 0, []time.Duration{500 * time.Millisecond}, false},
		"told to wait": {fails{n: 1, fault: Fault{retryable: true, RetryAfter: 2 * time.Second}}, Retry{}, 0, []time.Duration{2 * time.Second}, true},
		"total":        {fails{n: 2, fault: Fault{retryable: true, RetryAfter: 3 * time.Second}}, Retry{}, 0, []time.Duration{3 * time.Second}, false},
		"deadline":     {fails{n: 1, fault: Fault{retryable: true, RetryAfter: 2 * time.Second}}, Retry{}, time.Second, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(test.deadline, time.Hour))
				defer cancel()
				v, err := try(ctx, test.budget, test.fails.call)
				if (v == "fine") != test.fine || (err == nil) != test.fine || !slices.Equal(test.fails.pauses(), test.want) {
					t.Errorf("%q %v after %v", v, err, test.fails.pauses())
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) { // cancelled during a pause
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		f, start := fails{n: 1, fault: Fault{retryable: true, RetryAfter: 4 * time.Second}}, time.Now()
		if _, err := try(ctx, Retry{}, f.call); !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
			t.Error(err, time.Since(start))
		}
	})
}

// panics is an endpoint with a bug.
type panics struct{}

func (panics) Call(context.Context, API, []byte) (Payload, error) { panic("here") }
func (panics) Stream(context.Context, API, []byte) (iter.Seq2[Payload, error], error) {
	panic("there")
}

// A panic of a worker reaches the caller that ranges, which can recover from it.
func TestPanic(t *testing.T) {
	s, err := schema.Parse([]byte(`{"request": {"defaults": {"in": ""}, "mapping": {"prompt": "$.in"}}, "response": {"mapping": {}}}`))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if p := recover(); p != "here" {
			t.Error(p)
		}
	}()
	for range New(panics{}, Model{Schema: s}).Generate(t.Context(), &llm.Request{Prompts: []llm.Prompt{llm.Text("p")}}) {
		t.Error("a chunk")
	}
}

func TestPresentable(t *testing.T) {
	for in, want := range map[string]string{
		"User: arn:aws:sts::123456789012:assumed-role/r/i is not authorized": "User: ... is not authorized",
		"see https://console.aws.amazon.com/x?y in account 123456789012.":    "see ... in account ....",
		"no model at s3://bucket/key: look":                                  "no model at ... look",
		"key ASIAIOSFODNN7EXAMPLE\n\tis   old":                               "key ... is old",
		strings.Repeat("é", 400):                                             strings.Repeat("é", 300) + "...",
		"too many tokens: 205000 > 199999 maximum":                           "too many tokens: 205000 > 199999 maximum",
	} {
		if got := presentable(in); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
