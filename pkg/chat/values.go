package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"glossa/pkg/jinja"
	"glossa/pkg/llm"
)

// variables returns the variables of the template.
func (t *Template) variables(turns []turn, tools []llm.Tool, c *Chat) (*jinja.Dict, error) {
	vars := new(jinja.Dict)
	for name, spelling := range t.tokens {
		vars.Set(name, jinja.Trusted(spelling))
	}
	if t.nature.namedIDs {
		turns = nameIDs(turns)
	}
	messages := make([]jinja.Value, len(turns))
	for i := range turns {
		var err error
		if messages[i], err = t.message(&turns[i]); err != nil {
			return nil, err
		}
	}
	list, err := toolValues(tools)
	if err != nil {
		return nil, err
	}
	vars.Set("messages", jinja.List(messages...)).Set("tools", list).Set("documents", jinja.None()).
		Set("add_generation_prompt", jinja.Bool(c.Open))
	if len(tools) > 0 { // SmolLM 3 reads this one
		vars.Set("xml_tools", list)
	}
	return vars, t.addSettings(vars, c.Settings, len(tools) > 0)
}

// message returns a turn as the dict that templates read.
func (t *Template) message(m *turn) (jinja.Value, error) {
	d := new(jinja.Dict).Set("role", role(m.role))
	content := t.content(m)
	switch {
	case m.text == "" && len(m.calls) > 0 && t.nature.nullContent:
		d.Set("content", jinja.None())
	case len(m.pictures) > 0 && t.nature.pictures:
		d.Set("content", t.parts(m))
	case t.nature.typed:
		part := new(jinja.Dict).Set("type", jinja.Trusted("text")).Set("text", content)
		d.Set("content", jinja.List(jinja.Map(part)))
	default:
		d.Set("content", content)
	}
	if m.reasoning != "" {
		for _, name := range []string{"reasoning_content", "reasoning", "thinking"} {
			d.Set(name, jinja.String(m.reasoning))
		}
	}
	if m.role == "tool" {
		d.Set("tool_call_id", jinja.String(m.id))
		if m.name != "" {
			d.Set("name", jinja.String(m.name))
		}
	}
	if len(m.calls) == 0 {
		return jinja.Map(d), nil
	}
	calls := make([]jinja.Value, len(m.calls))
	for i, c := range m.calls {
		var err error
		if calls[i], err = t.call(c); err != nil {
			return jinja.Value{}, rejected(m.number, "the arguments of the call of %.64q are not a JSON object", c.Name)
		}
	}
	return jinja.Map(d.Set("tool_calls", jinja.List(calls...))), nil
}

// content returns the text of a turn. The marks of calls in it count as the template's text.
func (t *Template) content(m *turn) jinja.Value {
	var spans []jinja.Span
	at := 0
	for _, next := range m.pictures {
		spans = append(spans, jinja.Span{Text: m.text[at:next.at]}, jinja.Span{Text: t.picture, Trusted: true})
		at = next.at
	}
	spans = append(spans, jinja.Span{Text: m.text[at:]})
	if m.text != "" && len(m.written) > 0 {
		spans = append(spans, jinja.Span{Text: "\n"})
	}
	for _, p := range m.written {
		spans = append(spans, jinja.Span{Text: p.Text, Trusted: p.Own})
	}
	return jinja.Text(spans...)
}

// role returns the name of a role. That of a known one counts as the template's text, since many
// templates make a special token of it: <|user|>.
func role(name string) jinja.Value {
	switch name {
	case "system", "user", "assistant", "tool":
		return jinja.Trusted(name)
	}
	return jinja.String(name)
}

// call returns a call as templates read it: its arguments are an object, unless the template
// wants their JSON.
func (t *Template) call(c llm.Call) (jinja.Value, error) {
	text := cmp.Or(c.Arguments, "{}")
	arguments, err := jinja.FromJSON([]byte(text))
	if err != nil {
		return arguments, err
	}
	if arguments.Kind() != jinja.KindDict {
		return arguments, errors.New("not an object")
	}
	if t.nature.textArguments {
		arguments = jinja.String(text)
	}
	function := new(jinja.Dict).Set("name", jinja.String(c.Name)).Set("arguments", arguments)
	return jinja.Map(new(jinja.Dict).Set("id", jinja.String(c.ID)).Set("type", jinja.Trusted("function")).Set("function", jinja.Map(function))), nil
}

// toolValues returns tools as templates read them: none, or the objects of OpenAI's "tools".
func toolValues(tools []llm.Tool) (jinja.Value, error) {
	if len(tools) == 0 {
		return jinja.None(), nil
	}
	list := make([]jinja.Value, len(tools))
	for i, tool := range tools {
		f := new(jinja.Dict).Set("name", jinja.String(tool.Name))
		if tool.Description != "" {
			f.Set("description", jinja.String(tool.Description))
		}
		if len(tool.Parameters) > 0 {
			schema, err := jinja.FromJSON(tool.Parameters)
			if err != nil {
				return list[i], &llm.Error{Code: llm.Invalid, Param: "tools", Message: fmt.Sprintf("the parameters of %.64q are not valid JSON", tool.Name), Err: err}
			}
			f.Set("parameters", schema)
		}
		list[i] = jinja.Map(new(jinja.Dict).Set("type", jinja.Trusted("function")).Set("function", jinja.Map(f)))
	}
	return jinja.List(list...), nil
}

// renderError converts the error of a template for the client.
func renderError(ctx context.Context, err error) error {
	e, ok := errors.AsType[*jinja.Error](err)
	switch {
	case !ok, e.Fault == jinja.Canceled:
		return cmp.Or(ctx.Err(), err)
	case e.Fault == jinja.Raised:
		return &llm.Error{Code: llm.Invalid, Param: "messages", Message: "the model's chat template refuses this chat: " + e.Message}
	}
	return &llm.Error{Code: llm.Invalid, Param: "messages", Message: "the model's chat template cannot write this chat: " + e.Message}
}
