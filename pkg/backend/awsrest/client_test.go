package awsrest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"

	"glossa/pkg/backend/awsrest/sigv4test"
)

const secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"

func configuration() aws.Config {
	return aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", secret, "a session")}
}

func newClient(t testing.TB, endpoint, token string) *Client {
	t.Helper()
	c, err := New(Bedrock(), configuration(), endpoint, token)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// verify checks the signature of a request as AWS does.
func verify(r *http.Request, body []byte, region, service string) error {
	s, err := sigv4test.Read(r)
	if err != nil {
		return err
	}
	if code := s.Verify(r, body, secret, time.Now()); code != "" || s.Region != region || s.Service != service {
		return fmt.Errorf("%s, for %s in %s", code, s.Service, s.Region)
	}
	for _, name := range []string{"x-amz-date", "x-amz-security-token", "content-type"} {
		if !slices.Contains(s.Headers, name) {
			return fmt.Errorf("%s is not signed: %s", name, s.Headers)
		}
	}
	return nil
}

// Requests are the same as those of the SDK's client, with valid signatures.
func TestPost(t *testing.T) {
	type arrival struct {
		path, body string
		header     http.Header
	}
	var got []arrival
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if err := verify(r, b, "us-east-1", "bedrock"); err != nil {
			t.Error(err)
		}
		got = append(got, arrival{r.RequestURI, string(b), r.Header})
		w.Header().Set("X-Answer", "yes")
		_, _ = io.WriteString(w, "an answer")
	}))
	defer server.Close()
	ids := []string{
		"anthropic.claude-v2:1", "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2", "a b%2F?#ü+&=;,@!$'()*~._-", "..", "",
	}
	for _, prefix := range []string{"", "/base"} {
		sdk := bedrockruntime.NewFromConfig(configuration(), func(o *bedrockruntime.Options) { o.BaseEndpoint = aws.String(server.URL + prefix) })
		for _, id := range ids {
			got = nil
			a, err := newClient(t, server.URL+prefix+"/", "").Operation(http.Header{"Accept": {"application/json"}}, "model", id, "invoke").Post(t.Context(), []byte(`{"a": 1}`))
			if err != nil {
				t.Fatal(id, err)
			}
			if b, err := a.Whole(); err != nil || string(b) != "an answer" || a.Header.Get("X-Answer") != "yes" {
				t.Errorf("%q %v", b, err)
			}
			_, err = sdk.InvokeModel(t.Context(), &bedrockruntime.InvokeModelInput{
				ModelId: &id, Body: []byte(`{"a": 1}`), ContentType: aws.String("application/json"), Accept: aws.String("application/json"),
			})
			if id == "" {
				continue // the SDK refuses to send it
			}
			if err != nil || len(got) != 2 {
				t.Fatal(id, err)
			}
			ours, theirs := got[0], got[1]
			if ours.path != theirs.path || ours.body != theirs.body {
				t.Errorf("%q: %+v, the SDK %+v", id, ours, theirs)
			}
			for _, name := range []string{"Accept", "Content-Type", "Content-Length", "X-Amz-Security-Token", "Accept-Encoding"} {
				if ours.header.Get(name) != theirs.header.Get(name) {
					t.Errorf("%s: %q, the SDK %q", name, ours.header.Get(name), theirs.header.Get(name))
				}
			}
		}
	}
}

// An API key replaces the signature.
func TestToken(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer abc" || r.Header.Get("X-Amz-Date") != "" || r.Header.Get("User-Agent") != "glossa/devel" {
			t.Errorf("%q", r.Header)
		}
	}))
	defer server.Close()
	a, err := newClient(t, server.URL, "abc").Operation(nil, "x").Post(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	a.Close()
}

// net/http can read the body again, for idle connections that were closed.
func TestBodyAgain(t *testing.T) {
	r, err := newClient(t, "http://x", "").Operation(nil, "x").request(t.Context(), []byte("the body"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		body, err := r.GetBody()
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(body); err != nil || string(b) != "the body" {
			t.Errorf("%q %v", b, err)
		}
	}
}

// Errors have the service's name, message and details, wherever the answer holds them.
func TestErrors(t *testing.T) {
	for _, test := range []struct{ header, body, name, message string }{
		{"ThrottlingException", `{"message": "slow"}`, "ThrottlingException", "slow"},
		{"ThrottlingException:http://internal.amazon.com/coral/", `{"Message": "slow"}`, "ThrottlingException", "slow"},
		{"aws.protocoltests#FooError:http://x", `{}`, "FooError", ""},
		{"", `{"__type": "com.amazon.coral#InternalFailure", "message": "m"}`, "InternalFailure", "m"},
		{"", `{"code": "UnknownOperationException"}`, "UnknownOperationException", ""},
		{"", `{"code": 5, "message": 6}`, "", ""},
		{"", `<html>`, "", ""},
		{"", ``, "", ""},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if test.header != "" {
				w.Header().Set("X-Amzn-Errortype", test.header)
			}
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, test.body)
		}))
		_, err := newClient(t, server.URL, "").Operation(nil, "x").Post(t.Context(), nil)
		server.Close()
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Name != test.name || e.Message != test.message || string(e.Body) != test.body || e.Status != http.StatusTeapot || e.Header.Get("Retry-After") != "3" || e.MidStream {
			t.Errorf("%+v: %+v", test, e)
		}
		if test.message != "" && strings.Contains(err.Error(), test.message) {
			t.Errorf("the text %q tells what the service said", err)
		}
	}
	_, err := newClient(t, "http://127.0.0.1:1", "").Operation(nil, "x").Post(t.Context(), nil)
	if e, ok := errors.AsType[*Error](err); !ok || e.Status != 0 || errors.Unwrap(e) == nil {
		t.Errorf("nobody there: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	cancel()
	if _, err := newClient(t, "http://127.0.0.1:1", "").Operation(nil, "x").Post(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// New returns the errors of missing credentials and invalid addresses unchanged.
func TestNew(t *testing.T) {
	none := errors.New("none")
	cfg := configuration()
	cfg.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return aws.Credentials{}, none })
	c, err := New(Bedrock(), cfg, "http://127.0.0.1:1", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Operation(nil, "x").Post(t.Context(), nil); err != none {
		t.Error(err)
	}
	for _, wrong := range []string{"localhost:8000", "ftp://x", "https://", "http://a b", "::"} {
		if _, err := New(Bedrock(), cfg, wrong, ""); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}

// An answer is read to its end, but not beyond the bound.
func TestWhole(t *testing.T) {
	for _, test := range []struct {
		name   string
		length int64
		body   io.Reader
		want   int64 // bytes; < 0: an error
	}{
		{"empty", 0, strings.NewReader(""), 0},
		{"length told", 3, strings.NewReader("abc"), 3},
		{"length not told", -1, strings.NewReader("abc"), 3},
		{"a length that is made up", maxAnswer, strings.NewReader("abc"), 3},
		{"too long, told", maxAnswer + 1, strings.NewReader(""), -1},
		{"too long, not told", -1, io.LimitReader(zeros{}, maxAnswer+1), -1},
		{"broken off", -1, io.MultiReader(strings.NewReader("abc"), broken{}), -1},
	} {
		closed := &closing{Reader: test.body}
		b, err := (&Answer{body: closed, length: test.length}).Whole()
		if (err != nil) != (test.want < 0) || err == nil && int64(len(b)) != test.want || !closed.done {
			t.Errorf("%s: %d bytes, %v, closed %v", test.name, len(b), err, closed.done)
		}
		if e, ok := errors.AsType[*Error](err); err != nil && (!ok || e.Status != http.StatusOK) {
			t.Errorf("%s: %+v", test.name, err)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

type closing struct {
	io.Reader
	done bool
}

func (c *closing) Close() error { c.done = true; return nil }

// Escapes in the base URL stay, and segments are escaped.
func TestPaths(t *testing.T) {
	for base, want := range map[string]string{
		"https://host": "/model/a%2Fb/invoke", "https://host/": "/model/a%2Fb/invoke", "https://host/x/": "/x/model/a%2Fb/invoke",
		"https://host/x%2Fy": "/x%2Fy/model/a%2Fb/invoke",
	} {
		op := newClient(t, base, "").Operation(nil, "model", "a/b", "invoke")
		if got := op.url.EscapedPath(); got != want {
			t.Errorf("%s: %s, want %s", base, got, want)
		}
	}
}
