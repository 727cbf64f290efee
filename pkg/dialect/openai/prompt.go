package openai

import (
	"bytes"
	"encoding/json"
	"fmt"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// prompts reads the value of a key: a text, token ids, or a list of either. There is
// none where nothing or null was sent.
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
		return nil, invalid(key, "must be a string, an array of token ids, or an array of either")
	}
	switch first := bytes.TrimLeft(raw[1:], " \t\r\n"); first[0] {
	case ']':
		return nil, invalid(key, "must not be an empty array")
	case '"':
		return texts(key, raw)
	case '[':
		return tokenLists(key, raw)
	}
	var ids []*int
	if err := wire.UnmarshalAt(key, raw, &ids); err != nil {
		return nil, err
	}
	prompt, err := tokenPrompt(key, ids)
	return []llm.Prompt{prompt}, err
}

func texts(key string, raw json.RawMessage) ([]llm.Prompt, error) {
	var list []*string
	if err := wire.UnmarshalAt(key, raw, &list); err != nil {
		return nil, err
	}
	out := make([]llm.Prompt, len(list))
	for i, text := range list {
		if text == nil {
			return nil, invalid(fmt.Sprintf("%s[%d]", key, i), "must be a string, not null")
		}
		out[i] = llm.Text(*text)
	}
	return out, nil
}

func tokenLists(key string, raw json.RawMessage) ([]llm.Prompt, error) {
	var lists [][]*int
	if err := wire.UnmarshalAt(key, raw, &lists); err != nil {
		return nil, err
	}
	out := make([]llm.Prompt, len(lists))
	for i, ids := range lists {
		var err error
		if out[i], err = tokenPrompt(fmt.Sprintf("%s[%d]", key, i), ids); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// tokenPrompt returns the prompt of token ids that are at path; nil stands for null.
func tokenPrompt(path string, ids []*int) (llm.Prompt, error) {
	if len(ids) == 0 {
		return llm.Prompt{}, invalid(path, "must have at least one token id")
	}
	tokens := make([]int, len(ids))
	for i, id := range ids {
		if id == nil {
			return llm.Prompt{}, invalid(fmt.Sprintf("%s[%d]", path, i), "must be an integer, not null")
		}
		tokens[i] = *id
	}
	return llm.Prompt{Parts: []llm.Part{{Tokens: tokens}}}, nil
}
