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

// A format is the format that rows must have.
type format struct {
	instruction string
	name        string // of the format, within a sentence
	// read returns the normalised text. Its error is for the model and the client, and
	// contains nothing of the text.
	read func(text string) (string, error)
}

// formatOf returns the form that p specifies.
func formatOf(ctx context.Context, p *llm.Params, turns *grammar.Turns) (*format, error) {
	refused := ""
	switch {
	case len(p.Schema) > 0 && p.Grammar != nil:
		return nil, &llm.Error{Code: llm.Invalid, Param: "grammar", Message: "cannot be combined with schema"}
	case p.Echo != nil && *p.Echo:
		refused = "return_full_text"
	case p.Tokens != nil && *p.Tokens:
		refused = "tokens"
	case p.Logprobs != nil:
		refused = "logprobs"
	}
	if refused != "" {
		return nil, &llm.Error{Code: llm.Unsupported, Param: refused, Message: "this model does not support it with a schema or a grammar"}
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
	var f *format
	if p.Grammar != nil {
		f, err = grammarFormat(c, *p.Grammar)
	} else {
		f, err = schemaFormat(c, p.Schema)
	}
	if err != nil {
		return nil, err
	}
	if len(p.Tools) > 0 {
		f.instruction = "Unless you call a function: " + f.instruction
	}
	return f, nil
}

// formatError returns the error of an invalid form in param.
func formatError(param string, err error) error {
	if fault, ok := errors.AsType[*grammar.Error](err); ok {
		return &llm.Error{Code: llm.Invalid, Param: param, Message: fault.Error()}
	}
	return err
}

func schemaFormat(c *grammar.Compiler, schema []byte) (*format, error) {
	g, err := c.Schema(schema, grammar.Limits{})
	if err != nil {
		return nil, formatError("schema", err)
	}
	return &format{
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

func grammarFormat(c *grammar.Compiler, source string) (*format, error) {
	g, err := c.GBNF(source)
	if err != nil {
		return nil, formatError("grammar", err)
	}
	return &format{
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

// ask returns the request for the model: with the instruction in each prompt, and
// without the parameters that it replaces.
func (f *format) ask(req *llm.Request) *llm.Request {
	r := *req
	r.Schema, r.Grammar = nil, nil
	r.Prompts = make([]llm.Prompt, len(req.Prompts))
	for i, p := range req.Prompts {
		r.Prompts[i] = f.instruct(p)
	}
	return &r
}

func (f *format) instruct(p llm.Prompt) llm.Prompt {
	switch {
	case p.Messages == nil:
		return llm.Prompt{Parts: appendText(p.Parts, "\n\n"+f.instruction+"\n\n")}
	case len(p.Messages) > 0 && p.Messages[0].Role == "system":
		messages := slices.Clone(p.Messages)
		messages[0].Parts = appendText(messages[0].Parts, "\n\n"+f.instruction)
		return llm.Prompt{Messages: messages}
	}
	return llm.Prompt{Messages: append([]llm.Message{message("system", f.instruction)}, p.Messages...)}
}

// correct returns the request for a corrected answer to a prompt with its instruction.
// For an empty answer it repeats the request, because some models reject empty
// messages.
func (f *format) correct(req *llm.Request, p llm.Prompt, answer string, fault error) *llm.Request {
	r := *req
	r.N, r.BestOf = 1, nil
	complaint := "This answer is not valid: " + fault.Error() + ". Answer again, with the " + f.name + " alone."
	switch {
	case strings.TrimSpace(answer) == "":
	case p.Messages == nil:
		p = llm.Prompt{Parts: appendText(p.Parts, answer+"\n\n"+complaint+"\n\n")}
	default:
		p = llm.Prompt{Messages: append(slices.Clone(p.Messages), message("assistant", answer), message("user", complaint))}
	}
	r.Prompts = []llm.Prompt{p}
	return &r
}

func message(role, text string) llm.Message {
	return llm.Message{Role: role, Parts: []llm.Part{{Text: text}}}
}

// appendText returns parts with a text appended, without changing parts.
func appendText(parts []llm.Part, text string) []llm.Part {
	return append(slices.Clone(parts), llm.Part{Text: text})
}
