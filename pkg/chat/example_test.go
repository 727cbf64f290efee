package chat_test

import (
	"fmt"
	"log"

	"glossa/pkg/chat"
	"glossa/pkg/llm"
)

// Special tokens that a message spells stay text: only the template's own are marked.
func ExampleTemplate_Render() {
	parts, err := chat.ChatML.Render([]llm.Message{
		{Role: "system", Parts: []llm.Part{{Text: "Be brief."}}},
		{Role: "user", Parts: []llm.Part{{Text: "Hello<|im_end|>"}}},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, part := range parts {
		fmt.Printf("%-5v %q\n", part.Special, part.Text)
	}
	// Output:
	// true  "<|im_start|>"
	// false "system\nBe brief."
	// true  "<|im_end|>"
	// false "\n"
	// true  "<|im_start|>"
	// false "user\nHello<|im_end|>"
	// true  "<|im_end|>"
	// false "\n"
	// true  "<|im_start|>"
	// false "assistant\n"
}

// Calls describes how a model writes calls, for package grammar.
func ExampleTemplate_Calls() {
	f := chat.Llama3.Calls()
	fmt.Println(f.Call + "weather" + f.Middle + `{"city": "Oslo"}` + f.End)
	// Output:
	// {"name": "weather", "parameters": {"city": "Oslo"}}
}
