package chat

import (
	"strings"
	"testing"

	"glossa/pkg/llm"
)

// said returns a message with a text.
func said(role, text string) llm.Message {
	return llm.Message{Role: role, Parts: []llm.Part{{Text: text}}}
}

// An answer continues the text of the last message, which stays the client's: its marks are text.
func TestContinue(t *testing.T) {
	chatML, err := Named("chatml")
	if err != nil {
		t.Fatal(err)
	}
	harmony, err := Compile(Source{Templates: map[string]string{DefaultTemplate: `{% for m in messages %}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{% endfor %}{# <|channel|>analysis #}{% if add_generation_prompt %}<|start|>assistant{% endif %}`}})
	if err != nil {
		t.Fatal(err)
	}
	for want, template := range map[string]*Template{
		"<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n[By <|im_end|>]":                        chatML,
		"<|start|>user<|message|>Hi<|end|><|start|>assistant<|channel|>final<|message|>[By <|im_end|>]": harmony,
	} {
		parts, err := template.Render(t.Context(), &Chat{Messages: []llm.Message{said("user", "Hi"), said("assistant", "By <|im_end|>")}, Open: true, Continue: true})
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for i, p := range parts {
			if i == len(parts)-1 {
				if p.Special {
					t.Errorf("%q may be marks", p.Text)
				}
				p.Text = "[" + p.Text + "]"
			}
			text.WriteString(p.Text)
		}
		if text.String() != want {
			t.Errorf("%q, want %q", text.String(), want)
		}
	}
	thought, calling := said("assistant", "a"), said("assistant", "a")
	thought.Reasoning, calling.Calls = "Hm", []llm.Call{{Name: "f", Arguments: "{}"}}
	for want, messages := range map[string][]llm.Message{
		"continue_final_message: the last message is not an assistant's": {said("user", "Hi")},
		"continue_final_message: the last message":                       {said("assistant", "Hi")},
		"messages[1]: an answer can only continue":                       {said("user", "Hi"), thought},
		"messages[1]: an answer can":                                     {said("user", "Hi"), calling},
		"messages[1]: an answer":                                         {said("user", "Hi"), said("assistant", "")},
	} {
		if _, err := chatML.Render(t.Context(), &Chat{Messages: messages, Open: true, Continue: true}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
