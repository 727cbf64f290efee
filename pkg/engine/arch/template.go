package arch

import (
	"encoding/json"
	"strings"
)

// A template is a chat template, recognised by the tokens that all its versions contain.
type template struct {
	name    string
	markers []string
}

var templates = []template{
	{"llama3", []string{"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"}},
	{"chatml", []string{"<|im_start|>", "<|im_end|>"}},
}

// templateName recognises a chat template; "" if it is not a supported one.
func templateName(template string) string {
next:
	for _, t := range templates {
		for _, marker := range t.markers {
			if !strings.Contains(template, marker) {
				continue next
			}
		}
		return t.name
	}
	return ""
}

// chatTemplate returns the chat template of a tokenizer_config.json: a text, or the
// default of a list of named ones.
func (c *config) chatTemplate() string {
	name, raw := c.find("chat_template")
	if raw == nil || *c.err != nil {
		return ""
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var list []struct{ Name, Template string }
	if err := json.Unmarshal(raw, &list); err != nil {
		c.reject(name, "%.60s is neither a template nor a list of templates", raw)
	}
	for _, t := range list {
		if t.Name == "default" {
			return t.Template
		}
	}
	return ""
}
