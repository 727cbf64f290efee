// Package canary asks each family of functions one question, as a client would, and says
// which answers are wrong. It asks new versions before they get traffic, and those in use
// from time to time. It refuses to know what starts it, how a function is called and how
// credentials are made.
package canary

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Models are the models that are asked.
type Models struct {
	Text      string // continues texts
	Embedding string // embeds texts
}

// ParseModels reads "TEXT,EMBEDDING".
func ParseModels(list string) (Models, error) {
	text, embedding, ok := strings.Cut(list, ",")
	if !ok || text == "" || embedding == "" || strings.Contains(embedding, ",") {
		return Models{}, fmt.Errorf("%q is not TEXT,EMBEDDING: a model that continues texts and one that embeds them", list)
	}
	return Models{text, embedding}, nil
}

// A Canary asks questions.
type Canary struct {
	Models Models
	// Invoke calls a function with an event and returns its answer. An error means that the
	// function failed.
	Invoke func(ctx context.Context, function string, event []byte) ([]byte, error)
	// Key returns a new API key, and what revokes it; nil: callers need none.
	Key func(ctx context.Context) (key string, revoke func(context.Context) error, err error)
	// Pause is the time before a busy function is asked again; 0 is [Pause].
	Pause time.Duration
}

// Pause is the default of [Canary].Pause.
const Pause = 2 * time.Second

// tries is how often a function that is busy is asked.
const tries = 5

// Ask asks each function its family's question. The error names the families whose answer is
// wrong, with the reason, and nothing of what a model wrote.
func (c *Canary) Ask(ctx context.Context, functions map[string]string) error {
	if c.Key == nil {
		return c.askAll(ctx, functions, "")
	}
	key, revoke, err := c.Key(ctx)
	if err != nil {
		return fmt.Errorf("no key: %w", err)
	}
	err = c.askAll(ctx, functions, key)
	if failed := revoke(context.WithoutCancel(ctx)); failed != nil {
		err = errors.Join(err, fmt.Errorf("the key is not revoked: %w", failed))
	}
	return err
}

// askAll asks all functions at the same time.
func (c *Canary) askAll(ctx context.Context, functions map[string]string, key string) error {
	questions := Questions(c.Models)
	var all sync.WaitGroup
	var mu sync.Mutex
	var wrong []string
	for family, function := range functions {
		all.Go(func() {
			q, ok := questions[family]
			err := errors.New("there is no question for it")
			if ok {
				err = c.ask(ctx, function, q, key)
			}
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				wrong = append(wrong, family+": "+err.Error())
			}
		})
	}
	all.Wait()
	if wrong == nil {
		return nil
	}
	slices.Sort(wrong)
	return errors.New(strings.Join(wrong, "; "))
}

// ask asks a function, and again while it is busy.
func (c *Canary) ask(ctx context.Context, function string, q Question, key string) error {
	event, err := q.event(key)
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		answer, err := c.Invoke(ctx, function, event)
		if err != nil {
			return err
		}
		status, err := q.check(answer)
		busy := status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
		if err == nil || !busy || try == tries {
			return err
		}
		select {
		case <-time.After(cmp.Or(c.Pause, Pause)):
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}

// event returns the event of a question: a request as an HTTP API passes it on, which functions
// answer in one piece.
//
// Source: Amazon API Gateway Developer Guide, "AWS Lambda proxy integrations for HTTP APIs",
// payload format 2.0.
func (q Question) event(key string) ([]byte, error) {
	header := map[string]string{"content-type": "application/json", "user-agent": "glossa-canary"}
	if key != "" {
		header["authorization"] = "Bearer " + key
	}
	return json.Marshal(map[string]any{
		"version": "2.0", "routeKey": "$default", "rawPath": q.Path, "rawQueryString": "", "headers": header,
		"requestContext": map[string]any{
			"stage": "$default", "requestId": "canary", "http": map[string]string{"method": q.Method, "path": q.Path, "sourceIp": "127.0.0.1"},
		},
		"body": q.Body, "isBase64Encoded": false,
	})
}

// maxReason is the longest part of an error's answer that is reported, in bytes.
const maxReason = 300

// check returns the status of an answer, and an error if it is not the one expected.
func (q Question) check(answer []byte) (status int, err error) {
	var a struct {
		StatusCode int    `json:"statusCode"`
		Body       string `json:"body"`
		Encoded    bool   `json:"isBase64Encoded"`
	}
	if err := json.Unmarshal(answer, &a); err != nil || a.StatusCode == 0 {
		return 0, fmt.Errorf("%s %s: the answer is not that of an API: %.100q", q.Method, q.Path, answer)
	}
	if a.Encoded {
		body, err := base64.StdEncoding.DecodeString(a.Body)
		if err != nil {
			return a.StatusCode, fmt.Errorf("%s %s: the body is not in base64", q.Method, q.Path)
		}
		a.Body = string(body)
	}
	if a.StatusCode != http.StatusOK {
		return a.StatusCode, fmt.Errorf("%s %s: status %d: %s", q.Method, q.Path, a.StatusCode, strings.TrimSpace(a.Body[:min(len(a.Body), maxReason)]))
	}
	var body any
	if err := json.Unmarshal([]byte(a.Body), &body); err != nil {
		return a.StatusCode, fmt.Errorf("%s %s: the body is not JSON", q.Method, q.Path)
	}
	if !has(body, strings.Split(q.Answer, ".")) {
		return a.StatusCode, fmt.Errorf("%s %s: the answer has no %s", q.Method, q.Path, q.Answer)
	}
	return a.StatusCode, nil
}

// has reports whether there is something at a path of keys; 0 is the first element of a list.
func has(v any, path []string) bool {
	for _, key := range path {
		switch of := v.(type) {
		case map[string]any:
			v = of[key]
		case []any:
			if key != "0" || len(of) == 0 {
				return false
			}
			v = of[0]
		default:
			return false
		}
	}
	return v != nil
}
