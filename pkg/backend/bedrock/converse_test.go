package bedrock

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"glossa/pkg/backend/awsrest"
	"glossa/pkg/backend/backendtest"
	"glossa/pkg/backend/remote"
	"glossa/pkg/llm"
)

// both is a model that takes texts by InvokeModel and images by Converse.
const both = `{"request": {"defaults": {"in": ""}, "mapping": {"prompt": "$.in"}},
	"response": {"mapping": {"generated_text": "$.text", "finish_reason": "$.why"}},
	"response-with-stream": {"mapping": {"generated_text": "$.text", "finish_reason": "$.why"}},
	"alternative": {"api": "converse",
		"request": {"defaults": {"messages": []}, "mapping": {"messages": "$.messages"}, "chat": {
			"messages": {"user": {"content": ["{parts}"]}, "assistant": {"content": ["{parts}"]}}}},
		"response": {"mapping": {"generated_text": "$.output.message.content[*].text", "finish_reason": "$.stopReason"}},
		"response-with-stream": {"mapping": {"generated_text": "$.contentBlockDelta.delta.text", "finish_reason": "$.messageStop.stopReason"}}}}`

// A guardrail is named in the headers of InvokeModel and in the body of Converse, and the
// text that it puts in place of an answer is told apart.
func TestGuardrail(t *testing.T) {
	for _, guardrail := range []Guardrail{{}, {ID: "a1b2", Version: "3"}, {ID: "a1b2", Version: "3", Trace: "enabled"}} {
		service := backendtest.NewService(t, "bedrock", func(_ int, r *backendtest.Request, w *backendtest.Reply) {
			switch {
			case r.Path == "/model/m/converse-stream":
				w.Event(`{"contentBlockDelta": {"delta": {"text": "No."}, "contentBlockIndex": 0}}`)
				w.Event(`{"messageStop": {"stopReason": "guardrail_intervened"}}`)
			case r.Path == "/model/m/converse":
				w.Whole(`{"output": {"message": {"content": [{"text": "No."}]}}, "stopReason": "guardrail_intervened"}`)
			case r.Stream:
				w.Event(`{"text": "No.", "why": "end_turn"}`)
				w.Event(`{"amazon-bedrock-guardrailAction": "INTERVENED"}`)
			default:
				w.Whole(`{"text": "No.", "why": "end_turn", "amazon-bedrock-guardrailAction": "INTERVENED"}`)
			}
		})
		client, err := awsrest.New(awsrest.Bedrock(), aws.Config{Region: "us-east-1", Credentials: backendtest.Credentials()}, service.URL, "")
		if err != nil {
			t.Fatal(err)
		}
		b := New(client, Target{ID: "m", Guardrail: guardrail}, remote.Model{Schema: backendtest.Parse(t, both)})
		text, chat := llm.Text("p"), llm.Prompt{Messages: []llm.Message{{Role: "user", Parts: []llm.Part{{Text: "p"}}}}}
		for i, want := range []struct {
			prompt llm.Prompt
			stream bool
			path   string
		}{{text, false, "invoke"}, {text, true, "invoke-with-response-stream"}, {chat, false, "converse"}, {chat, true, "converse-stream"}} {
			rows, _, err := llm.Collect(b.Generate(t.Context(), &llm.Request{Prompts: []llm.Prompt{want.prompt}, Stream: want.stream}), 1)
			if err != nil || rows[0].Text != "No." || rows[0].Finish != llm.FinishFiltered {
				t.Errorf("%s: %+v %v", want.path, rows, err)
			}
			r := service.Requests()[i]
			config, _ := json.Marshal(r.Body["guardrailConfig"])
			body, header := "null", ""
			if guardrail.ID != "" && want.prompt.Messages != nil {
				body = `{"guardrailIdentifier":"a1b2","guardrailVersion":"3"}`
				if guardrail.Trace != "" {
					body = `{"guardrailIdentifier":"a1b2","guardrailVersion":"3","trace":"enabled"}`
				}
			} else if guardrail.ID != "" {
				header = "a1b2 3"
			}
			got := r.Header.Get("X-Amzn-Bedrock-GuardrailIdentifier") + " " + r.Header.Get("X-Amzn-Bedrock-GuardrailVersion")
			if r.Path != "/model/m/"+want.path || string(config) != body || got != header && got != " " {
				t.Errorf("%s: %s with the header %q, the body has %s", want.path, r.Path, got, config)
			}
			if trace := r.Header.Get("X-Amzn-Bedrock-Trace"); trace != "" && (trace != "ENABLED" || guardrail.Trace == "") || trace == "" && guardrail.Trace != "" && header != "" {
				t.Errorf("%s: the header of the trace is %q", want.path, trace)
			}
			if header != "" && got != header {
				t.Errorf("%s: the header is %q", want.path, got)
			}
		}
	}
}

// An action other than an intervention is nothing.
func TestIntervened(t *testing.T) {
	for answer, want := range map[string]bool{
		`{"amazon-bedrock-guardrailAction": "INTERVENED"}`: true, `{"amazon-bedrock-guardrailAction": "NONE"}`: false,
		`{"text": "amazon-bedrock-guardrailAction INTERVENED"}`: false, `{"amazon-bedrock-guardrailAction": "INTERVENED"`: false, ``: false,
	} {
		if got := intervened([]byte(answer)); got != want {
			t.Errorf("%s: %v", answer, got)
		}
	}
}

// What a guardrail found reaches the callers of /invoke whose record maps it.
func TestGuardrailTrace(t *testing.T) {
	service := backendtest.NewService(t, "bedrock", func(_ int, _ *backendtest.Request, w *backendtest.Reply) {
		w.Whole(`{"text": "No.", "amazon-bedrock-guardrailAction": "INTERVENED", "amazon-bedrock-trace": {"guardrail": {"actionReason": "topic"}}}`)
	})
	client, err := awsrest.New(awsrest.Bedrock(), aws.Config{Region: "us-east-1", Credentials: backendtest.Credentials()}, service.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	b := New(client, Target{ID: "m", Guardrail: Guardrail{ID: "a1", Version: "1", Trace: "enabled"}}, remote.Model{Schema: backendtest.Parse(t, `{
		"request": {"defaults": {"prompt": ""}, "mapping": {"prompt": "$.prompt"}},
		"response": {"mapping": {"generated_text": "$.text", "guardrail_trace": "$['amazon-bedrock-trace'].guardrail"}}}`)})
	invoker, err := llm.As[llm.Invoker](b)
	if err != nil {
		t.Fatal(err)
	}
	for keys, err := range invoker.Invoke(t.Context(), map[string]any{"prompt": "p"}, false) {
		if trace, ok := keys["guardrail_trace"].(map[string]any); err != nil || !ok || trace["actionReason"] != "topic" {
			t.Errorf("%v %v", keys, err)
		}
	}
}
