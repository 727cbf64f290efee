package app

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"glossa/pkg/backend/awsrest"
	"glossa/pkg/backend/backendtest"
)

// toContinue returns the requests of every dialect that ask for a text.
func toContinue() (list []int) {
	for i, c := range asked {
		if c.needs == "" {
			list = append(list, i)
		}
	}
	return list
}

// statusOf returns a dialect's status for a status.
func statusOf(path string, status int) int {
	switch {
	case path == "/invoke" && status != 429:
		return 200 // the body has the error
	case path == "/complete" && status == 504:
		return 408
	case strings.HasPrefix(path, "/api/") && status == 404:
		return 400
	}
	return status
}

// ofLamini maps statuses to Lamini's.
var ofLamini = map[int]int{400: 422, 404: 594, 429: 429, 502: 502, 504: 524}

// Errors of a provider have a status and the shape of the dialect.
func TestRemoteFaults(t *testing.T) {
	m := &remoteModels[0]
	for name, test := range map[string]struct {
		status  int // of the provider
		want    int
		message string
	}{
		"ThrottlingException":       {429, 429, "the remote model is at capacity: why"},
		"ModelErrorException":       {424, 502, "the remote model failed"},
		"ModelTimeoutException":     {408, 504, "the remote model timed out"},
		"InternalServerException":   {500, 502, "the remote model failed"},
		"AccessDeniedException":     {403, 502, "the provider denies access to the model: why"},
		"ValidationException":       {400, 400, "the remote model rejected the request: why"},
		"ResourceNotFoundException": {404, 404, "the provider has no such model: why"},
	} {
		a, _ := remoteApp(t, m, Config{}, func(_ int, _ *backendtest.Request, w *backendtest.Reply) {
			w.Header().Set("Retry-After", "30") // longer than retries take
			w.Fail(test.status, name, `{"message":"why"}`)
		})
		h := a.Handler()
		doc := load(t, h)
		for _, i := range toContinue() {
			c := &asked[i]
			res := ask(h, c.method, m.fill(c.path), "", strings.NewReader(m.fill(c.body)))
			got, want := text(t, res), statusOf(c.path, test.want)
			if dialectOf(c.path, c.body) == "ollama" {
				want = test.want
			}
			pattern, _, _ := strings.Cut(strings.ReplaceAll(c.path, "MODEL", "{engine_id}"), "?")
			if err := fits(doc, c.method, pattern, res, got); err != nil {
				t.Errorf("%s: %s: %v", name, c.path, err)
			}
			if strings.HasPrefix(c.body, `{"model_name"`) {
				want = ofLamini[test.want]
			}
			if res.StatusCode != want || !strings.Contains(got, test.message) || !has(got, strings.TrimSuffix(c.refusal, ".message")) {
				t.Errorf("%s: %s: %d %s, want %d", name, c.path, res.StatusCode, got, want)
			}
			if after := res.Header.Get("Retry-After"); (after == "30") != (want == 429) && test.want == 429 {
				t.Errorf("%s: %s: Retry-After %q", name, c.path, after)
			}
		}
	}
}

// If an overloaded provider sends no Retry-After, the answer to the client has one.
func TestRemoteThrottled(t *testing.T) {
	m := &remoteModels[2]
	a, service := remoteApp(t, m, Config{}, func(_ int, _ *backendtest.Request, w *backendtest.Reply) {
		w.Fail(429, "ThrottlingException", `{"message":"why"}`)
	})
	res := ask(a.Handler(), "POST", "/v1/completions", "", strings.NewReader(m.fill(`{"model":"MODEL","prompt":"a"}`)))
	if res.StatusCode != 429 || res.Header.Get("Retry-After") != "1" || len(service.Requests()) != 3 {
		t.Errorf("%d after %q, %d calls", res.StatusCode, res.Header.Get("Retry-After"), len(service.Requests()))
	}
}

// An expiring context has a deadline that passes when expire is called.
type expiring struct {
	context.Context
	done   chan struct{}
	expire func()
}

func newExpiring(ctx context.Context) *expiring {
	done := make(chan struct{})
	return &expiring{ctx, done, sync.OnceFunc(func() { close(done) })}
}

func (e *expiring) Done() <-chan struct{} { return e.done }

func (e *expiring) Err() error {
	select {
	case <-e.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// An expirer records an answer, and ends the context of its request when it has a text.
type expirer struct {
	*httptest.ResponseRecorder
	of   *expiring
	text string
}

func (w *expirer) Write(b []byte) (int, error) {
	n, err := w.ResponseRecorder.Write(b)
	if strings.Contains(w.Body.String(), w.text) {
		w.of.expire()
	}
	return n, err
}

// A deadline that passes before the provider answers is an error in the dialect's shape;
// one that passes later ends the text.
func TestRemoteDeadline(t *testing.T) {
	m := &remoteModels[0]
	for _, begun := range []bool{false, true} {
		for _, c := range streams {
			ctx, said := newExpiring(t.Context()), `"b"`
			if c.path == "/api/chat" { // plain text
				said = "b"
			}
			a, _ := remoteApp(t, m, Config{}, func(_ int, r *backendtest.Request, w *backendtest.Reply) {
				if begun {
					w.Event(strings.ReplaceAll(m.next, "TEXT", `"b"`))
				} else {
					ctx.expire()
				}
				<-r.Gone
			})
			w := &expirer{httptest.NewRecorder(), ctx, said}
			a.Handler().ServeHTTP(w, httptest.NewRequestWithContext(ctx, c.method, m.fill(c.path), strings.NewReader(m.fill(c.body))))
			want := statusOf(c.path, 504)
			if begun {
				want = 200
			}
			if got := w.Body.String(); w.Code != want || strings.Contains(got, said) != begun && c.path != "/api/chat" {
				t.Errorf("%s, begun %v: %d %s", c.path, begun, w.Code, got)
			}
		}
	}
}

// When a client leaves, its provider's connection is closed.
func TestRemoteClientGone(t *testing.T) {
	for i := range remoteModels {
		m := &remoteModels[i]
		asked, closed := make(chan bool, 1), make(chan bool, 1)
		a, _ := remoteApp(t, m, Config{}, func(_ int, r *backendtest.Request, w *backendtest.Reply) {
			if r.Stream {
				w.Event(strings.ReplaceAll(m.next, "TEXT", `"b"`))
			}
			asked <- true
			<-r.Gone
			closed <- true
		})
		server := httptest.NewServer(a.Handler())
		defer server.Close()
		for _, stream := range []string{"true", "false"} {
			ctx, cancel := context.WithCancel(t.Context())
			body := strings.NewReader(m.fill(`{"model":"MODEL","prompt":"a","stream":` + stream + `}`))
			req, err := http.NewRequestWithContext(ctx, "POST", server.URL+"/v1/completions", body)
			if err != nil {
				t.Fatal(err)
			}
			left := make(chan bool)
			go func() {
				defer close(left)
				if res, err := server.Client().Do(req); err == nil {
					_, _ = res.Body.Read(make([]byte, 1<<10))
					_ = res.Body.Close()
				}
			}()
			<-asked
			cancel()
			<-left
			<-closed
		}
	}
}

// Without a region or credentials the first request says what to do; models in this
// process do not need them.
func TestWithoutAWS(t *testing.T) {
	none := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{}, errors.New("no EC2 IMDS role found at 169.254.169.254")
	})
	for remedy, load := range map[string]func() (aws.Config, error){
		"AWS_REGION": func() (aws.Config, error) { return aws.Config{Credentials: none}, nil },
		"AWS_ACCESS_KEY_ID": func() (aws.Config, error) {
			return aws.Config{Region: "us-east-1", Credentials: &identity{source: none}}, nil
		},
	} {
		for i := range remoteModels {
			m := &remoteModels[i]
			a, service := remoteApp(t, m, Config{}, m.converses)
			a.cloud.load = load
			h := a.Handler()
			for _, i := range toContinue() {
				c := &asked[i]
				if isChat(c.path, c.body) && !m.chats {
					continue
				}
				res := ask(h, c.method, m.fill(c.path), "", strings.NewReader(m.fill(c.body)))
				if got := text(t, res); res.StatusCode != statusOf(c.path, 502) || !strings.Contains(got, remedy) || strings.Contains(got, "169.254") || !has(got, c.refusal) {
					t.Errorf("%s: %d %s", c.path, res.StatusCode, got)
				}
			}
			if n := len(service.Requests()); n != 0 {
				t.Errorf("%d requests were sent", n)
			}
			if res := ask(h, "GET", "/v1/models", "", nil); res.StatusCode != 200 {
				t.Errorf("the list: %d", res.StatusCode)
			}
		}
	}
}

// Missing credentials are looked up again after a while, not for each request.
func TestIdentity(t *testing.T) {
	asked := 0
	i := &identity{source: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		if asked++; asked == 1 {
			return aws.Credentials{}, errors.New("none")
		}
		return aws.Credentials{AccessKeyID: "k"}, nil
	})}
	for range 3 {
		if _, err := i.Retrieve(t.Context()); err == nil || asked != 1 {
			t.Errorf("%v after %d", err, asked)
		}
	}
	i.until = time.Now().Add(-time.Nanosecond)
	if c, err := i.Retrieve(t.Context()); err != nil || c.AccessKeyID != "k" || asked != 2 {
		t.Errorf("%v %v after %d", c, err, asked)
	}
}

// A client is made once for each region; an ARN selects its own region.
func TestRemoteClients(t *testing.T) {
	near, other, far := remoteModels[0], remoteModels[0], remoteModels[0]
	other.name = "anthropic.claude-3-sonnet-20240229-v1:0"
	far.name = "arn:aws-us-gov:bedrock:us-gov-west-1:123456789012:inference-profile/us-gov.anthropic.claude-3-haiku-20240307-v1:0"
	signed := map[string]bool{} // the scopes of signatures
	a, _ := remoteApp(t, &near, Config{Records: catalogue(t, near, other, far)}, func(_ int, r *backendtest.Request, w *backendtest.Reply) {
		scope := strings.Split(r.Header.Get("Authorization"), "/")
		signed[scope[2]+" "+scope[3]] = true
		near.says(w, r.Stream, "b")
	})
	h := a.Handler()
	var clients []*awsrest.Client
	for _, m := range []remoteModel{near, other, far} {
		if res := ask(h, "POST", "/v1/completions", "", strings.NewReader(m.fill(`{"model":"MODEL","prompt":"a"}`))); res.StatusCode != 200 {
			t.Errorf("%s: %d %s", m.name, res.StatusCode, text(t, res))
		}
		cfg, err := a.cloud.region("us-east-1")
		if err != nil {
			t.Fatal(err)
		}
		client, err := a.cloud.clients.Get(awsrest.Bedrock(), cfg, "", "")
		if err != nil {
			t.Fatal(err)
		}
		clients = append(clients, client)
	}
	if got := slices.Sorted(maps.Keys(signed)); !slices.Equal(got, []string{"us-east-1 bedrock", "us-gov-west-1 bedrock"}) {
		t.Errorf("signed for %v", got)
	}
	if len(slices.Compact(clients)) != 1 {
		t.Error("the client of a region was made again")
	}
}
