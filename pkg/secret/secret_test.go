package secret

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Reference{
		"env:LLM_KEY":                      {Env, "LLM_KEY", ""},
		"secretsmanager:glossa/llm":        {Manager, "glossa/llm", ""},
		"secretsmanager:glossa/llm#apiKey": {Manager, "glossa/llm", "apiKey"},
		"secretsmanager:arn:aws:secretsmanager:eu-west-1:123456789012:secret:glossa/llm-AbCdEf": {Manager, "arn:aws:secretsmanager:eu-west-1:123456789012:secret:glossa/llm-AbCdEf", ""},
		"ssm:/glossa/llm":            {Parameter, "/glossa/llm", ""},
		"env:hf_endpoint_production": {Env, "hf_endpoint_production", ""}, "ssm:fw-eu-west": {Parameter, "fw-eu-west", ""},
	} {
		if got, err := Parse(text); got != want || err != nil || got.String() != text {
			t.Errorf("%s: %+v %v", text, got, err)
		}
	}
	for _, text := range []string{"", "sk-0123456789", "env:9", "env:A B", "vault:x", "ssm:a b", "secretsmanager:#a", "Bearer:x",
		"secretsmanager:sk-proj-0123456789abcdef", "env:sk_0123456789abcdef", "ssm:0123456789abcdef0123456789abcdef",
		"env:AWS_SECRET_ACCESS_KEY", "env:AWS_SESSION_TOKEN", "env:aws_bearer_token_bedrock", "env:GLOSSA_KEYS", "env:UPLOAD_SECRET", "env:HF_TOKEN",
	} {
		if _, err := Parse(text); err == nil || text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func value(t *testing.T, s *Store, text string) *Value {
	t.Helper()
	r, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s.Value(r)
}

// TestKept: a secret is read once in five minutes, and again if it is rejected.
func TestKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads, text := 0, "one\n"
		var failed error
		s := &Store{Fetch: func(context.Context, Reference) (string, error) { reads++; return text, failed }}
		v := value(t, s, "ssm:/a")
		get := func(want string, reading int) {
			t.Helper()
			if got, err := v.Get(t.Context()); got != want || err != nil || reads != reading {
				t.Errorf("%q %v after %d reads", got, err, reads)
			}
		}
		get("one", 1)
		get("one", 1)
		time.Sleep(Keep)
		get("one", 2)
		text = "two"
		get("one", 2)
		v.Forget("another")
		get("one", 2)
		v.Forget("one")
		get("two", 3)
		v.Forget("two")
		get("two", 3) // another was rejected a moment ago
		time.Sleep(Pause)
		v.Forget("two")
		failed = errors.New("denied")
		for range 3 {
			if _, err := v.Get(t.Context()); err == nil || err.Error() != "the key ssm:/a cannot be read: denied" || reads != 4 {
				t.Error(err, reads)
			}
		}
		failed = nil
		time.Sleep(Pause)
		get("two", 5)
	})
}

// The failure of a caller that gave up is not that of others.
func TestGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &Store{Fetch: func(ctx context.Context, _ Reference) (string, error) { return "a", ctx.Err() }}
	v := value(t, s, "ssm:/a")
	cancel()
	if _, err := v.Get(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got, err := v.Get(t.Context()); got != "a" || err != nil {
		t.Error(got, err)
	}
}

func TestValues(t *testing.T) {
	texts := map[string]string{"plain": "a", "json": `{"k":"b","n":1}`, "empty": " ", "lines": "a\nb", "header": "a\r\nX: y"}
	s := &Store{
		Getenv: func(name string) string { return texts[name] },
		Fetch:  func(_ context.Context, r Reference) (string, error) { return texts[r.Name], nil },
	}
	for ref, want := range map[string]string{
		"env:plain": "a", "secretsmanager:plain": "a", "secretsmanager:json#k": "b",
		"env:none": "the key env:none is not set", "env:empty": "the key env:empty is not set", "ssm:empty": "the key ssm:empty is not set",
		"secretsmanager:json#n": "the secret has no such member", "secretsmanager:json#x": "the secret has no such member", "secretsmanager:plain#k": "is not a JSON object",
		"env:lines": "has characters that no key has", "ssm:header": "has characters that no key has",
	} {
		got, err := value(t, s, ref).Get(t.Context())
		if err != nil {
			got = err.Error()
		}
		if got != want && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("%s: %q", ref, got)
		}
	}
}
