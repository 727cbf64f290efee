package awsrest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// serviceAt returns the client of a service that handle answers.
func serviceAt(t *testing.T, s Service, handle http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	c, err := New(s, aws.Config{Region: "eu-west-1", BaseEndpoint: &server.URL, HTTPClient: server.Client(), Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", "")}, "", "")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestInvoke(t *testing.T) {
	c := serviceAt(t, Lambda(), func(w http.ResponseWriter, r *http.Request) {
		if r.URL.EscapedPath() != "/2015-03-31/functions/f%3A7/invocations" || r.Header.Get("X-Amz-Invocation-Type") != "" {
			t.Errorf("%s %v", r.URL.EscapedPath(), r.Header)
		}
		body, _ := io.ReadAll(r.Body)
		switch string(body) {
		case `"throttled"`:
			w.Header().Set("X-Amzn-Errortype", "TooManyRequestsException")
			w.WriteHeader(http.StatusTooManyRequests)
		case `"crash"`:
			w.Header().Set("X-Amz-Function-Error", "Unhandled")
			_, _ = io.WriteString(w, `{"errorMessage":"exit status 2"}`)
		default:
			_, _ = w.Write(body)
		}
	})
	if answer, err := c.Invoke(t.Context(), "f:7", []byte(`{"a":1}`)); err != nil || string(answer) != `{"a":1}` {
		t.Errorf("%s %v", answer, err)
	}
	for event, want := range map[string]string{`"crash"`: "the function failed (Unhandled)", `"throttled"`: "TooManyRequestsException"} {
		if _, err := c.Invoke(t.Context(), "f:7", []byte(event)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", event, err)
		}
	}
}

func TestReportHook(t *testing.T) {
	var got []string
	c := serviceAt(t, CodeDeploy(), func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, r.Header.Get("X-Amz-Target")+" "+r.Header.Get("Content-Type")+" "+string(body))
		if strings.Contains(string(body), "d-2") {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"__type":"DeploymentDoesNotExistException","message":"no"}`)
			return
		}
		_, _ = io.WriteString(w, `{"lifecycleEventHookExecutionId":"e"}`)
	})
	for _, succeeded := range []bool{true, false} {
		if err := c.ReportHook(t.Context(), "d-1", "e", succeeded); err != nil {
			t.Error(err)
		}
	}
	if err := c.ReportHook(t.Context(), "d-2", "e", true); err == nil || !strings.Contains(err.Error(), "DeploymentDoesNotExistException") {
		t.Errorf("%v", err)
	}
	const call = "CodeDeploy_20141006.PutLifecycleEventHookExecutionStatus application/x-amz-json-1.1 "
	if want := call + `{"deploymentId":"d-1","lifecycleEventHookExecutionId":"e","status":"Succeeded"}`; got[0] != want {
		t.Errorf("%s, want %s", got[0], want)
	}
	if want := call + `{"deploymentId":"d-1","lifecycleEventHookExecutionId":"e","status":"Failed"}`; got[1] != want {
		t.Errorf("%s, want %s", got[1], want)
	}
}
