package bedrock

import (
	"encoding/json"
	"io/fs"
	"strings"
	"testing"

	"glossa/pkg/backend/backendtest"
	"glossa/pkg/backend/remote"
	"glossa/pkg/llm"
	"glossa/pkg/schema"
	"glossa/schemas"
)

// shipped returns the schema of a built-in record.
func shipped(t *testing.T, sk string) *schema.Schema {
	t.Helper()
	var item struct{ Schema json.RawMessage }
	b, err := fs.ReadFile(schemas.Files(), sk+".json")
	if err == nil {
		err = json.Unmarshal(b, &item)
	}
	if err != nil {
		t.Fatal(err)
	}
	return backendtest.Parse(t, string(item.Schema))
}

const (
	claudeThinks = `{"id": "msg_1", "type": "message", "role": "assistant", "content": [{"type": "thinking", "thinking": "A city.", "signature": "c2ln"},
		{"type": "redacted_thinking", "data": "Zm9v"}, {"type": "text", "text": "I look."},
		{"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Paris"}}], "stop_reason": "tool_use", "usage": {"input_tokens": 10, "output_tokens": 25}}`
	converseThinks = `{"output": {"message": {"role": "assistant", "content": [{"reasoningContent": {"reasoningText": {"text": "A city.", "signature": "c2ln"}}},
		{"reasoningContent": {"redactedContent": "Zm9v"}}, {"text": "I look."}, {"toolUse": {"toolUseId": "toolu_1", "name": "weather", "input": {"city": "Paris"}}}]}},
		"stopReason": "tool_use", "usage": {"inputTokens": 10, "outputTokens": 25, "totalTokens": 35}}`
)

// The events of answers with reasoning, as the providers document them.
func claudeEvents() []string {
	return []string{
		`{"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "stop_reason": null, "usage": {"input_tokens": 10, "output_tokens": 1}}}`,
		`{"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}`,
		`{"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "A "}}`,
		`{"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "city."}}`,
		`{"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}}`,
		`{"type": "content_block_stop", "index": 0}`,
		`{"type": "content_block_start", "index": 1, "content_block": {"type": "redacted_thinking", "data": "Zm9v"}}`,
		`{"type": "content_block_stop", "index": 1}`,
		`{"type": "content_block_start", "index": 2, "content_block": {"type": "text", "text": ""}}`,
		`{"type": "content_block_delta", "index": 2, "delta": {"type": "text_delta", "text": "I look."}}`,
		`{"type": "content_block_stop", "index": 2}`,
		`{"type": "content_block_start", "index": 3, "content_block": {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}}}`,
		`{"type": "content_block_delta", "index": 3, "delta": {"type": "input_json_delta", "partial_json": "{\"city\": "}}`,
		`{"type": "content_block_delta", "index": 3, "delta": {"type": "input_json_delta", "partial_json": "\"Paris\"}"}}`,
		`{"type": "content_block_stop", "index": 3}`,
		`{"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null}, "usage": {"output_tokens": 25}}`,
		`{"type": "message_stop", "amazon-bedrock-invocationMetrics": {"inputTokenCount": 10, "outputTokenCount": 25, "invocationLatency": 9, "firstByteLatency": 3}}`,
	}
}

func converseEvents() []string {
	return []string{
		`{"messageStart": {"role": "assistant"}}`,
		`{"contentBlockDelta": {"delta": {"reasoningContent": {"text": "A "}}, "contentBlockIndex": 0}}`,
		`{"contentBlockDelta": {"delta": {"reasoningContent": {"text": "city."}}, "contentBlockIndex": 0}}`,
		`{"contentBlockDelta": {"delta": {"reasoningContent": {"signature": "c2ln"}}, "contentBlockIndex": 0}}`,
		`{"contentBlockStop": {"contentBlockIndex": 0}}`,
		`{"contentBlockDelta": {"delta": {"reasoningContent": {"redactedContent": "Zm9v"}}, "contentBlockIndex": 1}}`,
		`{"contentBlockDelta": {"delta": {"text": "I look."}, "contentBlockIndex": 2}}`,
		`{"contentBlockStart": {"start": {"toolUse": {"toolUseId": "toolu_1", "name": "weather"}}, "contentBlockIndex": 3}}`,
		`{"contentBlockDelta": {"delta": {"toolUse": {"input": "{\"city\": \"Paris\"}"}}, "contentBlockIndex": 3}}`,
		`{"messageStop": {"stopReason": "tool_use"}}`,
		`{"metadata": {"usage": {"inputTokens": 10, "outputTokens": 25, "totalTokens": 35}, "metrics": {"latencyMs": 9}}}`,
	}
}

// Built-in records ask for reasoning, and read it from answers and from their events.
func TestThinking(t *testing.T) {
	for _, c := range []struct {
		record, id, whole string
		events            []string
		asked             string // of the request, without its messages
	}{
		{"bedrock-anthropic", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", claudeThinks, claudeEvents(), `"thinking":{"budget_tokens":2048,"type":"enabled"}`},
		{"bedrock-anthropic", "us.anthropic.claude-opus-4-7", claudeThinks, claudeEvents(), `"thinking":{"display":"summarized","type":"adaptive"}`},
		{"bedrock-amazon.nova-2", "m", converseThinks, converseEvents(), `"reasoningConfig":{"maxReasoningEffort":"low","type":"enabled"}`},
		{"bedrock-openai", "m", converseThinks, converseEvents(), `"reasoning_effort":"low"`},
		{"bedrock-deepseek", "m", converseThinks, converseEvents(), ""},
	} {
		service := backendtest.NewService(t, "bedrock", func(_ int, r *backendtest.Request, w *backendtest.Reply) {
			if !r.Stream {
				w.Whole(c.whole)
				return
			}
			for _, e := range c.events {
				w.Event(e)
			}
		})
		b := open(c.id)(service.URL, remote.Model{Schema: shipped(t, c.record)})
		chat := []llm.Prompt{{Messages: []llm.Message{{Role: "user", Parts: []llm.Part{{Text: "The weather in Paris?"}}}}}}
		for i, stream := range []bool{false, true} {
			req := &llm.Request{Prompts: chat, Stream: stream, Params: llm.Params{Effort: new("low")}}
			if c.asked == "" {
				req.Effort = nil
			}
			rows, usage, err := llm.Collect(b.Generate(t.Context(), req), 1)
			if err != nil || rows[0].Reasoning != "A city." || rows[0].Text != "I look." || len(rows[0].Calls) != 1 || rows[0].Calls[0].Name != "weather" {
				t.Errorf("%s, stream %v: %+v %v", c.record, stream, rows, err)
			}
			if usage.Input != 10 || usage.Output != 25 || usage.Partial {
				t.Errorf("%s, stream %v: %+v", c.record, stream, usage)
			}
			if body, _ := json.Marshal(service.Requests()[i].Body); !strings.Contains(string(body), c.asked) {
				t.Errorf("%s asks for reasoning by %s", c.record, body)
			}
		}
	}
}

// Claude on Converse is asked for reasoning by a record that pkg/backend/README.md shows.
func TestConverseClaude(t *testing.T) {
	const record = `{"api": "converse",
		"request": {"omit_null": true,
			"defaults": {"messages": [{"role": "user", "content": [{"text": ""}]}], "inferenceConfig": {"maxTokens": 4096}, "additionalModelRequestFields": {"thinking": null}},
			"mapping": {"prompt": "$.messages[0].content[0].text", "messages": "$.messages", "max_new_tokens": "$.inferenceConfig.maxTokens",
				"thinking": "$.additionalModelRequestFields.thinking"},
			"reasoning": {"on": {"type": "enabled", "budget_tokens": "{budget}"}, "efforts": {"low": 1024, "high": 9000}, "effort": "low", "min_budget": 1024, "after_calls": false}},
		"response": {"mapping": {"generated_text": "$.output.message.content[*].text", "reasoning": "$.output.message.content[*].reasoningContent.reasoningText.text"}}}`
	service := backendtest.NewService(t, "bedrock", func(_ int, _ *backendtest.Request, w *backendtest.Reply) { w.Whole(converseThinks) })
	b := open("m")(service.URL, remote.Model{Schema: backendtest.Parse(t, record)})
	rows, _, err := llm.Collect(b.Generate(t.Context(), &llm.Request{Prompts: []llm.Prompt{llm.Text("p")}, Params: llm.Params{Thinking: new(true)}}), 1)
	if err != nil || rows[0].Reasoning != "A city." {
		t.Errorf("%+v %v", rows, err)
	}
	const want = `{"additionalModelRequestFields":{"thinking":{"budget_tokens":1024,"type":"enabled"}},"inferenceConfig":{"maxTokens":5120},"messages":[{"content":[{"text":"p"}],"role":"user"}]}`
	if body, _ := json.Marshal(service.Requests()[0].Body); string(body) != want {
		t.Errorf("%s", body)
	}
	for chunk, err := range b.Invoke(t.Context(), map[string]any{"prompt": "p", "reasoning_effort": "high"}, false) {
		if err != nil || chunk["reasoning"] != "A city." {
			t.Errorf("%v %v", chunk, err)
		}
	}
	if body, _ := json.Marshal(service.Requests()[1].Body); !strings.Contains(string(body), `"budget_tokens":9000`) || !strings.Contains(string(body), `"maxTokens":13096`) {
		t.Errorf("%s", body)
	}
}
