package bedrock

import (
	"context"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"glossa/pkg/backend/awsrest"
	"glossa/pkg/backend/backendtest"
	"glossa/pkg/backend/remote"
	"glossa/pkg/llm"
)

func open(id string) func(url string, m remote.Model) *remote.Backend {
	return func(url string, m remote.Model) *remote.Backend {
		client, err := awsrest.New(awsrest.Bedrock(), aws.Config{Region: "us-east-1", Credentials: backendtest.Credentials()}, url, "")
		if err != nil {
			panic(err) // the service's own URL
		}
		return New(client, Target{ID: id}, m)
	}
}

func TestBackend(t *testing.T) {
	s := backendtest.Suite{
		Family: "bedrock", Open: open("anthropic.claude-v2:1"),
		Whole: "/model/anthropic.claude-v2%3A1/invoke", Stream: "/model/anthropic.claude-v2%3A1/invoke-with-response-stream",
		Unknown: func(w *backendtest.Reply) {
			w.Fail(400, "ValidationException", `{"message": "The provided model identifier is invalid."}`)
		},
		Throttled: "throttlingException", Refused: "ValidationException",
	}
	s.Run(t)
}

const record = `{"request": {"defaults": {"in": ""}, "mapping": {"prompt": "$.in"}}, "response": {"mapping": {"generated_text": "$.text"}},
	"response-with-stream": {"mapping": {"generated_text": "$.text"}}}`

// Model ids reach Bedrock unchanged.
func TestIDs(t *testing.T) {
	for id, path := range map[string]string{
		"us.anthropic.claude-sonnet-4-5-20250929-v1:0":                              "us.anthropic.claude-sonnet-4-5-20250929-v1%3A0",
		"global.amazon.nova-2-lite-v1:0":                                            "global.amazon.nova-2-lite-v1%3A0",
		"arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2": "arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Aapplication-inference-profile%2Fa1b2",
	} {
		service := backendtest.NewService(t, "bedrock", func(_ int, _ *backendtest.Request, w *backendtest.Reply) { w.Whole(`{"text": "a"}`) })
		b := open(id)(service.URL, remote.Model{Schema: backendtest.Parse(t, record)})
		if _, _, err := llm.Collect(b.Generate(t.Context(), &llm.Request{Prompts: []llm.Prompt{llm.Text("p")}}), 1); err != nil {
			t.Fatal(err)
		}
		if got := service.Requests()[0].Path; got != "/model/"+path+"/invoke" {
			t.Errorf("%s: %s", id, got)
		}
	}
}

// Usage that the record does not map comes from Bedrock's own counts.
func TestMetrics(t *testing.T) {
	service := backendtest.NewService(t, "bedrock", func(_ int, r *backendtest.Request, w *backendtest.Reply) {
		if !r.Stream {
			w.Header().Set("X-Amzn-Bedrock-Input-Token-Count", "5")
			w.Header().Set("X-Amzn-Bedrock-Output-Token-Count", "3")
			w.Whole(`{"text": "a"}`)
			return
		}
		w.Event(`{"text": "a"}`)
		w.Event(`{"text": "b", "amazon-bedrock-invocationMetrics": {"inputTokenCount": 5, "outputTokenCount": 3, "invocationLatency": 9}}`)
	})
	b := open("m")(service.URL, remote.Model{Schema: backendtest.Parse(t, record)})
	for _, stream := range []bool{false, true} {
		req := &llm.Request{Prompts: []llm.Prompt{llm.Text("p")}, N: 2, Stream: stream}
		_, usage, err := llm.Collect(b.Generate(t.Context(), req), 2)
		if err != nil || usage != (llm.Usage{Input: 10, Output: 6}) {
			t.Errorf("stream %v: %+v %v", stream, usage, err)
		}
	}
	// The counts are reported for Invoke's answers that lack them, and only for those.
	const mapped = `{"request": {"defaults": {"in": ""}, "mapping": {"prompt": "$.in"}}, "response": {"mapping": {"input_tokens": "$.read"}},
		"response-with-stream": {"mapping": {"input_tokens": "$.amazon-bedrock-invocationMetrics.inputTokenCount"}}}`
	for schema, want := range map[string][2]llm.Usage{ // buffered and streamed
		record: {{Input: 5, Output: 3}, {Input: 5, Output: 3}}, mapped: {{Input: 5, Output: 3}, {Output: 3}},
	} {
		for i, stream := range []bool{false, true} {
			var reported []llm.Usage
			b := open("m")(service.URL, remote.Model{
				Schema:  backendtest.Parse(t, schema),
				OnUsage: func(_ context.Context, used llm.Usage) { reported = append(reported, used) },
			})
			for _, err := range b.Invoke(t.Context(), map[string]any{"prompt": "p"}, stream) {
				if err != nil {
					t.Error(err)
				}
			}
			if !slices.Equal(reported, []llm.Usage{want[i]}) {
				t.Errorf("%s, stream %v: %+v, want %+v", schema, stream, reported, want[i])
			}
		}
	}
}

// Chunks are found anywhere in an event; an event without one is an error.
func TestChunk(t *testing.T) {
	for event, want := range map[string]string{
		`{"bytes":"PGE+Pz8/","p":"abc"}`:       "<a>???",
		`{"p":"abc", "bytes" : "PGE+Pz8/"}`:    "<a>???",
		`{"bytes":"PGE+Pz8\/","p":"abc"}`:      "<a>???",
		`{"bytes":"\u0050GE+Pz8\/","p":"abc"}`: "<a>???",
		`{"bytes":""}`:                         "",
		`{"p":"abc"}`:                          "!",
		`{"bytes":null}`:                       "!",
		`{"bytes":5}`:                          "!",
		`{"bytes":"a"}`:                        "!",
		`{"bytes":"....","p":""}`:              "!",
		`{"bytes":"PGE+Pz8`:                    "!",
		``:                                     "!",
	} {
		got, err := decode([]byte("what was there"), []byte(event))
		if (err != nil) != (want == "!") || err == nil && string(got) != want {
			t.Errorf("%s: %q %v", event, got, err)
		}
	}
}
