package openaiapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// Limits of tools, OpenAI's.
const (
	MaxTools = 128
	maxName  = 64 // bytes of a function's name
)

// The schemas of a json_object and of a function without parameters.
const (
	AnyObject   = `{"type":"object"}`
	NoArguments = `{"type":"object","properties":{},"additionalProperties":false}`
)

// NameSchema describes the name of a function.
func NameSchema() *wire.Schema {
	s := wire.Types("string")
	s.Pattern = fmt.Sprintf("^[a-zA-Z0-9_-]{1,%d}$", maxName)
	return s
}

// Tool returns the function at path, after checking its name and parameters. Without
// parameters it has no arguments.
func Tool(path string, out llm.Tool) (llm.Tool, error) {
	invalid := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-'
	}
	if out.Name == "" || len(out.Name) > maxName || strings.ContainsFunc(out.Name, invalid) {
		return out, wire.Invalid(path+".name", "must be 1 to %d letters, digits, _ or -, not %.80q", maxName, out.Name)
	}
	if len(out.Parameters) == 0 || string(out.Parameters) == "null" {
		out.Parameters = json.RawMessage(NoArguments)
	}
	_, err := Object(path+".parameters", out.Parameters)
	return out, err
}

// Object returns JSON that is at path and must be an object.
func Object(path string, raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, wire.Invalid(path, "must be an object")
	}
	return raw, nil
}

// Arguments returns the arguments of an earlier call, which are at path. An empty string
// stands for no arguments, as some models write a call without them.
func Arguments(path, sent string) (string, error) {
	if sent == "" {
		return "{}", nil
	}
	var arguments map[string]json.RawMessage
	if err := json.Unmarshal([]byte(sent), &arguments); err != nil || arguments == nil {
		return "", wire.Invalid(path, "must be a JSON object, as a string")
	}
	return sent, nil
}

// AnsweredArguments returns the arguments of a call of an answer as JSON. The reason why the row
// ended is "" while it goes on. A call that a limit cut has an empty object.
func AnsweredArguments(arguments string, why llm.Finish) (json.RawMessage, error) {
	whole, err := Arguments("tool_calls", arguments)
	switch {
	case err == nil:
		return json.RawMessage(whole), nil
	case why == "" || why == llm.FinishEOS || why == llm.FinishStop:
		return nil, llm.Errorf(llm.Upstream, "the model called a tool with arguments that are not a JSON object")
	}
	return json.RawMessage(`{}`), nil
}

// RenameTool puts the client's path into an error about a tool: a model's error has an index of
// paths, which are those of the offered functions in the client's request.
func RenameTool(err error, paths []string) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err
	}
	rest, ok := strings.CutPrefix(e.Param, "tools[")
	if !ok {
		return err
	}
	index, key, _ := strings.Cut(rest, "]")
	renamed := *e
	renamed.Param = "tools"
	if i, err := strconv.Atoi(index); err == nil && i >= 0 && i < len(paths) {
		renamed.Param = paths[i] + key
	}
	return &renamed
}
