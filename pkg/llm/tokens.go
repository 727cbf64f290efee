package llm

import "context"

// A Renderer shows the text that a chat becomes.
type Renderer interface {
	// Render returns the parts of the prompt that messages make if the answer may call
	// tools, and whether the tokens that the model begins prompts with come before them.
	// Open: the beginning of the assistant's answer follows, as for a generation.
	Render(messages []Message, tools []Tool, open bool) (parts []Part, start bool, err error)
}

// A TokenizerFile has its tokenizer as a file of Hugging Face's format, tokenizer.json.
type TokenizerFile interface {
	TokenizerJSON(ctx context.Context) ([]byte, error)
}
