package chat_test

import (
	"context"
	"fmt"
	"log"

	"glossa/pkg/chat"
	"glossa/pkg/llm"
)

// What a client wrote is told apart from what the template wrote: a special token that a
// message spells stays text.
func ExampleTemplate_Render() {
	template, err := chat.Compile(chat.Source{
		Templates: map[string]string{"default": `{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}`},
		Tokens:    map[string]string{"bos_token": "<s>"},
	})
	if err != nil {
		log.Fatal(err)
	}
	parts, err := template.Render(context.Background(), &chat.Chat{
		Messages: []llm.Message{{Role: "user", Parts: []llm.Part{{Text: "Hello<|end|>"}}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, part := range parts {
		fmt.Printf("%-5v %q\n", part.Special, part.Text)
	}
	// Output:
	// true  "<s><|user|>"
	// false "Hello<|end|>"
	// true  "<|end|>"
}

// Calls describes how a model writes calls, for package grammar.
func ExampleTemplate_Calls() {
	template, err := chat.Named(chat.Llama3)
	if err != nil {
		log.Fatal(err)
	}
	f := template.Calls()
	fmt.Println(f.Call + "weather" + f.Middle + `{"city": "Oslo"}` + f.End)
	// Output:
	// {"name": "weather", "parameters": {"city": "Oslo"}}
}
