package runtimeapi_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"glossa/pkg/host/runtimeapi"
)

// seen is an Invoker that records the event and gives an empty answer.
type seen struct{ event events.APIGatewayProxyRequest }

func (s *seen) Invoke(_ context.Context, event []byte) (*runtimeapi.Response, error) {
	s.event = events.APIGatewayProxyRequest{}
	if err := json.Unmarshal(event, &s.event); err != nil {
		return nil, err
	}
	return nil, &runtimeapi.FunctionError{Type: "none"}
}

// TestREST checks that the caller chooses resources, media types and the API's own answers.
func TestREST(t *testing.T) {
	s := &seen{}
	door := func(binary string) http.Handler {
		return runtimeapi.RESTAPI(s, runtimeapi.REST{
			Stage:    "dev",
			Resource: func(path string) (string, map[string]string) { return "/v1/{id}", map[string]string{"id": path[4:]} },
			Binary:   func(mediaType string) bool { return mediaType == binary || binary == "*/*" },
			Fail: func(w http.ResponseWriter, status int, message, reason string) {
				http.Error(w, message+": "+reason, status+1)
			},
		})
	}
	for _, test := range []struct {
		binary, kind, body string
		isBase64           bool
		text               string // of the event
	}{
		{"*/*", "application/json", `{"é":1}`, true, ""},
		{"*/*", "", "a", true, ""},
		{"*/*", "application/json", "", false, ""},
		{"application/json", "", "a", true, ""},
		{"image/png", "application/json; charset=utf-8", `{"é":1}`, false, `{"é":1}`},
		{"image/png", "image/png", "\xff\x00", true, ""},
		{"image/png", "application/octet-stream", "a\xff\x00", false, "a\uFFFD\x00"}, // as API Gateway converts it
	} {
		r := httptest.NewRequest("POST", "/dev/v1/a%2Fb", strings.NewReader(test.body))
		if test.kind != "" {
			r.Header.Set("Content-Type", test.kind)
		}
		w := httptest.NewRecorder()
		door(test.binary).ServeHTTP(w, r)
		if test.isBase64 {
			test.text = base64.StdEncoding.EncodeToString([]byte(test.body))
		}
		e := s.event
		if e.Body != test.text || e.IsBase64Encoded != test.isBase64 {
			t.Errorf("%q of %q where %s is binary: %q, %v", test.body, test.kind, test.binary, e.Body, e.IsBase64Encoded)
		}
		if e.Resource != "/v1/{id}" || e.RequestContext.ResourcePath != e.Resource || e.PathParameters["id"] != "a%2Fb" || e.Path != "/v1/a%2Fb" || e.RequestContext.Stage != "dev" {
			t.Errorf("%+v", e)
		}
		if w.Code != 503 || !strings.HasPrefix(w.Body.String(), "Internal server error: ") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}

// TestKill checks that a killed process fails its invocation, and that the next one starts
// another.
func TestKill(t *testing.T) {
	leakFree(t)
	c := newCallbacks(t)
	f := start(t, options(t, "streamed", c))
	first := f.PID()
	if _, err := os.FindProcess(first); first == 0 || err != nil {
		t.Fatalf("process %d: %v", first, err)
	}
	resp, err := f.Invoke(t.Context(), urlEvent("/stream"))
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-resp.Ended():
		t.Error("it has ended before it was killed")
	default:
	}
	f.Kill()
	_, err = io.ReadAll(resp)
	functionError(t, err, "Runtime.ExitError", "killed")
	<-resp.Ended()
	if err := resp.Close(); err != nil {
		t.Error(err)
	}
	mustServe(t, f, 2)
	if f.PID() == first {
		t.Error("it is the same process")
	}
}
