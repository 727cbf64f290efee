package llm

import "context"

// A Renderer renders a chat as the text of a prompt.
type Renderer interface {
	// Render returns the parts of the prompt for messages, where the answer may call
	// tools, and reports whether the model's start tokens precede them. If open is set,
	// the beginning of the assistant's answer follows, as for generation.
	Render(messages []Message, tools []Tool, open bool) (parts []Part, start bool, err error)
}

// A TokenizerFile exports its tokenizer in Hugging Face's format, tokenizer.json.
type TokenizerFile interface {
	TokenizerJSON(ctx context.Context) ([]byte, error)
}
