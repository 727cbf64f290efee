package openai

import (
	"bytes"
	"encoding/json"
	"fmt"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// prompts reads the value of a key: a text, token ids, or a list of either. It returns nil
// if the key is absent or null.
func prompts(key string, raw json.RawMessage) ([]llm.Prompt, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if raw[0] == '"' {
		var text string
		err := wire.UnmarshalAt(key, raw, &text)
		return []llm.Prompt{llm.Text(text)}, err
	}
	if raw[0] != '[' {
		return nil, wire.Invalid(key, "must be a string, an array of token ids, or an array of either")
	}
	switch first := bytes.TrimLeft(raw[1:], " \t\r\n"); first[0] {
	case ']':
		return nil, wire.Invalid(key, "must not be an empty array")
	case '"':
		return texts(key, raw)
	case '[':
		return tokenLists(key, raw)
	}
	var ids []int
	if err := wire.UnmarshalAt(key, raw, &ids); err != nil {
		return nil, err
	}
	return []llm.Prompt{tokenPrompt(ids)}, nil
}

func texts(key string, raw json.RawMessage) ([]llm.Prompt, error) {
	var list []string
	if err := wire.UnmarshalAt(key, raw, &list); err != nil {
		return nil, err
	}
	out := make([]llm.Prompt, len(list))
	for i, text := range list {
		out[i] = llm.Text(text)
	}
	return out, nil
}

func tokenLists(key string, raw json.RawMessage) ([]llm.Prompt, error) {
	var lists [][]int
	if err := wire.UnmarshalAt(key, raw, &lists); err != nil {
		return nil, err
	}
	out := make([]llm.Prompt, len(lists))
	for i, ids := range lists {
		if len(ids) == 0 {
			return nil, wire.Invalid(fmt.Sprintf("%s[%d]", key, i), "must have at least one token id")
		}
		out[i] = tokenPrompt(ids)
	}
	return out, nil
}

func tokenPrompt(ids []int) llm.Prompt {
	return llm.Prompt{Parts: []llm.Part{{Tokens: ids}}}
}
