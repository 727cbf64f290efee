package anthropic

import (
	"strings"
	"testing"
)

// Bad requests are rejected with the key at fault.
func TestBadRequests(t *testing.T) {
	chat := func(messages string) string { return `{"max_tokens":9,"messages":[` + messages + `]}` }
	const user, use = `{"role":"user","content":"a"}`, `{"type":"tool_use","id":"1","name":"f","input":{}}`
	for body, want := range map[string]string{
		`{}`:                                                                    `max_tokens: is required`,
		`{"max_tokens":9}`:                                                      `messages: is required`,
		`{"max_tokens":9,"messages":[]}`:                                        `messages: at least one message`,
		`{"max_tokens":"9","messages":[]}`:                                      `max_tokens: must be`,
		chat(`{"role":"tool","content":"a"}`):                                   `messages[0].role: must be`,
		chat(`{"role":"user"}`):                                                 `messages[0].content: is required`,
		chat(`{"role":"user","content":5}`):                                     `messages[0].content`,
		chat(`{"role":"user","content":""}`):                                    `messages: at least one message with a text is required`,
		chat(`{"role":"user","content":[{"text":"a"}]}`):                        `messages[0].content[0].type: is required`,
		chat(`{"role":"user","content":[{"type":"document"}]}`):                 `messages[0].content[0].type: blocks of type \"document\" are not supported here: send text or image or tool_result`,
		chat(`{"role":"user","content":[{"type":"text"}]}`):                     `messages[0].content[0].text: is required in a block of type text`,
		chat(`{"role":"user","content":[{"type":"text","text":"a","id":"b"}]}`): `messages[0].content[0].id: is not allowed in a block of type text`,
		chat(`{"role":"user","content":[{"type":"text","text":"a","citations":[{}]}]}`):                                                                                   `messages[0].content[0].citations: no template writes citations`,
		chat(`{"role":"user","content":[{"type":"image","source":{"type":"url","url":"x"}}]}`):                                                                            `messages[0].content[0].source.type: must be base64`,
		chat(`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"!"}}]}`):                                               `messages[0].content[0].source.data`,
		chat(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1"}]}`):                                                                                      `messages[0].content[0].tool_use_id: \"1\" is not the id of an earlier call`,
		chat(user + `,{"role":"assistant","content":[` + use + `,` + use + `]}`):                                                                                          `messages[1].content[1].id: another call has the same id`,
		chat(user + `,{"role":"assistant","content":[` + use + `]}`):                                                                                                      `messages[1]: the calls of the last message have no results`,
		chat(user + `,{"role":"assistant","content":[{"type":"redacted_thinking"}]}`):                                                                                     `messages[1].content[0].data: is required in a block of type redacted_thinking`,
		chat(user + `,{"role":"assistant","content":[` + use + `]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"document"}]}]}`): `messages[2].content[0].content[0].type: blocks of type \"document\"`,
		chat(user + `,{"role":"assistant","content":[` + use + `]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"!"}}]}]}`): `messages[2].content[0].content[0].source.data`,
		chat(`{"role":"user","content":[{"type":"redacted_thinking","data":"x"}]}`):                                                                                  `messages[0].content[0].type: blocks of type \"redacted_thinking\"`,
		chat(user + `,{"role":"assistant","content":[{"type":"thinking","thinking":"x"}]}`):                                                                          `messages[1]: an answer cannot continue a message with thinking`,
		chat(user + `,{"role":"assistant","content":"x "}`):                                                                                                          `messages[1]: final assistant content cannot end with trailing whitespace`,
		chat(user + `,{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":[]}]}`):                                                          `messages[1].content[0].input: must be an object`,
		chat(user + `,{"role":"assistant","content":[` + use + `]},{"role":"user","content":[{"type":"text","text":"a"},{"type":"tool_result","tool_use_id":"1"}]}`): `messages[2].content[1]: tool_result blocks come before`,
		send("m", `,"stop_sequences":["a"," "]`):                                                                                                                     `stop_sequences: each must have`,
		send("m", `,"temperature":1.5`):                                                                                                                              `temperature: must be`,
		send("m", `,"top_logprobs":1`):                                                                                                                               `top_logprobs: Extra inputs are not permitted`,
		send("m", `,"thinking":{"type":"enabled"}`):                                                                                                                  `thinking.budget_tokens: is required with type enabled`,
		send("m", `,"thinking":{"type":"disabled","budget_tokens":5}`):                                                                                               `thinking.budget_tokens: is not allowed`,
		send("m", `,"thinking":{"type":"enabled","budget_tokens":9}`):                                                                                                `thinking.budget_tokens: must be less than max_tokens`,
		send("m", `,"tools":[{"type":"bash_20250124","name":"bash"}]`):                                                                                               `tools[0].type: the tool \"bash_20250124\" does not run here`,
		send("m", `,"tools":[{"name":"f"}]`):                                                                                                                         `tools[0].input_schema: is required`,
		send("m", `,"tools":[{"name":"f","input_schema":5}]`):                                                                                                        `tools[0].input_schema: must be an object`,
		send("m", `,"tools":[{"name":"a b","input_schema":{}}]`):                                                                                                     `tools[0].name: must be 1 to 128`,
		send("m", `,"tools":[{"name":"f","input_schema":{}},{"name":"f","input_schema":{}}]`):                                                                        `tools[1].name: another tool`,
		send("m", `,"tool_choice":{"type":"any"}`):                                                                                                                   `tool_choice: there are no tools to call`,
		send("m", `,"tool_choice":{"type":"tool"}`):                                                                                                                  `tool_choice.name: is required`,
		send("m", `,"tool_choice":{"type":"auto","name":"f"}`):                                                                                                       `tool_choice.name: is not allowed`,
		send("m", `,"tools":[{"name":"f","input_schema":{}}],"tool_choice":{"type":"tool","name":"g"}`):                                                              `tool_choice.name: \"g\" is not one of the tools`,
		send("m", `,"output_format":{"type":"json_schema","schema":{}},"output_config":{"format":{"type":"json_schema","schema":{}}}`):                               `output_format: is the older name`,
		send("m", `,"output_config":{"format":{"type":"json_schema","schema":1}}`):                                                                                   `output_config.format.schema: must be an object`,
		send("m", `,"container":"x"`):                                                                                                                                `container: nothing runs at the server`,
		send("m", `,"thread":{"type":"create"}`):                                                                                                                     `thread: messages are not stored: send all of them","details":{"error_code":"thread_unsupported_request"}}`,
		send("m", `,"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]}`):                                                                           `context_management: messages are not edited`,
		send("m", `,"mcp_servers":[{}]`):                                                                                                                             `mcp_servers: `,
	} {
		w := post("/v1/messages", body)
		if got := w.Body.String(); w.Code != 400 || !strings.Contains(got, want) || !strings.HasPrefix(got, `{"type":"error","error":{"type":"invalid_request_error",`) {
			t.Errorf("%s: %d %s, want %s", body, w.Code, got, want)
		}
	}
}

// FuzzRequest: no body makes the dialect panic, and every request has a message.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		send("m", `,"tools":[{"name":"f","input_schema":{}}],"tool_choice":{"type":"any"}`),
		`{"max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[null]}]}]}`,
		`{"max_tokens":1,"messages":[{"role":"user","content":[{"type":"image","source":null}]}],"system":[null],"thinking":null}`,
		`{"max_tokens":1,"messages":[{"role":"user","content":null}],"tools":[null],"tool_choice":null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var in messageRequest
		if messageTable.Decode(body, &in) != nil {
			return
		}
		g, err := in.request()
		if err == nil && len(g.Prompts[0].Messages) == 0 {
			t.Errorf("%s: no messages", body)
		}
	})
}
