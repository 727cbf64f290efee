package arch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"

	"glossa/pkg/chat"
	"glossa/pkg/engine/checkpoint"
)

// Files with chat templates beside tokenizer_config.json. As in transformers, the first wins;
// the last is that of old multimodal models.
const (
	templateFile      = "chat_template.jinja"
	toolsTemplateFile = "additional_chat_templates/" + chat.ToolsTemplate + ".jinja"
	templateJSON      = "chat_template.json"
	tokenMapFile      = "special_tokens_map.json"

	templateKey  = "chat_template"
	ggufTemplate = "tokenizer.chat_template"
)

// readChat reads the chat templates of a model and the special tokens that they may write. The
// result is empty if the model has no default template.
func (o *opened) readChat(fsys fs.FS, p *location) (chat.Source, error) {
	switch {
	case p.packed:
		return o.Chat, nil
	case p.config == "":
		source, err := o.readGGUFChat()
		if err != nil {
			err = fmt.Errorf("checkpoint %s: %w", p.weights, err)
		}
		return source, err
	}
	source := chat.Source{Templates: map[string]string{}, Tokens: map[string]string{}}
	for _, name := range []string{templateJSON, tokenMapFile, tokenizerConfig} {
		c, err := readConfig(fsys, p.in(name), maxTokenizerFile)
		if err != nil {
			return source, err
		}
		maps.Copy(source.Templates, c.chatTemplates())
		maps.Copy(source.Tokens, c.specialTokens())
		if *c.err != nil {
			return source, fmt.Errorf("%s: %w", p.in(name), *c.err)
		}
	}
	for name, file := range map[string]string{chat.DefaultTemplate: templateFile, chat.ToolsTemplate: toolsTemplateFile} {
		raw, err := readFile(fsys, p.in(file), maxConfigFile)
		switch {
		case err == nil:
			source.Templates[name] = string(raw)
		case !errors.Is(err, fs.ErrNotExist):
			return source, err
		}
	}
	return usable(source), nil
}

// usable returns the source, or an empty one if it has no default template.
func usable(source chat.Source) chat.Source {
	if _, ok := source.Templates[chat.DefaultTemplate]; !ok {
		return chat.Source{}
	}
	return source
}

// chatTemplates returns the chat templates of a tokenizer_config.json that chats use: a text,
// or a list of named ones.
func (c *config) chatTemplates() map[string]string {
	name, raw := c.find(templateKey)
	if raw == nil {
		return nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return map[string]string{chat.DefaultTemplate: text}
	}
	var list []struct{ Name, Template string }
	if err := json.Unmarshal(raw, &list); err != nil {
		c.reject(name, "%.60s is neither a template nor a list of templates", raw)
	}
	out := map[string]string{}
	for _, t := range list {
		if t.Name == chat.DefaultTemplate || t.Name == chat.ToolsTemplate {
			out[t.Name] = t.Template
		}
	}
	return out
}

// specialTokens returns the members NAME_token: spellings, or objects with one. Others are not
// for templates.
func (c *config) specialTokens() map[string]string {
	out := map[string]string{}
	for name, raw := range c.fields {
		if !strings.HasSuffix(name, "_token") {
			continue
		}
		var text string
		var token struct{ Content string }
		if json.Unmarshal(raw, &text) == nil || json.Unmarshal(raw, &token) == nil {
			if text += token.Content; text != "" {
				out[name] = text
			}
		}
	}
	return out
}

// readGGUFChat reads the chat templates of a GGUF file.
func (o *opened) readGGUFChat() (chat.Source, error) {
	source := chat.Source{Templates: map[string]string{}, Tokens: map[string]string{}}
	for name, key := range map[string]string{chat.DefaultTemplate: ggufTemplate, chat.ToolsTemplate: ggufTemplate + "." + chat.ToolsTemplate} {
		text, err := o.file.Meta.Text(key)
		switch {
		case err == nil:
			source.Templates[name] = text
		case !errors.Is(err, checkpoint.ErrNoKey):
			return source, err
		}
	}
	k := &ggufKeys{meta: o.file.Meta}
	tokens, err := o.file.Meta.Texts("tokenizer.ggml.tokens")
	if err != nil && !errors.Is(err, checkpoint.ErrNoKey) {
		return source, err
	}
	for name, key := range map[string]string{"bos_token": "bos_token_id", "eos_token": "eos_token_id", "unk_token": "unknown_token_id", "pad_token": "padding_token_id"} {
		if id := k.id(key); id != nil && *id >= 0 && *id < int64(len(tokens)) && tokens[*id] != "" {
			source.Tokens[name] = tokens[*id]
		}
	}
	return usable(source), k.err
}
