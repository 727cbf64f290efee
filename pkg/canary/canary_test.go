package canary

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

var models = Models{"text", "embedding"}

// answers returns a canary whose functions give answers in turn, the last one for ever.
func answers(list ...string) (*Canary, *atomic.Int64) {
	var n atomic.Int64
	return &Canary{Models: models, Pause: time.Nanosecond, Invoke: func(_ context.Context, _ string, event []byte) ([]byte, error) {
		i := int(n.Add(1)) - 1
		return []byte(list[min(i, len(list)-1)]), nil
	}}, &n
}

func TestAnswers(t *testing.T) {
	right := `{"statusCode":200,"body":"{\"choices\":[{\"message\":{}}]}"}`
	encoded := `{"statusCode":200,"isBase64Encoded":true,"body":"` + base64.StdEncoding.EncodeToString([]byte(`{"choices":[{"message":{}}]}`)) + `"}`
	busy := `{"statusCode":503,"body":"{\"error\":\"soon\"}"}`
	for name, c := range map[string]struct {
		answers []string
		asked   int64
		wrong   string
	}{
		"right":    {[]string{right}, 1, ""},
		"encoded":  {[]string{encoded}, 1, ""},
		"busy":     {[]string{busy, `{"statusCode":429,"body":""}`, right}, 3, ""},
		"too busy": {[]string{busy}, tries, `openai: POST /v1/chat/completions: status 503: {"error":"soon"}`},
		"refused":  {[]string{`{"statusCode":404,"body":"no"}`, right}, 1, "openai: POST /v1/chat/completions: status 404: no"},
		"long":     {[]string{`{"statusCode":500,"body":"` + strings.Repeat("x", 5000) + `"}`}, 1, "openai: POST /v1/chat/completions: status 500: " + strings.Repeat("x", maxReason)},
		"no API":   {[]string{`null`}, 1, `openai: POST /v1/chat/completions: the answer is not that of an API: "null"`},
		"not JSON": {[]string{`{"statusCode":200,"body":"<html>"}`}, 1, "openai: POST /v1/chat/completions: the body is not JSON"},
		"no bytes": {[]string{`{"statusCode":200,"isBase64Encoded":true,"body":"!"}`}, 1, "openai: POST /v1/chat/completions: the body is not in base64"},
		"empty":    {[]string{`{"statusCode":200,"body":"{\"choices\":[]}"}`}, 1, "openai: POST /v1/chat/completions: the answer has no choices.0.message"},
		"null":     {[]string{`{"statusCode":200,"body":"{\"choices\":[{\"message\":null}]}"}`}, 1, "openai: POST /v1/chat/completions: the answer has no choices.0.message"},
		"other":    {[]string{`{"statusCode":200,"body":"{\"choices\":1}"}`}, 1, "openai: POST /v1/chat/completions: the answer has no choices.0.message"},
	} {
		canary, n := answers(c.answers...)
		err := canary.Ask(t.Context(), map[string]string{"openai": "f:1"})
		if got := errorText(err); got != c.wrong || n.Load() != c.asked {
			t.Errorf("%s: %q after %d questions, want %q after %d", name, got, n.Load(), c.wrong, c.asked)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// The key is sent, and revoked however the questions end.
func TestKey(t *testing.T) {
	for _, failed := range []error{nil, errors.New("throttled")} {
		revoked := 0
		c := &Canary{Models: models, Key: func(context.Context) (string, func(context.Context) error, error) {
			return "secret", func(ctx context.Context) error { revoked++; return failed }, nil
		}, Invoke: func(_ context.Context, function string, event []byte) ([]byte, error) {
			var e struct{ Headers map[string]string }
			if err := json.Unmarshal(event, &e); err != nil || e.Headers["authorization"] != "Bearer secret" || function != "f:1" {
				t.Errorf("%s %s %v", function, event, err)
			}
			return nil, errors.New("crashed")
		}}
		err := c.Ask(t.Context(), map[string]string{"openai": "f:1", "other": "f:1"})
		if revoked != 1 || err == nil || !strings.HasPrefix(err.Error(), "openai: crashed; other: there is no question for it") ||
			failed != nil && !strings.Contains(err.Error(), "the key is not revoked: throttled") {
			t.Errorf("%d times revoked: %v", revoked, err)
		}
	}
	c := &Canary{Models: models, Key: func(context.Context) (string, func(context.Context) error, error) {
		return "", nil, errors.New("no table")
	}}
	if err := c.Ask(t.Context(), nil); err == nil || err.Error() != "no key: no table" {
		t.Error(err)
	}
}

// A canary that is stopped does not wait for a busy function.
func TestStopped(t *testing.T) {
	c, _ := answers(`{"statusCode":429,"body":""}`)
	c.Pause = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Ask(ctx, map[string]string{"openai": "f:1"}); err == nil || !strings.Contains(err.Error(), "status 429") {
		t.Error(err)
	}
}

func TestParseModels(t *testing.T) {
	if m, err := ParseModels("a,b"); err != nil || m != (Models{"a", "b"}) {
		t.Errorf("%+v %v", m, err)
	}
	for _, bad := range []string{"", "a", "a,", ",b", "a,b,c"} {
		if _, err := ParseModels(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}
