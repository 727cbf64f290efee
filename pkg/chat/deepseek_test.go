package chat

import (
	"context"
	"testing"

	"glossa/pkg/llm"
)

// DeepSeek V3.1's template writes calls but no list of tools, which the system message gets.
func TestDeepSeekTools(t *testing.T) {
	const text = `{{ bos_token }}{% for m in messages if m.role == 'system' %}{{ m.content }}{% endfor %}{% for m in messages %}` +
		`{% if m.role == 'user' %}<｜User｜>{{ m.content }}{% endif %}` +
		`{% if m.role == 'assistant' %}<｜Assistant｜>{{ m.content or '' }}{% if m.tool_calls %}<｜tool▁calls▁begin｜>{% for c in m.tool_calls %}` +
		`<｜tool▁call▁begin｜>{{ c.function.name }}<｜tool▁sep｜>{{ c.function.arguments | tojson }}<｜tool▁call▁end｜>{% endfor %}<｜tool▁calls▁end｜>{% endif %}<｜end▁of▁sentence｜>{% endif %}` +
		`{% if m.role == 'tool' %}<｜tool▁output▁begin｜>{{ m.content }}<｜tool▁output▁end｜>{% endif %}{% endfor %}`
	template, err := Compile(Source{Templates: map[string]string{DefaultTemplate: text}, Tokens: map[string]string{"bos_token": "<s>"}})
	if err != nil {
		t.Fatal(err)
	}
	if template.calls.Family != "deepseek" {
		t.Errorf("calls of the family %q", template.calls.Family)
	}
	message := func(role, text string) llm.Message { return llm.Message{Role: role, Parts: []llm.Part{{Text: text}}} }
	call := message("assistant", "")
	call.Calls = []llm.Call{{ID: "a", Name: "weather", Arguments: `{"city":"Ulm"}`}}
	result := message("tool", "7 degrees")
	result.CallID = "a"
	out, err := template.Render(context.Background(), &Chat{
		Messages: []llm.Message{message("system", "Be brief."), message("user", "Hi"), call, result},
		Tools:    []llm.Tool{{Name: "weather", Description: "The weather.", Parameters: []byte(`{"type":"object"}`)}, {Name: "now"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `<s>Be brief.

## Tools
You can call these tools:

### weather
Description: The weather.

Parameters: {"type": "object"}

### now
Description:

Parameters: {}

IMPORTANT: write calls exactly in this form:
<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>tool_call_name<｜tool▁sep｜>tool_call_arguments<｜tool▁call▁end｜>{additional_tool_calls}<｜tool▁calls▁end｜>

- ` + "`tool_call_name`" + ` is the name of one of these tools.
- ` + "`tool_call_arguments`" + ` is JSON that fits the parameters of the tool.
- Several calls follow each other without anything between them.<｜User｜>Hi<｜Assistant｜><｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{"city": "Ulm"}<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜><｜tool▁output▁begin｜>7 degrees<｜tool▁output▁end｜>`
	got, _ := llm.Prompt{Parts: out}.Text()
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
