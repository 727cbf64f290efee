// Package chat turns the messages of a chat, and the tools that it may call, into a model's
// prompt, by the chat template that the model was trained with, and describes how the model
// writes calls. It does not know tokenizers, grammars or wire formats.
//
// Start with [Compile] and [Template.Render]. A template is Jinja text: the model's own, or
// one of this package ([Named]). The prompt tells what the template wrote from what clients
// wrote, so that a special token counts only where the template wrote it.
//
// # What templates cannot do
//
// Many templates take only some chats. [Compile] finds out which, by rendering small chats,
// and Render writes the others as the template can: without a system message, its text
// begins the first message of the user; without tools, the system message lists them; without
// calls, they are the text of the assistant, and their results messages of the user. A chat
// that the template itself refuses, for example because two users speak in a row, is an error.
//
// Sources: apply_chat_template of transformers 5.23 for the variables; the probing is that of
// llama.cpp's minja; Alpha's documentation for "concat"; Meta's prompt formats of Llama 3 and 3.1, and the
// chat template of Llama-3.1-8B-Instruct for tools, for "llama3"; OpenAI's chatml.md of 2023,
// and the chat templates of Qwen2.5 and Qwen3 (after Nous Research's Hermes 2 Pro) for tools,
// for "chatml".
package chat

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"glossa/pkg/jinja"
	"glossa/pkg/llm"
	"glossa/pkg/reasoning"
	"glossa/pkg/toolcall"
)

// Source holds the chat templates of a model as its files have them.
type Source struct {
	Name      string            `json:"name,omitempty"`      // of one of this package's templates, instead of Templates
	Templates map[string]string `json:"templates,omitempty"` // Jinja text by name: default, tool_use
	Tokens    map[string]string `json:"tokens,omitempty"`    // spellings of special tokens by variable: bos_token, eos_token
}

// Empty reports whether there is no template.
func (s Source) Empty() bool { return s.Name == "" && len(s.Templates) == 0 }

// The names of templates in a [Source].
const (
	DefaultTemplate = "default"
	ToolsTemplate   = "tool_use" // used for chats with tools, if there is one
)

// The templates of this package.
const (
	// Concat joins the contents of all messages by line feeds, whatever their roles: the format
	// for base models (Alpha, "Message handling"). A list of the tools comes first, and
	// calls are lines of JSON.
	Concat = "concat"

	// Llama3 is that of Llama 3 and its successors, but no message names the date.
	Llama3 = "llama3"

	// ChatML is that of Qwen and many others, without a system message of its own.
	ChatML = "chatml"
)

//go:embed templates lists
var templates embed.FS

// marksOf are the special tokens that the templates of this package write.
func marksOf(name string) []string {
	switch name {
	case Llama3:
		return []string{"<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"}
	case ChatML:
		return []string{"<|im_start|>", "<|im_end|>"}
	}
	return nil
}

// Template writes chats as a model was trained on them. Its methods may be called
// concurrently.
type Template struct {
	name   string                     // of this package's templates; "": the model's own
	texts  map[string]*jinja.Template // by name
	marks  []string
	tokens map[string]string
	nature nature
	calls  toolcall.Syntax
	lists  string // file of the template that lists tools, if its own does not

	reasoning *reasoning.Marks // nil: the model does not reason
	picture   string           // what stands for a picture in a prompt; "": the model reads none
}

// Chat is what a prompt is rendered from.
type Chat struct {
	Messages []llm.Message
	Tools    []llm.Tool
	Open     bool            // the beginning of the assistant's answer follows, as for generation
	Continue bool            // with Open: the last message is the assistant's, and the answer continues its text
	Settings json.RawMessage // an object: further variables of the template, such as enable_thinking
}

// Check returns an error unless text is the name of a template of this package, Jinja text, or
// empty.
func Check(text string) error {
	if text == "" {
		return nil
	}
	_, err := Parse(text, nil)
	return err
}

// Parse compiles what an operator configured: the name of a template of this package, or Jinja
// text, whose special tokens are spelled as in [Source].
func Parse(text string, tokens map[string]string) (*Template, error) {
	if isJinja(text) {
		return Compile(Source{Templates: map[string]string{DefaultTemplate: text}, Tokens: tokens})
	}
	return Named(text)
}

func isJinja(text string) bool { return strings.Contains(text, "{{") || strings.Contains(text, "{%") }

// Named returns a template of this package.
func Named(name string) (*Template, error) { return Compile(Source{Name: name}) }

// Compile compiles the templates of a model and finds out what they can write. Its errors say
// what is wrong, by line and column of a template.
func Compile(s Source) (*Template, error) {
	t, err := parse(&s)
	if err != nil {
		return nil, err
	}
	if err := t.probe(); err != nil {
		return nil, err
	}
	if marks, ok := reasoning.Detect(s.Templates[DefaultTemplate]); ok {
		t.reasoning = &marks
	}
	known := false
	switch t.calls, known = t.detect(s); {
	case known && t.nature.calls && !t.nature.tools && familyLists()[t.calls.Family] != "":
		t.lists = familyLists()[t.calls.Family] // its template writes calls, and leaves the list to the system message
	case !known || !t.nature.tools:
		// Without a form of its own, the list of tools says how to call them.
		t.calls, t.lists = toolcall.Lines(), concatList
		t.nature.tools, t.nature.calls, t.nature.results = false, false, false
	}
	return t, nil
}

// CompilePairs compiles the template of a reranker, which writes a message of the role query
// and one of the role document.
func CompilePairs(s Source) (*Template, error) {
	t, err := parse(&s)
	if err != nil {
		return nil, err
	}
	t.nature.system = true
	pair := []turn{{role: "query", text: probeUser}, {role: "document", text: probeAnswer}}
	if t.shows(pair, nil, probeUser, probeAnswer) == nil {
		return t, nil
	}
	t.nature.typed = true
	if err := t.shows(pair, nil, probeUser, probeAnswer); err != nil {
		return nil, fmt.Errorf("the chat template cannot write a query and a document: %w", err)
	}
	return t, nil
}

// parse parses the templates of s, which then has the text of one that it names.
func parse(s *Source) (*Template, error) {
	t := &Template{name: s.Name, texts: map[string]*jinja.Template{}, tokens: s.Tokens, marks: marksOf(s.Name)}
	if s.Name != "" {
		raw, err := fs.ReadFile(templates, "templates/"+s.Name+".jinja")
		if err != nil {
			return nil, fmt.Errorf("unknown chat template %.40q (known: %s, %s, %s, or a text in Jinja)", s.Name, Concat, Llama3, ChatML)
		}
		s.Templates = map[string]string{DefaultTemplate: string(raw)}
	}
	for name, text := range s.Templates {
		program, err := jinja.Compile(text, jinja.Options{Name: "chat template " + name})
		if err != nil {
			return nil, err
		}
		t.texts[name] = program
		if t.name == "" {
			t.marks = append(t.marks, spelledMarks(text)...)
		}
	}
	slices.Sort(t.marks)
	t.marks = slices.Compact(t.marks)
	if _, ok := t.texts[DefaultTemplate]; !ok {
		return nil, fmt.Errorf("there is no chat template named %s", DefaultTemplate)
	}
	return t, nil
}

// Name returns the name of a template of this package, "" for another.
func (t *Template) Name() string { return t.name }

// Marks returns the spellings of special tokens that the template writes, sorted. In a
// template that is not of this package they are what looks like one.
func (t *Template) Marks() []string { return t.marks }

// After returns what the template writes after the text of an assistant's message. The special
// token that it begins with, if there is one, ends an answer.
func (t *Template) After() string { return t.nature.after }

// Calls returns the syntax of calls.
func (t *Template) Calls() toolcall.Syntax { return t.calls }

// Reasoning returns the marks around the reasoning of answers, nil if the template names none.
func (t *Template) Reasoning() *reasoning.Marks { return t.reasoning }

// Reads reports whether the template reads a variable.
func (t *Template) Reads(name string, tools bool) bool {
	return t.program(tools).Names().Variable(name)
}

// Raw reports whether the prompt is that of a base model, which its start tokens precede; any
// other template writes them itself.
func (t *Template) Raw() bool { return t.name == Concat }

// Render returns the prompt of a chat. Parts that the template wrote have Special set; what
// clients wrote has not. Its errors are of type [*llm.Error] and name the message, the tool or
// the setting.
func (t *Template) Render(ctx context.Context, c *Chat) ([]llm.Part, error) {
	if c.Continue {
		return t.renderContinued(ctx, c)
	}
	turns, err := t.turns(c)
	if err != nil {
		return nil, err
	}
	tools := c.Tools
	if !t.nature.tools {
		tools = nil
	}
	vars, err := t.variables(turns, tools, c)
	if err != nil {
		return nil, err
	}
	now, err := dateOf(c.Settings)
	if err != nil {
		return nil, err
	}
	out, err := t.program(len(tools) > 0).Execute(ctx, vars, jinja.Limits{Now: now})
	if err != nil {
		return nil, renderError(ctx, err)
	}
	parts := make([]llm.Part, len(out.Spans))
	for i, span := range out.Spans {
		parts[i] = llm.Part{Text: span.Text, Special: span.Trusted}
	}
	if c.Open {
		t.openAnswer(parts, len(tools) > 0)
	}
	if images := imagesOf(turns); t.picture != "" && len(images) > 0 {
		return t.insert(parts, images)
	}
	return parts, nil
}

// openAnswer changes the end of a prompt that is the beginning of both a text and a call: where
// there are tools, the answer begins with it, and without tools it is that of a text.
func (t *Template) openAnswer(parts []llm.Part, tools bool) {
	last := len(parts) - 1
	rest, ok := strings.CutPrefix(t.calls.Text, t.calls.Trigger)
	if last < 0 || !ok || !parts[last].Special || !strings.HasSuffix(parts[last].Text, t.calls.Trigger) {
		return
	}
	if tools {
		parts[last].Text = strings.TrimSuffix(parts[last].Text, t.calls.Trigger)
	} else {
		parts[last].Text += rest
	}
}

// renderContinued returns the prompt of a chat whose last message the answer continues: that of
// the messages before it, with the beginning of an answer, and its text.
func (t *Template) renderContinued(ctx context.Context, c *Chat) ([]llm.Part, error) {
	n := len(c.Messages) - 1
	if n < 1 || c.Messages[n].Role != "assistant" {
		return nil, &llm.Error{Code: llm.Invalid, Param: "continue_final_message", Message: "the last message is not an assistant's answer to another message"}
	}
	last := &c.Messages[n]
	if !llm.Texts(last.Parts) {
		return nil, llm.NoImages("messages", n)
	}
	text, ok := llm.Prompt{Parts: last.Parts}.Text()
	if !ok || text == "" || len(last.Calls) > 0 || last.Reasoning != "" {
		return nil, rejected(n, "an answer can only continue a text, not calls, reasoning or token ids")
	}
	parts, err := t.Render(ctx, &Chat{Messages: c.Messages[:n], Tools: c.Tools, Settings: c.Settings, Open: c.Open})
	if err != nil {
		return nil, err
	}
	if t.reasoning != nil && t.reasoning.Direct != "" {
		parts = append(parts, llm.Part{Text: t.reasoning.Direct, Special: true})
	}
	if len(c.Tools) > 0 && strings.HasPrefix(t.calls.Text, t.calls.Trigger) {
		parts = append(parts, llm.Part{Text: t.calls.Text, Special: true})
	}
	return append(parts, llm.Part{Text: text}), nil
}

// program returns the template for a chat with or without tools.
func (t *Template) program(tools bool) *jinja.Template {
	if program, ok := t.texts[ToolsTemplate]; ok && tools {
		return program
	}
	return t.texts[DefaultTemplate]
}
