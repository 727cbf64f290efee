package chat

import (
	"context"
	"strings"
	"testing"

	"glossa/pkg/llm"
	"glossa/pkg/toolcall"
)

// hunYuan is the form of HunYuan-A13B's template: the system message lists tools, and an answer
// without calls has a mark.
const hunYuan = `{% for m in messages %}{% set text = m.content or '' %}{% if loop.first %}{% set text = '<|startoftext|>Call as <tool_calls>[{"name": "f", "arguments": {}},...]</tool_calls>.\n' + ` +
	`(tools or []) | tojson + '\n' + (text if m.role == 'system' else '') + '<|extra_4|>' + (text + '<|extra_0|>' if m.role == 'user' else '') %}` +
	`{% elif m.role == 'user' %}{% set text = text + '<|extra_0|>' %}` +
	`{% elif m.role == 'assistant' %}{% if m.tool_calls %}{% set ns = namespace(calls='') %}{% for c in m.tool_calls %}` +
	`{% set ns.calls = ns.calls + (', ' if ns.calls else '') + '{"name": "' + c.function.name + '", "arguments": ' + c.function.arguments | tojson + '}' %}{% endfor %}` +
	`{% set text = text + '<tool_calls>[' + ns.calls + ']</tool_calls>' %}{% endif %}{% set text = text + '<|eos|>' %}` +
	`{% elif m.role == 'tool' %}{% set text = '<tool_response>' + text + '</tool_response><|extra_0|>' %}{% endif %}{{- text -}}{% endfor %}` +
	`{%- if enable_thinking is defined and not enable_thinking %}{{- '<think>\n\n</think>\n' }}{% endif %}`

// ernie is the form of the template of ERNIE 4.5's thinking models.
const ernie = `{{- '<|im_start|>system\n' }}{% if messages[0].role == 'system' %}{{- messages[0].content + '\n\n' }}{% endif %}{{- '<global_setting>\nthink_mode=True\n</global_setting>' }}` +
	`{% if tools %}{{- '\n\n<tool_list>\n' + tools | tojson + '\n</tool_list>' }}{% endif %}{{- '<|im_end|>\n\n' }}{% for m in messages %}` +
	`{% if m.role == 'user' %}{{- '<|im_start|>user\n' + m.content + '<|im_end|>\n\n' }}{% elif m.role == 'assistant' %}{{- '<|im_start|>assistant\n' }}` +
	`{% if m.content %}{{- '<response>\n' + m.content + '\n</response>\n' }}{% endif %}{% for c in m.tool_calls %}` +
	`{{- '\n<tool_call>\n{"name": "' + c.function.name + '", "arguments": ' + c.function.arguments | tojson + '}\n</tool_call>\n' }}{% endfor %}{{- '<|im_end|>\n\n' }}` +
	`{% elif m.role == 'tool' %}{{- '<|im_start|>user\n<tool_response>\n' + m.content + '\n</tool_response><|im_end|>\n\n' }}{% endif %}{% endfor %}` +
	`{% if add_generation_prompt %}{{- '<|im_start|>assistant\n<think>\n' }}{% endif %}`

// Templates that mark their calls and answers have the families of their models, and write
// calls in these.
func TestMarkedFamilies(t *testing.T) {
	for text, want := range map[string]struct{ family, answer, calls, tail string }{
		hunYuan: {"hunyuan", "<answer>", "Look:", "<|eos|>"},
		ernie:   {"ernie", "<response>", "<response>\nLook:\n</response>\n\n", "<|im_end|>"},
	} {
		template, err := Compile(Source{Templates: map[string]string{DefaultTemplate: text}})
		if err != nil {
			t.Fatal(err)
		}
		marks := template.Reasoning()
		if template.calls.Family != want.family || marks.Answer != want.answer {
			t.Errorf("%s: calls of the family %q, answers of %+v", want.family, template.calls.Family, marks)
		}
		calls := []llm.Call{{ID: "a", Name: "f", Arguments: `{"a": "x"}`}, {ID: "b", Name: "g", Arguments: `{}`}}
		message := llm.Message{Role: "assistant", Parts: []llm.Part{{Text: "Look:"}}, Calls: calls}
		out, err := template.Render(context.Background(), &Chat{
			Messages: []llm.Message{{Role: "user", Parts: []llm.Part{{Text: "Hi"}}}, message}, Tools: []llm.Tool{{Name: "f"}, {Name: "g"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		expected := want.calls
		for _, p := range template.calls.Write([]toolcall.Call{{Name: "f", Arguments: calls[0].Arguments}, {Index: 1, Name: "g", Arguments: "{}"}}) {
			expected += p.Text
		}
		got, _ := llm.Prompt{Parts: out}.Text()
		if !strings.Contains(got, expected+want.tail) {
			t.Errorf("%s: %q does not have %q", want.family, got, expected+want.tail)
		}
	}
}
