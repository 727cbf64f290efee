package structured

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"glossa/pkg/grammar"
	"glossa/pkg/llm"
)

// A form is what rows are held to.
type form struct {
	instruction string
	name        string // of what is wanted, in a sentence
	// read returns the text to give out for the model's. The error tells the model and
	// the client what is wrong, and has nothing of the text in it.
	read func(text string) (string, error)
}

// formOf returns the form that p asks for.
func formOf(ctx context.Context, p *llm.Params, turns *grammar.Turns) (*form, error) {
	refused := ""
	switch {
	case len(p.Schema) > 0 && p.Grammar != nil:
		return nil, &llm.Error{Code: llm.Invalid, Param: "grammar", Message: "a text has a schema or a grammar, not both"}
	case p.Echo != nil && *p.Echo:
		refused = "return_full_text"
	case p.Tokens != nil && *p.Tokens:
		refused = "tokens"
	case p.Logprobs != nil:
		refused = "logprobs"
	}
	if refused != "" {
		return nil, &llm.Error{Code: llm.Unsupported, Param: refused, Message: "this model does not take it with a schema or a grammar"}
	}
	done, err := turns.Take(ctx, llm.SenderOf(ctx))
	if errors.Is(err, grammar.ErrBusy) {
		return nil, &llm.Error{Code: llm.Overloaded, Message: err.Error(), RetryAfter: time.Second}
	}
	if err != nil {
		return nil, err
	}
	defer done()
	c := grammar.NewCompiler(ctx)
	if p.Grammar != nil {
		return grammarForm(c, *p.Grammar)
	}
	return schemaForm(c, p.Schema)
}

// formError is what is wrong with the form that param gave.
func formError(param string, err error) error {
	if fault, ok := errors.AsType[*grammar.Error](err); ok {
		return &llm.Error{Code: llm.Invalid, Param: param, Message: fault.Error()}
	}
	return err
}

func schemaForm(c *grammar.Compiler, schema []byte) (*form, error) {
	g, err := c.Schema(schema, grammar.Limits{})
	if err != nil {
		return nil, formError("schema", err)
	}
	return &form{
		instruction: "Answer with one JSON value that is valid against the JSON Schema below, and with nothing else: no explanation and no code fence.\n\n" + string(schema),
		name:        "JSON value",
		read: func(text string) (string, error) {
			value, err := parse(text)
			if err != nil {
				return "", err
			}
			canonical, ok := g.Canonical(value)
			if !ok {
				return "", errSchema
			}
			return canonical, nil
		},
	}, nil
}

func grammarForm(c *grammar.Compiler, source string) (*form, error) {
	g, err := c.GBNF(source)
	if err != nil {
		return nil, formError("grammar", err)
	}
	return &form{
		instruction: "Answer with a text that matches the rule root of the grammar below, which is in GBNF, and with nothing else: no explanation and no code fence.\n\n" + source,
		name:        "text",
		read: func(text string) (string, error) {
			for _, text := range []string{text, strings.TrimSpace(text)} {
				if g.Match(text) {
					return text, nil
				}
			}
			return "", errGrammar
		},
	}, nil
}

// ask returns the request for the model: with the instruction in each prompt, without
// the parameters that it stands for.
func (f *form) ask(req *llm.Request) *llm.Request {
	r := *req
	r.Schema, r.Grammar = nil, nil
	r.Prompts = make([]llm.Prompt, len(req.Prompts))
	for i, p := range req.Prompts {
		r.Prompts[i] = f.instruct(p)
	}
	return &r
}

func (f *form) instruct(p llm.Prompt) llm.Prompt {
	switch {
	case p.Messages == nil:
		return llm.Prompt{Parts: more(p.Parts, "\n\n"+f.instruction+"\n\n")}
	case len(p.Messages) > 0 && p.Messages[0].Role == "system":
		messages := slices.Clone(p.Messages)
		messages[0].Parts = more(messages[0].Parts, "\n\n"+f.instruction)
		return llm.Prompt{Messages: messages}
	}
	return llm.Prompt{Messages: append([]llm.Message{message("system", f.instruction)}, p.Messages...)}
}

// correct returns the request for another answer to a prompt that has its instruction.
// An answer of nothing is asked for again: there are models that refuse empty messages.
func (f *form) correct(req *llm.Request, p llm.Prompt, answer string, fault error) *llm.Request {
	r := *req
	r.N, r.BestOf = 1, nil
	complaint := "This answer is not valid: " + fault.Error() + ". Answer again, with the " + f.name + " alone."
	switch {
	case strings.TrimSpace(answer) == "":
	case p.Messages == nil:
		p = llm.Prompt{Parts: more(p.Parts, answer+"\n\n"+complaint+"\n\n")}
	default:
		p = llm.Prompt{Messages: append(slices.Clone(p.Messages), message("assistant", answer), message("user", complaint))}
	}
	r.Prompts = []llm.Prompt{p}
	return &r
}

func message(role, text string) llm.Message {
	return llm.Message{Role: role, Parts: []llm.Part{{Text: text}}}
}

// more returns parts and a text, without changing parts.
func more(parts []llm.Part, text string) []llm.Part {
	return append(slices.Clone(parts), llm.Part{Text: text})
}
