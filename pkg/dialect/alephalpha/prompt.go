package alephalpha

import (
	"encoding/json"
	"fmt"

	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
	"glossa/pkg/wire"
)

// readPrompt reads the prompt called at: a string, which may be empty, or items of text and of
// token ids, which are concatenated. Completions may also have images.
func readPrompt(at string, raw json.RawMessage, images bool) (llm.Prompt, error) {
	if raw[0] != '[' {
		var text string
		if err := wire.UnmarshalAt(at, raw, &text); err != nil {
			return llm.Prompt{}, err
		}
		return llm.Text(text), nil
	}
	if err := checkKinds(at, raw, images); err != nil {
		return llm.Prompt{}, err
	}
	var items []item
	if err := wire.UnmarshalAt(at, raw, &items); err != nil {
		return llm.Prompt{}, err
	}
	parts := make([]llm.Part, len(items))
	for i := range items {
		path := fmt.Sprintf("%s[%d]", at, i)
		if err := itemTable.Check(path, &items[i]); err != nil {
			return llm.Prompt{}, err
		}
		var err error
		if parts[i], err = items[i].part(path + ".data"); err != nil {
			return llm.Prompt{}, err
		}
	}
	return llm.Prompt{Parts: parts}, nil
}

// checkKinds rejects items of unknown kinds, before their keys are decoded.
func checkKinds(at string, raw json.RawMessage, images bool) error {
	var kinds []struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(raw, &kinds) != nil {
		return nil // the actual decoding returns a better error
	}
	for i, kind := range kinds {
		path := fmt.Sprintf("%s[%d]", at, i)
		switch {
		case kind.Type == "text" || kind.Type == "token_ids" || kind.Type == "image" && images:
		case kind.Type == "image":
			return &llm.Error{Code: llm.Unsupported, Param: path, Message: "items of type image are for completions only: send text or token_ids"}
		default:
			return wire.Invalid(path+".type", "must be text, token_ids or image, not %.40q", kind.Type)
		}
	}
	return nil
}

// part reads the data of the item at path.
func (it *item) part(path string) (llm.Part, error) {
	if it.Type != "token_ids" {
		var text string
		err := wire.UnmarshalAt(path, it.Data, &text)
		if err != nil || it.Type == "text" {
			return llm.Part{Text: text}, err
		}
		image, err := openaiapi.Base64(path, text)
		return llm.Part{Image: image}, err
	}
	ids := []int{}
	err := wire.UnmarshalAt(path, it.Data, &ids)
	return llm.Part{Tokens: ids}, err
}

// isEmpty reports whether p has neither text nor tokens.
func isEmpty(p llm.Prompt) bool {
	for _, part := range p.Parts {
		if part.Text != "" || len(part.Tokens) > 0 || part.Image != nil {
			return false
		}
	}
	return true
}
