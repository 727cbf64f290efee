package openaiapi

import "glossa/pkg/llm"

// AppendPart adds a part to those of a message. A line feed ends a text that another text follows, as
// llama.cpp joins the texts of a message for a chat template. It is no part of its own:
// providers refuse parts of white space.
func AppendPart(parts []llm.Part, part llm.Part) []llm.Part {
	if n := len(parts); n > 0 && parts[n-1].Image == nil && part.Image == nil {
		parts[n-1].Text += "\n"
	}
	return append(parts, part)
}
