package engine

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"glossa/pkg/chat"
	"glossa/pkg/llm"
	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/hf"
)

// The tokens of chats are those of transformers' apply_chat_template: testdata/chatgoldens.py.
func TestChatTokens(t *testing.T) {
	raw, err := os.ReadFile("testdata/chats.golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Tokenizer, Template string
		Messages            []struct{ Role, Content string }
		IDs                 []int
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		raw, err := os.ReadFile(filepath.Join("../tokenizer/hf/testdata", c.Tokenizer+".tokenizer.json"))
		if err != nil {
			t.Fatal(err)
		}
		words, err := hf.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		template, err := chat.Compile(chat.Source{Templates: map[string]string{chat.DefaultTemplate: c.Template}})
		if err != nil {
			t.Fatal(err)
		}
		in := chat.Chat{Open: true}
		for _, m := range c.Messages {
			in.Messages = append(in.Messages, llm.Message{Role: m.Role, Parts: []llm.Part{{Text: m.Content}}})
		}
		parts, err := template.Render(t.Context(), &in)
		if err != nil {
			t.Fatal(err)
		}
		var to tokenizer.Collector
		if err := (&core{tokenizer: words}).encode(t.Context(), &to, parts); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(to.IDs(), c.IDs) {
			t.Errorf("%d: %s, %s, %q:\n%v, want\n%v", i, c.Tokenizer, c.Template, c.Messages, to.IDs(), c.IDs)
		}
	}
	if len(cases) < 20 {
		t.Errorf("%d cases", len(cases))
	}
}
