package llm

import "context"

// A Renderer renders a chat as the text of a prompt.
type Renderer interface {
	// Render returns the parts of the prompt that a request with params would make of a
	// chat, and reports whether the model's start tokens precede them. What the chat template
	// wrote has Special set, what is from the messages has not. If open is set, the beginning
	// of the assistant's answer follows, as for generation.
	Render(ctx context.Context, p Prompt, params *Params, open bool) (parts []Part, start bool, err error)
}

// A TokenizerFile exports its tokenizer in Hugging Face's format, tokenizer.json.
type TokenizerFile interface {
	TokenizerJSON(ctx context.Context) ([]byte, error)
}
