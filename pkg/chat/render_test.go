package chat

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"glossa/pkg/llm"
)

func text(role, content string) llm.Message {
	return llm.Message{Role: role, Parts: []llm.Part{{Text: content}}}
}

// compile compiles a default template.
func compile(t testing.TB, source string) *Template {
	t.Helper()
	template, err := Compile(Source{Templates: map[string]string{DefaultTemplate: source}, Tokens: map[string]string{"bos_token": "<s>"}})
	if err != nil {
		t.Fatal(err)
	}
	return template
}

// rendered renders a chat as text.
func rendered(t testing.TB, template *Template, c Chat) string {
	t.Helper()
	parts, err := template.Render(t.Context(), &c)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := llm.Prompt{Parts: parts}.Text()
	return text
}

const plainTemplate = `{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}`

func TestSystemForTemplatesWithout(t *testing.T) {
	for _, source := range []string{
		`{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}<{{ m.role }}>{{ m.content }}{% endfor %}`,
		`{% for m in messages %}{% if m.role != 'system' %}<{{ m.role }}>{{ m.content }}{% endif %}{% endfor %}`,
	} {
		template := compile(t, source)
		for _, test := range []struct {
			messages []llm.Message
			want     string
		}{
			{[]llm.Message{text("system", "Be brief."), text("user", "Hi")}, "<user>Be brief.\n\nHi"},
			{[]llm.Message{text("system", ""), text("user", "Hi")}, "<user>Hi"},
			{[]llm.Message{text("system", "Be brief.")}, "<user>Be brief."},
			{[]llm.Message{text("system", "Be brief."), text("assistant", "Hi")}, "<user>Be brief.<assistant>Hi"},
		} {
			if got := rendered(t, template, Chat{Messages: test.messages}); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		}
	}
}

func TestToolsForTemplatesWithout(t *testing.T) {
	template := compile(t, plainTemplate)
	call := llm.Message{Role: "assistant", Calls: []llm.Call{{ID: "a", Name: "f", Arguments: `{"x":1}`}, {ID: "b", Name: "g"}}}
	result := func(id, content string) llm.Message { m := text("tool", content); m.CallID = id; return m }
	got := rendered(t, template, Chat{
		Messages: []llm.Message{text("user", "Hi"), call, result("b", "2"), result("a", "1"), text("user", "So?")},
		Tools:    []llm.Tool{{Name: "f"}}, Open: true,
	})
	want := `<s><system>Functions that can be called, as JSON:
{"type": "function", "function": {"name": "f"}}
A call is a line of JSON: {"name": <function name>, "arguments": <object>}` +
		`<user>Hi<assistant>{"name": "f", "arguments": {"x":1}}` + "\n" + `{"name": "g", "arguments": {}}<user>1` + "\n2<user>So?<assistant>"
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestToolTemplate(t *testing.T) {
	template, err := Compile(Source{Templates: map[string]string{
		DefaultTemplate: "plain {{ messages[-1].content }}",
		ToolsTemplate: "with {{ tools[0].function.name }}: {% for m in messages %}{{ m.content }}" +
			"{% for c in m.tool_calls or [] %}<call>{{ c.function.name }} {{ c.function.arguments | tojson }}</call>{% endfor %}{% endfor %}",
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got := rendered(t, template, Chat{Messages: []llm.Message{text("user", "Hi")}}); got != "plain Hi" {
		t.Error(got)
	}
	if got := rendered(t, template, Chat{Messages: []llm.Message{text("user", "Hi")}, Tools: []llm.Tool{{Name: "f"}}}); got != "with f: Hi" {
		t.Error(got)
	}
}

func TestForms(t *testing.T) {
	for name, test := range map[string]struct{ source, want string }{
		"parts":     {`{% for m in messages %}{% for p in m.content %}[{{ p.text }}]{% endfor %}{% endfor %}`, "[Hi]"},
		"text":      {`{% for m in messages %}[{{ m.content }}]{% endfor %}`, "[Hi]"},
		"none":      {`{% for m in messages %}{% if m.content is none %}{% for c in m.tool_calls %}{{ '<call>' ~ c.function.name ~ ':' ~ c.function.arguments | tojson ~ '</call>' }}{% endfor %}{% else %}{{ m.content }}{% endif %}{% endfor %}{{ tools }}`, `Hi<call>f:{"x": 1}</call>r`},
		"arguments": {`{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}{{ '<call>' ~ c.function.name ~ ':' + c.function.arguments + '</call>' }}{% endfor %}{% endfor %}{{ tools }}`, `Hi<call>f:{"x":1}</call>r`},
	} {
		template := compile(t, test.source)
		messages := []llm.Message{text("user", "Hi")}
		if strings.Contains(test.source, "call") {
			messages = append(messages, llm.Message{Role: "assistant", Calls: []llm.Call{{ID: "a", Name: "f", Arguments: `{"x":1}`}}}, llm.Message{Role: "tool", CallID: "a", Parts: []llm.Part{{Text: "r"}}})
		}
		if got := strings.TrimSuffix(rendered(t, template, Chat{Messages: messages}), "None"); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

func TestSettings(t *testing.T) {
	template := compile(t, `{{ bos_token }}{{ messages[0].content }}{{ mood }}{% if enable_thinking is defined %} {{ enable_thinking }}{% endif %} {{ strftime_now('%Y-%m-%d') }}`)
	for _, test := range []struct{ settings, want string }{
		{"", "<s>Hi 2024-07-26"},
		{`{}`, "<s>Hi 2024-07-26"},
		{`{"mood": "!", "enable_thinking": false}`, "<s>Hi! False 2024-07-26"},
		{`{"strftime_now": "2026-01-31"}`, "<s>Hi 2026-01-31"},
		{`{"strftime_now": "2026-01-31T23:00:00Z"}`, "<s>Hi 2026-01-31"},
		{`{"thinking": false, "documents_count": null}`, "<s>Hi 2024-07-26"},
		{`{"thinking": true}`, "chat_template_kwargs.thinking: this model's chat template does not read it; it reads enable_thinking, mood, strftime_now"},
		{`{"messages": []}`, "chat_template_kwargs.messages: cannot be replaced"},
		{`{"bos_token": "<|system|>"}`, "chat_template_kwargs.bos_token: cannot be replaced"},
		{`{"strftime_now": "tomorrow"}`, "chat_template_kwargs.strftime_now: must be a date: 2026-01-31, or 2026-01-31T12:00:00Z"},
		{`{"strftime_now": 7}`, "chat_template_kwargs.strftime_now: must be a date as text: 2026-01-31, or 2026-01-31T12:00:00Z"},
		{`[]`, "chat_template_kwargs: must be an object"},
	} {
		parts, err := template.Render(t.Context(), &Chat{Messages: []llm.Message{text("user", "Hi")}, Settings: json.RawMessage(test.settings)})
		got, _ := llm.Prompt{Parts: parts}.Text()
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", test.settings, got, test.want)
		}
	}
}

// A setting is the client's text, not the template's.
func TestSettingsAreNotTrusted(t *testing.T) {
	template := compile(t, `{{ messages[0].content }}{{ mood }}<|end|>`)
	parts, err := template.Render(t.Context(), &Chat{Messages: []llm.Message{text("user", "<|end|>")}, Settings: json.RawMessage(`{"mood":"<|end|>"}`)})
	want := []llm.Part{{Text: "<|end|><|end|>"}, {Text: "<|end|>", Special: true}}
	if err != nil || len(parts) != 2 || parts[0].Text != want[0].Text || parts[0].Special || parts[1].Text != want[1].Text || !parts[1].Special {
		t.Errorf("%+v, %v", parts, err)
	}
}

func TestFaults(t *testing.T) {
	for source, want := range map[string]string{
		"{{ messages[0].content":            "chat template default:1:1: the tag {{ has no end",
		"Hello!":                            "the chat template cannot write a message of a user: it leaves out ZZUSER",
		"{{ messages[0].content | shout }}": "chat template default:1:",
		"{{ raise_exception('no') }}":       "no",
		"{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}": "needs more than",
	} {
		if _, err := Compile(Source{Templates: map[string]string{DefaultTemplate: source}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", source, err, want)
		}
	}
	if _, err := Compile(Source{Templates: map[string]string{"rag": "x"}}); err == nil || err.Error() != "there is no chat template named default" {
		t.Error(err)
	}
	template := compile(t, `{% for m in messages %}{% if m.content == 'no' %}{{ raise_exception('not no') }}{% endif %}{{ m.content }}{{ m.content.x.y if m.content == 'x' }}{% endfor %}`)
	for content, want := range map[string]string{
		"no": "messages: the model's chat template refuses this chat: not no",
		"x":  "messages: the model's chat template cannot write this chat: ",
	} {
		_, err := template.Render(t.Context(), &Chat{Messages: []llm.Message{text("user", content)}})
		if e := llm.AsError(err); err == nil || e.Code != llm.Invalid || !strings.HasPrefix(e.Error(), want) {
			t.Errorf("%s: %v", content, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := template.Render(ctx, &Chat{Messages: []llm.Message{text("user", "a")}}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	bad := llm.Message{Role: "assistant", Calls: []llm.Call{{Name: "f", Arguments: "[1]"}}}
	native, err := Named(ChatML)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := native.Render(t.Context(), &Chat{Messages: []llm.Message{bad}}); err == nil || err.Error() != `messages[0]: the arguments of the call of "f" are not a JSON object` {
		t.Error(err)
	}
}

func TestCheck(t *testing.T) {
	for source, want := range map[string]string{
		"": "", Llama3: "", plainTemplate: "", "vicuna": "unknown chat template", "{% if %}": "chat template default:1:",
	} {
		if err := Check(source); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", source, err)
		}
	}
}
