// Package calls makes the program of answers that may call functions: text, or calls whose
// arguments satisfy the functions' schemas. The caller gives the syntax of calls. The
// package knows neither chat templates nor prompts, and does not parse generated calls.
package calls

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/jsonschema"
	"glossa/pkg/grammar/pushdown"
	"glossa/pkg/toolcall"
)

// A Syntax describes how calls are written. Its texts may have any bytes; those that are not
// UTF-8 stand for tokens that no text has.
type Syntax = toolcall.Syntax

// A Tool is a function that can be called.
type Tool struct {
	Name string
	// Parameters is the JSON Schema of the object of its arguments; none: any object. A schema
	// with properties that does not mention additionalProperties allows no others.
	Parameters []byte
}

// A Form says which answers there are, of those that a syntax has.
type Form struct {
	Must bool // an answer is calls
	One  bool // an answer has at most one call

	// Text is the program of answers that are not calls; nil: any text in UTF-8. No such answer
	// may begin as calls do, and no calls follow one. Must excludes it.
	Text *pushdown.Program
}

// Compile returns the program of answers that may call tools. An answer is text in UTF-8 (see
// [Syntax]) or calls or, if the syntax has it so, text and then calls, as far as form allows
// them. Text does not contain the trigger, or does not begin with it; it may end within one.
// Errors name the tool.
func Compile(syntax *Syntax, tools []Tool, form Form, limits automaton.Limits) (*pushdown.Program, error) {
	return CompileWithin(automaton.NewBudget(context.Background()), syntax, tools, form, limits)
}

// CompileWithin is [Compile] within a budget that may be partly spent.
func CompileWithin(budget *automaton.Budget, syntax *Syntax, tools []Tool, form Form, limits automaton.Limits) (*pushdown.Program, error) {
	if len(tools) == 0 {
		return nil, errors.New("there is no function to call")
	}
	b, seen := builder{budget: budget, untils: map[stringText]*automaton.DFA{}}, map[string]bool{}
	start := b.rule(pushdown.Rule{})
	for _, tool := range tools {
		if err := checkName(tool.Name); err != nil {
			return nil, err
		}
		if syntax.Begin()+tool.Name+syntax.Middle == syntax.Text {
			return nil, fmt.Errorf("this model cannot call a function with the name %q", tool.Name)
		}
		if seen[tool.Name] {
			return nil, fmt.Errorf("there are two functions %q", tool.Name)
		}
		seen[tool.Name] = true
		arguments, err := b.arguments(&syntax.Arguments, tool.Parameters, limits)
		if err != nil {
			return nil, fmt.Errorf("the parameters of %q: %w", tool.Name, err)
		}
		b.tools = append(b.tools, arguments)
	}
	if err := b.answer(syntax, tools, form); err != nil {
		return nil, err
	}
	b.rules[start].Proc = &pushdown.Proc{States: b.states}
	return &pushdown.Program{Rules: b.rules, Start: start, JSON: true}, nil
}

// maxName bounds the length of a function's name, as in OpenAI's API.
const maxName = 64

func checkName(name string) error {
	ok := name != "" && len(name) <= maxName
	for _, c := range []byte(name) {
		ok = ok && toolcall.IsName(c)
	}
	if !ok {
		return fmt.Errorf("%.70q is not a name of a function: 1 to %d letters, digits, _ and -", name, maxName)
	}
	return nil
}

// A builder collects the rules of a program and the states of its start.
type builder struct {
	budget *automaton.Budget
	rules  []pushdown.Rule
	states []pushdown.ProcState // of the rule that is being made
	tools  []pushdown.ID        // the rule of each tool's arguments
	untils map[stringText]*automaton.DFA
}

func (b *builder) rule(r pushdown.Rule) pushdown.ID {
	b.rules = append(b.rules, r)
	return pushdown.ID(len(b.rules) - 1)
}

// include adds the rules of a program and returns that of its texts.
func (b *builder) include(p *pushdown.Program) (pushdown.ID, error) {
	if err := b.budget.Spend(16*len(p.Rules), 300*len(p.Rules)); err != nil {
		return 0, err
	}
	by := pushdown.ID(len(b.rules))
	for i := range p.Rules {
		b.rule(shift(&p.Rules[i], by))
	}
	return p.Start + by, nil
}

// arguments adds the rules of a schema and returns the rule of its objects: a schema without
// a type is meant to be an object.
func (b *builder) arguments(syntax *toolcall.Arguments, schema []byte, limits automaton.Limits) (pushdown.ID, error) {
	if schema = bytes.TrimSpace(schema); len(schema) == 0 || string(schema) == "null" {
		schema = []byte("{}")
	}
	p, err := jsonschema.CompileWithin(b.budget, schema, limits)
	if err != nil {
		return 0, err
	}
	start, err := b.include(p)
	if err != nil {
		return 0, err
	}
	objects := b.objects(start, nil, map[pushdown.ID]bool{})
	if declaresAll(schema) {
		for i, id := range objects {
			objects[i] = b.declared(id)
		}
	}
	if syntax.Style != toolcall.JSON {
		w := writer{builder: b, syntax: syntax, strings: toolcall.Strings(schema), known: map[pushdown.ID]pushdown.ID{}}
		for i, id := range objects {
			if objects[i], err = w.object(b.rules[id].Object, nil); err != nil {
				return 0, err
			}
		}
	}
	switch len(objects) {
	case 0:
		return 0, errors.New("must be an object")
	case 1:
		return objects[0], nil
	}
	return b.rule(pushdown.Rule{Any: objects}), nil
}

// objects appends the rules of objects among the alternatives of a rule.
func (b *builder) objects(id pushdown.ID, list []pushdown.ID, seen map[pushdown.ID]bool) []pushdown.ID {
	if seen[id] {
		return list
	}
	seen[id] = true
	if b.rules[id].Object != nil {
		return append(list, id)
	}
	for _, one := range b.rules[id].Any {
		list = b.objects(one, list, seen)
	}
	return list
}
