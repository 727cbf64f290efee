package sagemaker

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"glossa/pkg/backend/awsrest"
	"glossa/pkg/backend/backendtest"
	"glossa/pkg/backend/remote"
	"glossa/pkg/llm"
)

func open(target Target) func(url string, m remote.Model) *remote.Backend {
	return func(url string, m remote.Model) *remote.Backend {
		client, err := awsrest.New(awsrest.SageMaker(), aws.Config{Region: "us-east-1", Credentials: backendtest.Credentials()}, url, "")
		if err != nil {
			panic(err) // the service's own URL
		}
		return New(client, target, m)
	}
}

func TestBackend(t *testing.T) {
	s := backendtest.Suite{
		Family: "sagemaker", Open: open(Target{Endpoint: "my-endpoint", InferenceComponent: "llama"}),
		Whole: "/endpoints/my-endpoint/invocations", Stream: "/endpoints/my-endpoint/invocations-response-stream",
		Headers: map[string]string{"X-Amzn-Sagemaker-Custom-Attributes": "accept_eula=true", "X-Amzn-Sagemaker-Inference-Component": "llama"},
		Unknown: func(w *backendtest.Reply) {
			w.Fail(400, "ValidationError", `{"Message": "Endpoint my-endpoint of account 123456789012 not found."}`)
		},
		Throttled: "ThrottlingException", Refused: "ValidationError",
	}
	s.Run(t)
}

// A request to an endpoint without components names none.
func TestNoComponent(t *testing.T) {
	service := backendtest.NewService(t, "sagemaker", func(_ int, r *backendtest.Request, w *backendtest.Reply) {
		if _, ok := r.Header["X-Amzn-Sagemaker-Inference-Component"]; ok {
			t.Error("it is asked for one")
		}
		w.Whole(`{"text": "a"}`)
	})
	b := open(Target{Endpoint: "e"})(service.URL, remote.Model{Schema: backendtest.Parse(t, record)})
	if _, _, err := llm.Collect(b.Generate(t.Context(), &llm.Request{Prompts: []llm.Prompt{llm.Text("p")}}), 1); err != nil {
		t.Error(err)
	}
}

// Errors of the container are distinguished by its own status.
func TestContainer(t *testing.T) {
	for status, want := range map[string]llm.Code{"422": llm.Invalid, "400": llm.Invalid, "429": llm.Overloaded, "500": llm.Upstream, "504": llm.Timeout} {
		service := backendtest.NewService(t, "sagemaker", func(_ int, _ *backendtest.Request, w *backendtest.Reply) {
			w.Fail(424, "ModelError", `{"Message": "Received an error", "OriginalMessage": "too many tokens", "OriginalStatusCode": `+status+`}`)
		})
		b := open(Target{Endpoint: "e"})(service.URL, remote.Model{Schema: backendtest.Parse(t, record), Retry: backendtest.Quick()})
		_, _, err := llm.Collect(b.Generate(t.Context(), &llm.Request{Prompts: []llm.Prompt{llm.Text("p")}}), 1)
		e := llm.AsError(err)
		if reported := e.Message == "the remote model rejected the request: too many tokens"; e.Code != want || reported != (want == llm.Invalid) {
			t.Errorf("%s: %+v", status, e)
		}
	}
}

const record = `{"request": {"defaults": {"in": ""}, "mapping": {"prompt": "$.in"}}, "response": {"mapping": {"generated_text": "$.text"}},
	"response-with-stream": {"regex_sub": "^data:\\s*(\\[DONE\\]\\s*$)?", "mapping": {"generated_text": "$.text"}}}`

// The test cuts the parts at every byte.
func TestParts(t *testing.T) {
	const text = "data: {\"text\": \"né \"}\r\n\r\n: still here\n\n\ndata: {\"text\": \"日本\"}\ndata: [DONE]\n\n{\"text\": \"🙂.\"}" // the last line has no end
	for size := 1; size <= len(text); size++ {
		if size > 9 && size < len(text)-2 {
			continue
		}
		service := backendtest.NewService(t, "sagemaker", func(_ int, _ *backendtest.Request, w *backendtest.Reply) {
			for at := 0; at < len(text); at += size {
				w.Part([]byte(text[at:min(at+size, len(text))]))
			}
		})
		b := open(Target{Endpoint: "e"})(service.URL, remote.Model{Schema: backendtest.Parse(t, record)})
		var got []string
		for c, err := range b.Generate(t.Context(), &llm.Request{Prompts: []llm.Prompt{llm.Text("p")}, Stream: true}) {
			if err != nil {
				t.Fatal(size, err)
			}
			if c.Text != "" {
				got = append(got, c.Text)
			}
		}
		if len(got) != 3 || got[0] != "né " || got[1] != "日本" || got[2] != "🙂." {
			t.Errorf("size %d: %q", size, got)
		}
	}
}

// Cutting anywhere gives the same lines.
func TestLines(t *testing.T) {
	const text = "data: {\"a\": \"é日\"}\n\n\r\n:\n{}\n \n[1]"
	for cut := range len(text) + 1 {
		parts := func(yield func([]byte, error) bool) {
			_ = yield([]byte(text[:cut]), nil) && yield([]byte(text[cut:]), nil)
		}
		var got []string
		for p, err := range lines(parts) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(p.Body))
		}
		if len(got) != 3 || got[0] != `data: {"a": "é日"}` || got[1] != "{}" || got[2] != "[1]" {
			t.Errorf("cut at %d: %q", cut, got)
		}
	}
	long := func(yield func([]byte, error) bool) {
		for range 20 {
			if !yield(make([]byte, 1<<20), nil) {
				return
			}
		}
	}
	for _, err := range lines(long) {
		if llm.AsError(err).Code != llm.Upstream {
			t.Error(err)
		}
	}
}
