package app

import (
	"encoding/json"
	"strings"
	"testing"

	"glossa/pkg/backend/backendtest"
)

// claudeThinks answers as Claude does, with reasoning before the text.
func claudeThinks(_ int, r *backendtest.Request, w *backendtest.Reply) {
	if !r.Stream {
		w.Whole(`{"content": [{"type": "thinking", "thinking": "A pier.", "signature": "c2ln"}, {"type": "text", "text": "There."}],
			"stop_reason": "end_turn", "usage": {"input_tokens": 5, "output_tokens": 9}}`)
		return
	}
	for _, e := range []string{
		`{"type": "message_start", "message": {"role": "assistant", "content": []}}`,
		`{"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}`,
		`{"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "A "}}`,
		`{"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "pier."}}`,
		`{"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}}`,
		`{"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "There."}}`,
		`{"type": "message_delta", "delta": {"stop_reason": "end_turn"}}`,
		`{"type": "message_stop", "amazon-bedrock-invocationMetrics": {"inputTokenCount": 5, "outputTokenCount": 9}}`,
	} {
		w.Event(e)
	}
}

// The keys of clients for reasoning reach a remote model, and its reasoning reaches them.
func TestRemoteThinking(t *testing.T) {
	m := remoteModels[0]
	a, service := remoteApp(t, &m, Config{}, claudeThinks)
	h := a.Handler()
	post := func(path, more string) string {
		body := `{"model": "MODEL", "messages": [{"role": "user", "content": "Where?"}]` + more + `}`
		return text(t, ask(h, "POST", path, "", strings.NewReader(m.fill(body))))
	}
	for more, want := range map[string]string{
		`, "reasoning_effort": "low"`:                              `"thinking":{"budget_tokens":2048,"type":"enabled"}`,
		`, "reasoning": {"max_tokens": 1500}`:                      `"thinking":{"budget_tokens":1500,"type":"enabled"}`,
		`, "enable_thinking": true, "max_completion_tokens": 4000`: `"thinking":{"budget_tokens":2000,"type":"enabled"}`,
		`, "thinking": {"type": "enabled", "budget_tokens": 1024}`: `"max_tokens":5120`,
		`, "chat_template_kwargs": {"enable_thinking": true}`:      `"budget_tokens":8192`,
	} {
		before := len(service.Requests())
		got := post("/v1/chat/completions", more)
		if !strings.Contains(got, `"reasoning_content":"A pier."`) || !strings.Contains(got, `"content":"There."`) || !strings.Contains(got, `"completion_tokens":9`) {
			t.Errorf("%s: %s", more, got)
		}
		if all := service.Requests(); len(all) != before+1 {
			t.Errorf("%s: %d requests", more, len(all)-before)
		} else if sent, _ := json.Marshal(all[before].Body); !strings.Contains(string(sent), want) {
			t.Errorf("%s: %s, want %s", more, sent, want)
		}
	}
	if got := post("/v1/chat/completions", `, "reasoning_effort": "none"`); strings.Contains(got, "error") {
		t.Error(got)
	}
	if all := service.Requests(); all[len(all)-1].Body["thinking"] != nil {
		t.Errorf("reasoning is off, and %v is sent", all[len(all)-1].Body)
	}
	stream := post("/v1/chat/completions", `, "reasoning_effort": "low", "stream": true`)
	first, second, third := strings.Index(stream, `"reasoning_content":"A "`), strings.Index(stream, `"reasoning_content":"pier."`), strings.Index(stream, `"content":"There."`)
	if first < 0 || second < first || third < second {
		t.Error(stream)
	}
	invoked := text(t, ask(h, "POST", "/invoke", "", strings.NewReader(m.fill(`{"model_family": "FAMILY", "model_name": "MODEL", "body": {"prompt": "Where?", "reasoning_effort": "low"}}`))))
	if !strings.Contains(invoked, `"reasoning":"A pier."`) {
		t.Error(invoked)
	}
}

// What a record or a model does not support is rejected by the client's own keys.
func TestRemoteThinkingErrors(t *testing.T) {
	claude, llama := remoteModels[0], remoteModels[1]
	for _, c := range []struct {
		m                  remoteModel
		more, param, words string
	}{
		{claude, `, "reasoning_effort": "low", "temperature": 0.5`, "temperature", "while it reasons"},
		{claude, `, "reasoning_effort": "low", "max_tokens": 1000`, "max_tokens", "must exceed the 1024 tokens of reasoning"},
		{claude, `, "thinking_budget": 9`, "thinking_budget", "must be at least 1024"},
		{claude, `, "reasoning": {"max_tokens": 3000}, "max_tokens": 2000`, "max_tokens", "must exceed the 3000 tokens"},
		{claude, `, "reasoning_effort": "low", "tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": "required"`, "tool_choice", "while it reasons"},
		{llama, `, "reasoning_effort": "low"`, "reasoning_effort", "does not support it"},
		{llama, `, "enable_thinking": true`, "enable_thinking", "does not support it"},
		{llama, `, "thinking": {"type": "enabled", "budget_tokens": 1024}`, "thinking", "does not support it"},
	} {
		a, service := remoteApp(t, &c.m, Config{}, c.m.converses)
		res := ask(a.Handler(), "POST", "/v1/chat/completions", "", strings.NewReader(c.m.fill(`{"model": "MODEL", "messages": [{"role": "user", "content": "Where?"}]`+c.more+`}`)))
		var got struct {
			Error struct{ Message, Param string }
		}
		if err := json.Unmarshal([]byte(text(t, res)), &got); err != nil || got.Error.Param != c.param || !strings.Contains(got.Error.Message, c.words) || len(service.Requests()) > 0 {
			t.Errorf("%s: %+v %v", c.more, got, err)
		}
	}
}
