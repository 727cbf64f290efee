package chat

import (
	"context"
	"strings"
	"testing"

	"glossa/pkg/llm"
	"glossa/pkg/toolcall"
)

// Templates that write calls as those of published models do.
const (
	gemma4 = `{% macro value(v) %}{% if v is string %}{{ '<|"|>' + v + '<|"|>' }}{% elif v is boolean %}{{ 'true' if v else 'false' }}` +
		`{% elif v is mapping %}{{ '{' }}{% for k, x in v | dictsort %}{{ k }}:{{ value(x) }}{% if not loop.last %},{% endif %}{% endfor %}{{ '}' }}` +
		`{% elif v is sequence %}[{% for x in v %}{{ value(x) }}{% if not loop.last %},{% endif %}{% endfor %}]{% else %}{{ v }}{% endif %}{% endmacro %}` +
		`{% for t in tools or [] %}<|tool>{{ t.function.name }}<tool|>{% endfor %}{% for m in messages %}{{ '<|turn>' + m.role + '\n' }}` +
		`{% for c in m.tool_calls %}<|tool_call>call:{{ c.function.name + value(c.function.arguments) }}<tool_call|>{% endfor %}{{ m.content or '' }}{{ '<turn|>\n' }}{% endfor %}`

	deepSeekR1 = `{% for m in messages %}{% if m.role == 'system' %}{{ m.content }}{% elif m.role == 'user' %}<｜User｜>{{ m.content }}` +
		`{% elif m.role == 'assistant' %}<｜Assistant｜>{{ m.content or '' }}{% for c in m.tool_calls %}{{ '<｜tool▁calls▁begin｜>' if loop.first else '\n' }}` +
		"<｜tool▁call▁begin｜>{{ c.type }}<｜tool▁sep｜>{{ c.function.name + '\n```json\n' + c.function.arguments + '\n```' }}<｜tool▁call▁end｜>{{ '<｜tool▁calls▁end｜>' if loop.last }}" +
		`{% endfor %}<｜end▁of▁sentence｜>{% elif m.role == 'tool' %}<｜tool▁output▁begin｜>{{ m.content }}<｜tool▁output▁end｜>{% endif %}{% endfor %}`

	miniMax = `{% for t in tools or [] %}<tool>{{ t.function | tojson }}</tool>{% endfor %}{% for m in messages %}{{ ']~b]' + m.role + '\n' + (m.content or '') }}` +
		`{% if m.tool_calls %}{{ '\n<minimax:tool_call>\n' }}{% for c in m.tool_calls %}{{ '<invoke name="' + c.function.name + '">\n' }}` +
		`{% for k, v in c.function.arguments | items %}{{ '<parameter name="' + k + '">' }}{{ v if v is string else v | tojson }}{{ '</parameter>\n' }}{% endfor %}` +
		`{{ '</invoke>\n' }}{% endfor %}</minimax:tool_call>{% endif %}{{ '[e~[\n' }}{% endfor %}`

	kimiThinking = `{{ tools or [] | tojson }}{% for m in messages %}<|im_{{ m.role }}|>{{ m.get('name') or m.role }}<|im_middle|>` +
		`{% if m.role == 'tool' %}## Return of {{ m.tool_call_id + '\n' }}{% endif %}{{ m.content or '' }}{% if m.tool_calls %}<|tool_calls_section_begin|>` +
		`{% for c in m.tool_calls %}<|tool_call_begin|>{{ c.id }}<|tool_call_argument_begin|>{{ c.function.arguments | tojson }}<|tool_call_end|>{% endfor %}` +
		`<|tool_calls_section_end|>{% endif %}<|im_end|>{% endfor %}`

	miniCPM3 = `{{ tools or [] | tojson }}{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}{% if m.tool_calls %}` +
		"{{ '<|tool_call_start|>\n```python\n' }}{% for c in m.tool_calls %}{{ c.function.name + '(' }}" +
		`{% for k, v in c.function.arguments | items %}{{ k + '=' }}{{ v | tojson }}{{ ',' if not loop.last }}{% endfor %}{{ ')\n' }}{% endfor %}` +
		"{{ '```\n<|tool_call_end|>\n' }}{% endif %}{{ m.content or '' }}{{ '<|im_end|>\n' }}{% endfor %}"

	pythonic = `{{ tools or [] | tojson }}{% for m in messages %}{{ '<|start_header_id|>' + m.role + '<|end_header_id|>\n\n' }}{% if m.tool_calls %}[` +
		`{% for c in m.tool_calls %}{{ c.function.name + '(' }}{% for k, v in c.function.arguments | items %}{{ k + '=' }}{{ v | tojson }}{{ ', ' if not loop.last }}` +
		`{% endfor %}){{ ', ' if not loop.last }}{% endfor %}]{% else %}{{ m.content }}{% endif %}<|eot_id|>{% endfor %}`

	hammer = `{% if tools %}[BEGIN OF AVAILABLE_TOOLS]{{ tools | tojson }}` + "\nAnswer in this form:\n[\n    {\"name\": \"f\", \"arguments\": {}}\n]\n{% endif %}" +
		`{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}`
)

// What templates write of calls is read back as these calls, whatever their arguments quote.
func TestWrittenForms(t *testing.T) {
	calls := []llm.Call{
		{ID: "a", Name: "f", Arguments: `{"city": "St. \"Ulm\"\n}]) <tool_call> é", "deep": {"a": [true, null, "x, y"], "n": -1.5}, "flag": false}`},
		{ID: "b", Name: "g", Arguments: `{}`},
	}
	tool := llm.Tool{Name: "f", Description: "d", Parameters: []byte(`{"type":"object","properties":{"city":{"type":"string"},"deep":{"type":"object"},"flag":{"type":"boolean"}}}`)}
	for text, want := range map[string]struct{ family, trigger string }{
		gemma4:     {"gemma4", "<|tool_call>"},
		deepSeekR1: {"deepseek-r1", "<｜tool▁calls▁begin｜>"},
		miniMax:    {"its own", "<minimax:tool_call>"},
		miniCPM3:   {"minicpm3", "<|tool_call_start|>"},
		pythonic:   {"its own", "["},
		hammer:     {"hammer", "[\n    {"},
	} {
		template, err := Compile(Source{Templates: map[string]string{DefaultTemplate: text}})
		if err != nil {
			t.Fatal(err)
		}
		syntax := template.Calls()
		if syntax.Family != want.family || syntax.Trigger != want.trigger || syntax.Anywhere != (want.trigger[0] == '<') {
			t.Errorf("%.60s: %+v", text, syntax)
			continue
		}
		chat := Chat{Tools: []llm.Tool{tool, {Name: "g"}}, Messages: []llm.Message{{Role: "user", Parts: []llm.Part{{Text: "ZZQUESTION"}}}, {Role: "assistant", Calls: calls}}}
		_, answer, _ := strings.Cut(rendered(t, template, chat), "ZZQUESTION")
		_, answer, found := strings.Cut(answer, syntax.Begin())
		r := toolcall.NewReader(&syntax, func(_, parameter string) bool { return parameter == "city" })
		var got []toolcall.Call
		for _, c := range r.Push(syntax.Begin()+answer, true).Calls {
			if c.Index == len(got) {
				got = append(got, c)
			} else {
				got[c.Index].Arguments += c.Arguments
			}
		}
		if !found || len(got) != 2 {
			t.Errorf("%s: %q: %+v", want.family, answer, got)
			continue
		}
		for i, c := range got {
			if c.Name != calls[i].Name || !sameJSON(c.Arguments, calls[i].Arguments) {
				t.Errorf("%s: %q: %+v", want.family, answer, c)
			}
		}
	}
}

// A template that writes ids in place of names gets ids that have the names, and numbers.
func TestNamedIDs(t *testing.T) {
	template, err := Compile(Source{Templates: map[string]string{DefaultTemplate: kimiThinking}})
	if err != nil {
		t.Fatal(err)
	}
	if template.calls.Family != "kimi" || !template.nature.calls {
		t.Errorf("%+v", template.calls)
	}
	message := func(role, text string) llm.Message {
		return llm.Message{Role: role, Parts: []llm.Part{{Text: text}}}
	}
	result := func(id, text string) llm.Message {
		m := message("tool", text)
		m.CallID = id
		return m
	}
	calls := []llm.Call{{ID: "x", Name: "f", Arguments: `{"a":1}`}, {ID: "y", Name: "g"}}
	out, err := template.Render(context.Background(), &Chat{
		Messages: []llm.Message{message("user", "Hi"), {Role: "assistant", Calls: calls}, result("x", "1"), result("y", "2"), {Role: "assistant", Calls: []llm.Call{{ID: "z", Name: "f"}}}, result("z", "3")},
		Tools:    []llm.Tool{{Name: "f"}, {Name: "g"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, _ := llm.Prompt{Parts: out}.Text()
	for _, want := range []string{
		`<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|><|tool_call_begin|>functions.g:1<|tool_call_argument_begin|>{}<|tool_call_end|>`,
		"## Return of functions.f:0\n1", "## Return of functions.g:1\n2", "<|tool_call_begin|>functions.f:2<", "## Return of functions.f:2\n3",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q does not have %q", got, want)
		}
	}
	if calls[0].ID != "x" {
		t.Errorf("the request has changed: %+v", calls)
	}
}

// The system message lists tools for a template that only writes their calls, in its form.
func TestDeepSeekR1Tools(t *testing.T) {
	template, err := Compile(Source{Templates: map[string]string{DefaultTemplate: deepSeekR1}})
	if err != nil {
		t.Fatal(err)
	}
	call := llm.Call{ID: "a", Name: "now", Arguments: `{"zone":"CET"}`}
	got := rendered(t, template, Chat{
		Messages: []llm.Message{{Role: "user", Parts: []llm.Part{{Text: "Hi"}}}, {Role: "assistant", Calls: []llm.Call{call}}},
		Tools:    []llm.Tool{{Name: "now", Description: "The time.", Parameters: []byte(`{"type":"object"}`)}},
	})
	const want = "## Tools\nYou can call these functions:\n\n### now\nDescription: The time.\n\nParameters: {\"type\": \"object\"}\n\nIMPORTANT: write calls exactly in this form:\n" +
		"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>FUNCTION_NAME\n```json\n{\"name of a parameter\": \"value\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>\n\n" +
		"- `FUNCTION_NAME` is the name of one of these functions.\n- The block of code has JSON that fits the parameters of the function.\n- Each further call begins on a new line with `<｜tool▁call▁begin｜>`.<｜User｜>Hi" +
		"<｜Assistant｜><｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{\"zone\":\"CET\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The beginning of a prompt's answer, which a call and a text share, is the model's where it may
// call, and that of a text otherwise.
func TestSharedBeginning(t *testing.T) {
	const text = `Answer as >>>${recipient}{{ tools or [] | tojson }}{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>{% if m.role == 'assistant' %}` +
		`{% if m.content %}{{ '>>>all\n' + m.content }}{% endif %}{% for c in m.tool_calls %}{{ '>>>' + c.function.name + '\n' + c.function.arguments }}{% endfor %}` +
		`{% else %}{{ m.content }}{% endif %}<|eot_id|>{% endfor %}{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>>>>{% endif %}`
	template, err := Compile(Source{Templates: map[string]string{DefaultTemplate: text}})
	if err != nil {
		t.Fatal(err)
	}
	if template.calls.Family != "functionary" {
		t.Fatalf("%+v", template.calls)
	}
	message := func(role, text string) llm.Message {
		return llm.Message{Role: role, Parts: []llm.Part{{Text: text}}}
	}
	user, tools := []llm.Message{message("user", "Hi")}, []llm.Tool{{Name: "f"}}
	both := append(user, message("assistant", ">>>"))
	for want, chat := range map[string]Chat{
		"<|end_header_id|>":                     {Messages: user, Tools: tools, Open: true},
		"<|end_header_id|>>>>all\n":             {Messages: user, Open: true},
		"Hi<|eot_id|>":                          {Messages: user, Tools: tools},
		"<|end_header_id|>>>>all\n>>>":          {Messages: both, Open: true, Continue: true},
		"assistant<|end_header_id|>>>>all\n>>>": {Messages: both, Tools: tools, Open: true, Continue: true},
	} {
		if got := rendered(t, template, chat); !strings.HasSuffix(got, want) {
			t.Errorf("%q does not end with %q", got, want)
		}
	}
}

// A form in which nothing ends the arguments of a call cannot be read: such a model writes lines of JSON.
func TestFormsWithoutEnd(t *testing.T) {
	const begin, end = `{{ tools or [] | tojson }}{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}{% if m.tool_calls %}`, `{% else %}{{ m.content }}{% endif %}<|im_end|>{% endfor %}`
	for _, calls := range []string{
		`<x>){% for c in m.tool_calls %}{{ c.function.name + '(' }}{% for k, v in c.function.arguments | items %}{{ k + '=' + (v | tojson) }}{% endfor %}){% endfor %}`,
		`<x>{% for c in m.tool_calls %}{{ c.function.name }}{% for k, v in c.function.arguments | items %}<p={{ k }}>{{ v }}</p>{% endfor %}{{ ', ' if not loop.last }}{% endfor %}</x>`,
	} {
		template, err := Compile(Source{Templates: map[string]string{DefaultTemplate: begin + calls + end}})
		if err != nil {
			t.Fatal(err)
		}
		if s := template.Calls(); s.Family != "lines" {
			t.Errorf("%.60s: %+v", calls, s)
		}
	}
}
