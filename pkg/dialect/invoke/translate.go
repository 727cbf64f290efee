package invoke

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// parse reads a request with its three required keys.
func parse(body []byte) (*request, error) {
	var in request
	err := wire.Unmarshal(body, &in)
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Code == llm.Invalid && e.Param == "" {
		whole := *e
		whole.Code = malformed
		return nil, &whole
	}
	switch {
	case err != nil:
		return nil, err
	case in.ModelFamily == nil:
		return nil, &llm.Error{Code: missing, Param: "model_family"}
	case in.ModelName == nil:
		return nil, &llm.Error{Code: missing, Param: "model_name"}
	case in.Body == nil:
		return nil, &llm.Error{Code: missing, Param: "body"}
	}
	return &in, requestTable.Check("", &in)
}

// fit adapts the body to the model: the path determines its key stream. An unsupported key
// is dropped if its value is empty or if ignore is set, and rejected otherwise. fit returns
// the names of dropped keys whose values were not empty.
func (in *request) fit(model canonicalModel, stream, ignore bool) (ignored []string, err error) {
	if err := in.stream(stream); err != nil {
		return nil, err
	}
	for _, name := range model.unmapped(in.Body) {
		if name != "stream" && !empty(in.Body[name]) {
			if !ignore {
				const message = `this model does not support it: remove it, or send "ignore_unmapped": true next to body`
				return nil, &llm.Error{Code: wire.UnknownParam, Param: name, Message: message}
			}
			ignored = append(ignored, name)
		}
		delete(in.Body, name)
	}
	return ignored, nil
}

// stream sets the key stream in a stream, and accepts only false elsewhere.
func (in *request) stream(stream bool) error {
	const key = "stream"
	var sent bool
	switch raw := in.Body[key]; {
	case stream:
		in.Body[key] = json.RawMessage("true")
		return nil
	case isNull(raw):
		return nil
	default:
		if err := wire.UnmarshalAt(key, raw, &sent); err != nil {
			return err
		}
	}
	if sent {
		return wire.Invalid(key, "must be false here: use /invoke_stream to stream")
	}
	return nil
}

// empty reports whether a value has no effect, whatever its key.
func empty(raw json.RawMessage) bool {
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return false
	}
	return slices.Contains([]string{"null", "false", `""`, "[]", "{}"}, compact.String())
}

// generation translates canonical keys. null counts as absent. Every error names the key at
// fault. The model checks the ranges of values.
func generation(body map[string]json.RawMessage, stream bool) (*llm.Request, error) {
	prompt, err := newPrompt(body)
	if err != nil {
		return nil, err
	}
	req := &llm.Request{Prompts: []llm.Prompt{prompt}, N: 1, Stream: stream}
	for f, v := range reflect.ValueOf(&req.Params).Elem().Fields() {
		key := keyOf(f)
		raw := body[key]
		if isNull(raw) {
			continue
		}
		if _, ok := v.Interface().([]llm.Tool); ok {
			req.Tools, err = newTools(key, raw)
		} else {
			err = wire.UnmarshalAt(key, raw, v.Addr().Interface())
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case req.Schema != nil && req.Schema[0] != '{':
		return nil, wire.Invalid("schema", "must be an object")
	case req.TemplateArgs != nil && req.TemplateArgs[0] != '{':
		return nil, wire.Invalid("chat_template_kwargs", "must be an object")
	case req.Schema != nil && req.Grammar != nil:
		return nil, wire.Invalid("grammar", "cannot be combined with schema")
	}
	return req, nil
}

// answer returns the canonical keys of a row, or of a chunk of a row.
func answer(c llm.Chunk, stream bool) map[string]any {
	out := map[string]any{"generated_text": c.Text} // in every line, because clients read it from each
	if c.Reasoning != "" {
		out["reasoning"] = c.Reasoning
	}
	if len(c.Calls) > 0 {
		out["tool_calls"] = newCalls(c.Calls, stream)
	}
	if len(c.Tokens) > 0 {
		out["tokens"] = newTokens(c.Tokens)
	}
	if c.Finish != "" {
		out["finish_reason"] = finishReason(c.Finish)
	}
	if c.Guarantee != llm.Unchecked {
		out["guarantee"] = c.Guarantee
	}
	if c.Usage != nil && !c.Usage.Partial {
		out["input_tokens"], out["output_tokens"] = c.Usage.Input, c.Usage.Output
		if c.Usage.Reasoning > 0 {
			out["reasoning_tokens"] = c.Usage.Reasoning
		}
		if c.Usage.Cost.Known {
			out["cost"] = c.Usage.Cost
		}
	}
	return out
}

func newTokens(list []llm.Token) []token {
	out := make([]token, len(list))
	for i, t := range list {
		out[i] = token{ID: t.ID, Text: t.Text, Special: t.Text == "", Top: newTokens(t.Top)}
		if !math.IsNaN(t.Logprob) && !math.IsInf(t.Logprob, 0) {
			out[i].Logprob = &t.Logprob
		}
	}
	return out
}

// finishReason returns TGI's finish reason of a row, as servers behind SageMaker send it,
// or another provider's where TGI has none.
func finishReason(why llm.Finish) string {
	switch why {
	case llm.FinishEOS:
		return "eos_token"
	case llm.FinishStop:
		return "stop_sequence"
	case llm.FinishDeadline, llm.FinishCancelled:
		return "timeout"
	case llm.FinishFiltered:
		return "content_filtered"
	}
	return "length"
}
