package schema

import (
	"bytes"
	"regexp"

	"glossa/pkg/llm"
)

// A Response decodes answers of a model.
type Response struct {
	sub   *regexp.Regexp // removed from the text before decoding; may be nil
	keys  []key
	calls *callReader // nil: none
	fans  bool        // a path leads to several members, whose order counts
}

// A key is a canonical key and the path of its value.
type key struct {
	name string
	find finder
}

const maxPayload = 16 << 20 // bytes

// Read returns the canonical keys of an answer or of one event: for each the first
// value that its path leads to, or the first of its paths that leads to one. Of reasoning,
// whose texts may be several, it is all of them. A key without a value is omitted, null is kept,
// numbers are [json.Number]. Text that is blank after regex_sub is not an event but
// another line of a stream: the result is nil.
func (r *Response) Read(payload []byte) (map[string]any, error) {
	switch {
	case r == nil:
		return nil, llm.Errorf(llm.Unsupported, "this model does not stream")
	case len(payload) > maxPayload:
		return nil, llm.Errorf(llm.Upstream, "the model's answer is too large")
	}
	if r.sub != nil {
		payload = r.sub.ReplaceAllLiteral(payload, nil)
	}
	if len(bytes.TrimSpace(payload)) == 0 {
		return nil, nil
	}
	out := map[string]any{}
	doc, err := read(payload, r.fans)
	if err != nil {
		return nil, unreadable(err)
	}
	w := &walk{doc: doc, budget: maxAnswer}
	for _, k := range r.keys {
		if out[k.name] != nil {
			continue // by another path
		}
		v, ok, err := k.read(w)
		if err != nil {
			return nil, &llm.Error{Code: llm.Upstream, Param: k.name, Message: "the model's answer cannot be searched", Err: err}
		}
		if ok {
			out[k.name] = v
		}
	}
	if r.calls == nil {
		return out, nil
	}
	calls, err := r.calls.read(w)
	if err != nil {
		return nil, &llm.Error{Code: llm.Upstream, Param: "tool_calls", Message: "the model's answer cannot be searched", Err: err}
	}
	if calls != nil {
		out["tool_calls"] = calls
	}
	return out, nil
}

// read returns the value of a key.
func (k key) read(w *walk) (v any, ok bool, err error) {
	if k.name != "reasoning" {
		return k.find.first(w)
	}
	return k.find.joined(w)
}

func unreadable(err error) error {
	return &llm.Error{Code: llm.Upstream, Message: "the model's answer is not JSON", Err: err}
}
