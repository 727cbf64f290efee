package chat

import (
	"strings"
	"testing"

	"glossa/pkg/llm"
)

// oneCallTemplate writes the first call of a message, as those of GPT-OSS and Llama 3 do, and refuses a
// text beside reasoning.
const oneCallTemplate = `{% for t in tools or [] %}{{ t.function.name }};{% endfor %}{% for m in messages %}` +
	`{% if m.role == 'tool' %}[{{ m.content }}]{% elif m.tool_calls %}{% if m.content and m.thinking %}{{ raise_exception('both') }}{% endif %}` +
	`({{ m.thinking or m.content }})<|start|>assistant to=functions.{{ m.tool_calls[0].function.name }}<|channel|>commentary json<|message|>{{ m.tool_calls[0].function.arguments | tojson }}<|call|>` +
	`{% elif m.role == 'assistant' %}<|start|>assistant<|channel|>final<|message|>{{ m.content }}<|end|>{% else %}{{ m.content }}{% endif %}{% endfor %}` +
	`{% if add_generation_prompt %}<|start|>assistant{% endif %}`

func TestOneCall(t *testing.T) {
	template := compile(t, oneCallTemplate)
	if family := template.Calls().Family; family != "harmony" {
		t.Errorf("its calls are %s", family)
	}
	tool := func(id, content string) llm.Message {
		m := text("tool", content)
		m.CallID = id
		return m
	}
	call := text("assistant", "I look.")
	call.Reasoning = "Two cities."
	call.Calls = []llm.Call{{ID: "a", Name: "f", Arguments: `{"x":1}`}, {ID: "b", Name: "g"}, {ID: "c", Name: "h"}}
	chat := Chat{Tools: []llm.Tool{{Name: "f"}}, Messages: []llm.Message{text("user", "Hi"), call, tool("c", "3"), tool("a", "1"), text("user", "So?")}}
	want := "f;Hi(Two cities.\n\nI look.)<|start|>assistant to=functions.f<|channel|>commentary json<|message|>{\"x\": 1}<|call|>[1]" +
		"()<|start|>assistant to=functions.g<|channel|>commentary json<|message|>{}<|call|>" +
		"()<|start|>assistant to=functions.h<|channel|>commentary json<|message|>{}<|call|>[3]So?"
	if got := rendered(t, template, chat); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The published template of GPT-OSS takes several calls, reasoning and text.
func TestHarmonyHistory(t *testing.T) {
	template, err := Compile(Source{Templates: map[string]string{DefaultTemplate: published(t)["openai-gpt-oss-120b"]}})
	if err != nil {
		t.Fatal(err)
	}
	call := text("assistant", "I look.")
	call.Reasoning = "Two cities."
	call.Calls = []llm.Call{{ID: "a", Name: "f", Arguments: `{"x":1}`}, {ID: "b", Name: "g"}}
	first, second := text("tool", "1"), text("tool", "2")
	first.CallID, second.CallID = "a", "b"
	got := rendered(t, template, Chat{Tools: []llm.Tool{{Name: "f", Description: "d"}}, Messages: []llm.Message{text("user", "Hi"), call, second, first}, Open: true})
	const want = "<|start|>user<|message|>Hi<|end|><|start|>assistant<|channel|>analysis<|message|>Two cities.\n\nI look.<|end|>" +
		`<|start|>assistant to=functions.f<|channel|>commentary json<|message|>{"x": 1}<|call|><|start|>functions.f to=assistant<|channel|>commentary<|message|>"1"<|end|>` +
		`<|start|>assistant to=functions.g<|channel|>commentary json<|message|>{}<|call|><|start|>functions.g to=assistant<|channel|>commentary<|message|>"2"<|end|><|start|>assistant`
	if !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Calls that a template drops are written as the model writes them: the marks are special
// tokens, and the names and arguments are not.
func TestCallsAsText(t *testing.T) {
	template := compile(t, `{% if tools %}<|tool_list_start|>{{ tools | tojson }}{% endif %}{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}`)
	call := text("assistant", "<|im_end|>")
	call.Calls = []llm.Call{{ID: "a", Name: "f", Arguments: `{"x":"<|tool_call_end|>"}`}}
	parts, err := template.Render(t.Context(), &Chat{Messages: []llm.Message{text("user", "Hi"), call}})
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, p := range parts {
		if p.Special {
			got.WriteString("«" + p.Text + "»")
		} else {
			got.WriteString(p.Text)
		}
	}
	const want = "«user:»Hi«;assistant:»<|im_end|>\n«<|tool_call_start|>[»f«(»x«=»\"<|tool_call_end|>\"«)]<|tool_call_end|>;»"
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}
