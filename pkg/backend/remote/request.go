package remote

import (
	"fmt"
	"strings"

	"glossa/pkg/chat"
	"glossa/pkg/llm"
	"glossa/pkg/schema"
)

// A row is one completion of one prompt.
type row struct {
	*call
	index, prompt int
	none          bool     // no token is wanted: it is not sent
	echo          string   // the row begins with it
	stop          []string // as they were sent
}

// rows returns the rows of a request, all of them checked before any is sent.
func (b *Backend) rows(req *llm.Request) ([]row, error) {
	n, none := max(1, req.N), req.MaxTokens != nil && *req.MaxTokens == 0
	rows := make([]row, 0, req.Rows())
	for p, prompt := range req.Prompts {
		keys, err := b.prompt(prompt, req.Tools)
		if err != nil {
			return nil, err
		}
		echo, err := echoOf(prompt, req.Echo)
		if err != nil {
			return nil, err
		}
		var c *call
		for i := range n {
			if i == 0 || req.Seed != nil {
				if c, err = b.body(req, keys, i); err != nil {
					return nil, err
				}
			}
			rows = append(rows, row{c, p*n + i, p, none, echo, req.Stop})
		}
	}
	return rows, nil
}

// prompt returns the canonical keys of a prompt.
func (b *Backend) prompt(p llm.Prompt, tools []llm.Tool) (map[string]any, error) {
	s := b.model.Schema
	if p.Messages != nil && (s.ChatTemplate == "" || s.Takes("messages")) {
		return s.Chat(p.Messages)
	}
	text, ok := p.Text()
	if p.Messages != nil {
		var err error
		if text, err = render(chat.Template(s.ChatTemplate), p.Messages); err != nil {
			return nil, err
		}
	} else if !ok {
		return nil, &llm.Error{Code: llm.Unsupported, Param: "prompt", Message: "this model takes texts, no token ids"}
	}
	if !s.Takes("prompt") {
		return nil, &llm.Error{Code: llm.Unsupported, Param: "prompt", Message: "this model takes no texts to continue"}
	}
	return map[string]any{"prompt": text}, nil
}

// render writes a chat as a text. Nothing marks special tokens in it, so contents that
// spell those between messages, and could so begin a message of another role, are
// refused.
func render(t chat.Template, messages []llm.Message) (string, error) {
	for i, m := range messages {
		if len(m.Calls) > 0 || m.CallID != "" {
			return "", schema.NoCalls(m, i)
		}
		for _, mark := range t.Marks() {
			if strings.Contains(content(m), mark) {
				return "", &llm.Error{
					Code: llm.Invalid, Param: fmt.Sprintf("messages[%d]", i), Message: "for this model it may not contain " + mark,
				}
			}
		}
	}
	parts, err := t.Render(messages, nil)
	if err != nil {
		return "", err
	}
	text, ok := llm.Prompt{Parts: parts}.Text()
	if !ok {
		return "", llm.Errorf(llm.Unsupported, "this model takes texts, no token ids")
	}
	return text, nil
}

// content returns what a message says.
func content(m llm.Message) string {
	var b strings.Builder
	for _, p := range m.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

func echoOf(p llm.Prompt, echo *bool) (string, error) {
	if echo == nil || !*echo {
		return "", nil
	}
	text, ok := p.Text()
	if !ok {
		return "", &llm.Error{Code: llm.Unsupported, Param: "return_full_text", Message: "a chat is not repeated"}
	}
	return text, nil
}

// body returns the call of completion i of a prompt.
func (b *Backend) body(req *llm.Request, keys map[string]any, i int) (*call, error) {
	s, params, n := b.model.Schema, req.Params, max(1, req.N)
	switch best := params.BestOf; {
	case best != nil && *best == n:
		params.BestOf = nil // all of them
	case best != nil && n > 1:
		return nil, &llm.Error{Code: llm.Unsupported, Param: "best_of", Message: "this model takes it for one completion only"}
	}
	if params.Seed != nil {
		params.Seed = new(*params.Seed + int64(i))
	}
	if params.Echo != nil {
		params.Echo = new(false) // it is done here: in streams most models leave it out
	}
	body, stream := s.Request(keys), req.Stream && s.Stream != nil
	set := b.sampler(&params, body)
	set("stream", stream)
	err := params.Apply(func(name string, v any) bool {
		// No answer has them in a form that is the same for all models.
		return name != "tokens" && name != "logprobs" && set(name, v)
	})
	if err != nil {
		return nil, err
	}
	return newCall(body, textsOf(nil, keys), stream)
}

// textsOf adds the texts in v to list, but for what is no prose.
func textsOf(list []string, v any) []string {
	switch v := v.(type) {
	case string:
		if v = strings.TrimSpace(v); v != "" {
			list = append(list, v)
		}
	case []any:
		for _, e := range v {
			list = textsOf(list, e)
		}
	case map[string]any:
		for name, e := range v {
			if name != "role" && name != "type" {
				list = textsOf(list, e)
			}
		}
	}
	return list
}
