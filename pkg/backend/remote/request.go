package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"glossa/pkg/chat"
	"glossa/pkg/llm"
	"glossa/pkg/schema"
)

// A row is one completion of one prompt.
type row struct {
	*call
	seeded func() (*call, error) // writes the call when the row begins: bodies with images are large
	index  int
	none   bool     // no token is wanted, so there is no call
	echo   string   // start of the row's text
	stop   []string // as the client sent them
}

// rows returns the rows of a request. It checks all of them before any is sent.
func (b *Backend) rows(ctx context.Context, req *llm.Request) ([]row, error) {
	var dropped []string
	n, none := max(1, req.N), req.MaxTokens != nil && *req.MaxTokens == 0
	rows := make([]row, 0, req.Rows())
	for p, prompt := range req.Prompts {
		prompt, err := b.asked(prompt)
		if err != nil {
			return nil, err
		}
		s := b.schemaOf(req, prompt)
		keys, err := b.promptOf(ctx, s, prompt)
		if err != nil {
			return nil, err
		}
		echo, err := echoOf(prompt, req.Echo)
		if err != nil {
			return nil, err
		}
		declared := req.Declared
		if len(req.Tools) == 0 && !hasCalls(prompt) {
			declared = nil // nothing in the chat refers to them
		}
		w := wish{keys: keys, declared: declared}
		if b.model.OnDrop != nil {
			w.dropped = &dropped
		}
		if w.thinking, w.params, err = s.Reason(req.Params, prompt.Messages); err != nil {
			return nil, err
		}
		c, err := body(s, req, w, 0)
		if err != nil {
			return nil, err
		}
		for i := range n {
			r := row{call: c, index: p*n + i, none: none, echo: echo, stop: req.Stop}
			if i > 0 && req.Seed != nil {
				r.seeded = func() (*call, error) { return body(s, req, w, i) }
			}
			rows = append(rows, r)
		}
	}
	if len(dropped) > 0 {
		slices.Sort(dropped)
		b.model.OnDrop(ctx, slices.Compact(dropped))
	}
	return rows, nil
}

// asked returns a prompt as the model takes it. Providers read images in chats only, so a prompt with
// images becomes a message of the user.
func (b *Backend) asked(p llm.Prompt) (llm.Prompt, error) {
	image := slices.IndexFunc(p.Parts, func(part llm.Part) bool { return part.Image != nil })
	switch {
	case image < 0:
		return p, nil
	case !b.model.Schema.Images():
		return p, llm.NoImages("prompt", image)
	case slices.ContainsFunc(p.Parts, func(part llm.Part) bool { return part.Tokens != nil }):
		return p, errTokens
	}
	return llm.Prompt{Messages: []llm.Message{{Role: "user", Parts: p.Parts}}}, nil
}

var errTokens = &llm.Error{Code: llm.Unsupported, Param: "prompt", Message: "this model accepts text, not token ids"}

// schemaOf returns the schema for a prompt: some models take chats, or those with tools and
// images, by another operation than texts.
func (b *Backend) schemaOf(req *llm.Request, p llm.Prompt) *schema.Schema {
	s := b.model.Schema
	if s.Alternative == nil || p.Messages == nil {
		return s
	}
	images := slices.ContainsFunc(p.Messages, func(m llm.Message) bool { return !llm.Texts(m.Parts) })
	if images || len(req.Tools) > 0 || hasCalls(p) || s.ChatTemplate == "" && !s.Takes("messages") {
		return s.Alternative
	}
	return s
}

// hasCalls reports whether a chat has calls or their results.
func hasCalls(p llm.Prompt) bool {
	return slices.ContainsFunc(p.Messages, func(m llm.Message) bool { return len(m.Calls) > 0 || m.CallID != "" })
}

// promptOf returns the canonical keys of a prompt.
func (b *Backend) promptOf(ctx context.Context, s *schema.Schema, p llm.Prompt) (map[string]any, error) {
	if p.Messages != nil && (s.ChatTemplate == "" || s.Takes("messages")) {
		return s.Chat(p.Messages)
	}
	text, ok := p.Text()
	if p.Messages != nil {
		var err error
		if text, err = b.render(ctx, p.Messages); err != nil {
			return nil, err
		}
	} else if !ok {
		return nil, errTokens
	}
	if !s.Takes("prompt") {
		return nil, notText(s.Task())
	}
	return map[string]any{"prompt": text}, nil
}

// render writes a chat as text. The text does not mark special tokens, so contents
// that spell the tokens between messages, and could thus start a message of another
// role, are rejected.
func (b *Backend) render(ctx context.Context, messages []llm.Message) (string, error) {
	t, err := b.template()
	if err != nil {
		return "", err // the catalog has checked it
	}
	for i, m := range messages {
		if len(m.Calls) > 0 || m.CallID != "" {
			return "", schema.NoCalls(m, i)
		}
		for _, mark := range t.Marks() {
			if strings.Contains(content(m), mark) {
				return "", &llm.Error{
					Code: llm.Invalid, Param: fmt.Sprintf("messages[%d]", i), Message: "for this model, it must not contain " + mark,
				}
			}
		}
	}
	parts, err := t.Render(ctx, &chat.Chat{Messages: messages, Open: true})
	if err != nil {
		return "", err
	}
	text, _ := llm.Prompt{Parts: parts}.Text() // templates write text
	return text, nil
}

// content returns the text of a message.
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
		return "", &llm.Error{Code: llm.Unsupported, Param: "return_full_text", Message: "is not supported for chats"}
	}
	return text, nil
}

// A wish is what a request says for one of its prompts.
type wish struct {
	keys     map[string]any // of the prompt
	params   llm.Params     // without those for reasoning that thinking says
	thinking any            // the value of this key; nil: not sent
	declared []llm.Tool
	dropped  *[]string // takes the names of parameters that are left out; nil: they are rejected
}

// apply sets the parameters, and leaves out those that the model lacks if it may.
func (w *wish) apply(params *llm.Params, set func(name string, v any) bool) error {
	var left []string
	for {
		err := params.Apply(func(name string, v any) bool {
			// The format of the first two differs between models.
			return name != "tokens" && name != "logprobs" && set(name, v) || slices.Contains(left, name)
		})
		e, ok := errors.AsType[*llm.Error](err)
		if w.dropped == nil || !ok || !mayDrop(e.Param) {
			return err
		}
		left = append(left, e.Param)
		*w.dropped = append(*w.dropped, e.Param)
	}
}

// mayDrop reports whether an answer without a parameter still is one to the request: those
// that choose among the tokens, and not those that say what the text must be or where it ends.
func mayDrop(name string) bool {
	switch name {
	case "max_new_tokens", "stop", "truncate", "return_full_text", "tokens", "logprobs",
		"schema", "grammar", "tools", "must_call", "continue_final_message":
		return false
	}
	return true
}

// body returns the call of completion i of a prompt.
func body(s *schema.Schema, req *llm.Request, w wish, i int) (*call, error) {
	n := max(1, req.N)
	choice, params, err := s.Choice(w.params, w.declared)
	if err != nil {
		return nil, err
	}
	switch best := params.BestOf; {
	case best != nil && *best == n:
		params.BestOf = nil // the caller gets all of them
	case best != nil && n > 1:
		return nil, &llm.Error{Code: llm.Unsupported, Param: "best_of", Message: "this model supports it for one completion only"}
	}
	if params.Seed != nil {
		params.Seed = new(*params.Seed + int64(i))
	}
	if params.Echo != nil {
		params.Echo = new(false) // done here, because most models omit it in streams
	}
	body, stream := s.Request(w.keys), req.Stream && s.Stream != nil
	set := sampler(s, &params, body)
	set("stream", stream)
	if choice != nil {
		set("tool_choice", choice)
	}
	if w.thinking != nil {
		set("thinking", w.thinking)
	}
	if err := w.apply(&params, set); err != nil {
		return nil, err
	}
	texts := textsOf(nil, w.keys)
	for _, t := range params.Tools {
		texts = textsOf(texts, []any{t.Description, t.Parameters})
	}
	return newCall(s, body, texts, stream)
}

// textsOf appends the texts in v to list, except those that are not prose.
func textsOf(list []string, v any) []string {
	switch v := v.(type) {
	case string:
		if v = strings.TrimSpace(v); v != "" {
			list = append(list, v)
		}
	case json.RawMessage:
		list = textsOf(list, string(v))
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
