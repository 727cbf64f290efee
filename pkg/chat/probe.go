package chat

import (
	"context"
	"fmt"
	"strings"

	"glossa/pkg/jinja"
	"glossa/pkg/llm"
	"glossa/pkg/toolcall"
)

// nature is what a template takes.
type nature struct {
	typed         bool // contents are lists of parts
	system        bool // messages of the system
	tools         bool // tools
	calls         bool // calls and their results
	results       bool // results of tools, perhaps without the calls
	nullContent   bool // the content of a message that only calls is None, not ""
	textArguments bool // the arguments of a call are JSON text, not an object
	oneCall       bool // a message has one call
	oneText       bool // a message that calls has a text or reasoning
	namedIDs      bool // a call has its id, and not its name
	pictures      bool // contents with pictures are lists of parts
	systemViews   bool // messages of the system may have pictures
	resultViews   bool // and results of tools

	after string // what follows the text of an assistant's message
}

// The texts that probes look for in what a template writes.
const (
	probeUser     = "ZZUSER"
	probeSystem   = "ZZSYSTEM"
	probeAnswer   = "ZZANSWER"
	probeListed   = "ZZTOOL"
	probeTool     = "ZZNAME"
	probeKey      = "ZZKEY"
	probeValue    = "ZZVALUE"
	probeResult   = "ZZRESULT"
	probeCallID   = "ZZcall001" // nine characters, which Mistral's templates want
	probeSecond   = "ZZSECOND"
	probeSecondID = "ZZcall002"
	probeThought  = "ZZTHOUGHT"
	probeSteps    = 1_000_000
	probeOutput   = 1 << 20
)

// probe finds out what the template takes. A template that cannot write one message of a user
// is an error.
func (t *Template) probe() error {
	user := turn{role: "user", text: probeUser}
	n := &t.nature
	err := t.shows([]turn{user}, nil, probeUser)
	if err != nil {
		n.typed = true
		if t.shows([]turn{user}, nil, probeUser) != nil {
			return fmt.Errorf("the chat template cannot write a message of a user: %w", err)
		}
	}
	n.system = t.shows([]turn{{role: "system", text: probeSystem}, user}, nil, probeSystem) == nil
	tool := probedTool()
	n.tools = t.shows([]turn{user}, []llm.Tool{tool}, probeListed) == nil
	chat := []turn{user, probeCall(), {role: "tool", text: probeResult, id: probeCallID, name: probeTool}}
	for _, form := range []nature{{}, {nullContent: true}, {textArguments: true}, {nullContent: true, textArguments: true}} {
		n.nullContent, n.textArguments = form.nullContent, form.textArguments
		if n.calls = t.shows(chat, []llm.Tool{tool}, probeValue, probeResult) == nil; n.calls {
			break
		}
	}
	n.results = n.calls || t.shows([]turn{user, {role: "assistant", text: probeAnswer}, chat[2]}, []llm.Tool{tool}, probeResult) == nil
	if !n.calls {
		n.nullContent, n.textArguments = false, false
	}
	if n.calls {
		t.probeCalls()
	}
	text, err := t.try([]turn{user, {role: "assistant", text: probeAnswer}, user}, nil, true)
	if _, after, ok := strings.Cut(text, probeAnswer); err == nil && ok {
		n.after, _, _ = strings.Cut(after, probeUser)
	}
	return nil
}

// probeCalls finds out what a message that calls takes.
func (t *Template) probeCalls() {
	tools := []llm.Tool{probedTool()}
	text, err := t.closed(probeChat(probeCall()))
	t.nature.namedIDs = err == nil && strings.Contains(text, probeCallID) && !strings.Contains(text, probeTool)
	user, two, result := turn{role: "user", text: probeUser}, probeCall(), turn{role: "tool", text: probeResult, id: probeCallID, name: probeTool}
	second, next := two.calls[0], result
	second.ID, second.Name = probeSecondID, probeSecond
	next.id, next.name = second.ID, second.Name
	two.calls = append(two.calls, second)
	t.nature.oneCall = t.shows([]turn{user, two, result, next}, tools, probeTool, probeSecond) != nil
	both := probeCall()
	both.text, both.reasoning = probeAnswer, probeThought
	_, err = t.try([]turn{user, both, result}, tools, true)
	both.text = ""
	t.nature.oneText = err != nil && t.shows([]turn{user, both, result}, tools, probeValue) == nil
}

// probedTool returns the tool of probes.
func probedTool() llm.Tool {
	return llm.Tool{Name: probeListed, Description: "x", Parameters: []byte(`{"type":"object","properties":{"` + probeKey + `":{"type":"string"}}}`)}
}

// probeCall returns a message that calls the tool of probes.
func probeCall() turn {
	return turn{role: "assistant", calls: []llm.Call{{ID: probeCallID, Name: probeTool, Arguments: `{"` + probeKey + `": "` + probeValue + `"}`}}}
}

// shows returns an error unless the template writes the texts for a chat.
func (t *Template) shows(turns []turn, tools []llm.Tool, want ...string) error {
	text, err := t.try(turns, tools, true)
	if err != nil {
		return err
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			return fmt.Errorf("it leaves out %s", w)
		}
	}
	return nil
}

// try renders a chat of a probe.
func (t *Template) try(turns []turn, tools []llm.Tool, open bool) (string, error) {
	vars, err := t.variables(turns, tools, &Chat{Open: open})
	if err != nil {
		return "", err
	}
	out, err := t.program(len(tools) > 0).Execute(context.Background(), vars, jinja.Limits{Steps: probeSteps, Output: probeOutput, Now: fixedDate})
	return out.String(), err
}

// list returns the text that lists tools for a template that does not.
func (t *Template) list(tools []llm.Tool) (string, error) {
	if len(tools) == 0 || t.nature.tools {
		return "", nil
	}
	return listTools(t.lists, tools)
}

// concatList lists tools for models whose own templates do not, as [Concat] does.
const concatList = "templates/" + Concat + ".jinja"

// familyLists are the templates that list tools for models whose own only write calls, by the
// family of these calls.
func familyLists() map[string]string {
	return map[string]string{
		toolcall.DeepSeek().Family: "lists/deepseek.jinja", toolcall.DeepSeekR1().Family: "lists/deepseek-r1.jinja",
	}
}

// listTools lists tools as a template of this package does.
func listTools(file string, tools []llm.Tool) (string, error) {
	list, err := toolValues(tools)
	if err != nil {
		return "", err
	}
	lister, err := jinjaText(file)
	if err != nil {
		return "", err
	}
	out, err := lister.Execute(context.Background(), new(jinja.Dict).Set("tools", list).Set("messages", jinja.List()), jinja.Limits{})
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(out.String()), nil
}

// jinjaText compiles a template of this package.
func jinjaText(file string) (*jinja.Template, error) {
	raw, err := templates.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return jinja.Compile(string(raw), jinja.Options{Name: file})
}
