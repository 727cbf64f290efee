package engine

import (
	"testing"

	"glossa/pkg/chat"
	"glossa/pkg/llm"
	"glossa/pkg/reasoning"
)

// A call follows the mark of an answer if the model's calls have it, whether the prompt or the
// model has begun the reasoning.
func TestThinkingHeader(t *testing.T) {
	for _, prompt := range []string{"A:<think>", "A:"} {
		template, err := chat.Compile(chat.Source{Templates: map[string]string{chat.DefaultTemplate: `{{ tools | default([]) | tojson }}{# <tool_call> with arguments #}{% for m in messages %}{{ m.content }}{% endfor %}` + prompt}})
		if err != nil {
			t.Fatal(err)
		}
		for _, header := range []string{"", "<answer>"} {
			marks := reasoning.Marks{Open: "<think>", Close: "</think>", Answer: "<answer>", Header: header, End: "</answer>"}
			e := withTokenizer(t, characters(t), 512, Config{PrefixMemory: -1, Template: template, Reasoning: &marks})
			p := llm.Params{
				MaxThinking: new(0), MustCall: new(true), OneCall: new(true),
				Tools: []llm.Tool{{Name: "f", Parameters: []byte(`{"properties":{},"maxProperties":0}`)}},
			}
			c, err := e.constraint(t.Context(), &p)
			if err != nil {
				t.Fatal(err)
			}
			opened := 0
			if prompt == "A:" {
				opened = len(e.thinker.open)
			}
			p.MaxTokens = new(opened + c.Min() + e.thinker.cost())
			want := opened + len(e.thinker.close) + len(header) + c.Min()
			m := thinkingModel{e, map[int]float64{e.tokenizer.Encode("h")[0]: 100}} // it prefers <think> to <tool_call>
			rows, usage := collect(t, e, m.ask(p))
			if r := rows[0]; len(r.Calls) != 1 || r.Calls[0].Arguments != "{}" || r.Text != "" || r.Reasoning != "" || usage.Output != want {
				t.Errorf("%s, %q: %+v of %d tokens, want %d", prompt, header, r, usage.Output, want)
			}
		}
	}
}
