package invoke

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// A canonicalModel reads and writes canonical keys.
type canonicalModel interface {
	// unmapped lists the keys of body that the model does not support.
	unmapped(body map[string]json.RawMessage) []string
	call(ctx context.Context, body map[string]json.RawMessage, stream bool) iter.Seq2[map[string]any, error]
}

// canonicalModelOf adapts a model to canonical keys: through its record, or through the process's own
// translation.
func canonicalModelOf(m *llm.Model) canonicalModel {
	if invoker, err := llm.As[llm.Invoker](m); err == nil {
		return recorded{m, invoker}
	}
	return generator{m}
}

// recorded is a model whose record maps canonical keys.
type recorded struct {
	model   llm.Backend
	invoker llm.Invoker
}

func (m recorded) unmapped(body map[string]json.RawMessage) []string {
	record, err := llm.As[llm.Mapper](m.model)
	if err != nil {
		return nil
	}
	names := make(map[string]any, len(body))
	for name := range body {
		names[name] = nil
	}
	return record.Unmapped(names)
}

// call passes values on unchanged, including null.
func (m recorded) call(ctx context.Context, body map[string]json.RawMessage, stream bool) iter.Seq2[map[string]any, error] {
	return func(yield func(map[string]any, error) bool) {
		values, err := decodeValues(body)
		if err != nil {
			yield(nil, err)
			return
		}
		m.invoker.Invoke(ctx, values, stream)(yield)
	}
}

// decodeValues decodes values. Numbers keep their digits, and a schema keeps the order of its keys.
func decodeValues(body map[string]json.RawMessage) (map[string]any, error) {
	values := make(map[string]any, len(body))
	for name, raw := range body {
		if name == "schema" && !isNull(raw) {
			values[name] = raw
			continue
		}
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		var v any
		if err := dec.Decode(&v); err != nil {
			return nil, wire.Invalid(name, "is not valid JSON")
		}
		values[name] = v
	}
	return values, nil
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// generator is a model that continues texts: a model in the process, or another one without
// a record for canonical keys.
type generator struct{ llm.Backend }

func (generator) unmapped(body map[string]json.RawMessage) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(body)) {
		if !slices.Contains(keys(), name) {
			names = append(names, name)
		}
	}
	return names
}

// keys lists the canonical keys that a generator supports.
func keys() []string {
	list := []string{"prompt", "inputs", "messages", "system", "stream"}
	for f := range reflect.TypeFor[llm.Params]().Fields() {
		list = append(list, keyOf(f))
	}
	return list
}

// keyOf returns the canonical key of a field of [llm.Params].
func keyOf(f reflect.StructField) string {
	key, _, _ := strings.Cut(f.Tag.Get("llm"), ",")
	return key
}

func (g generator) call(ctx context.Context, body map[string]json.RawMessage, stream bool) iter.Seq2[map[string]any, error] {
	return func(yield func(map[string]any, error) bool) {
		req, err := generation(body, stream)
		if err != nil {
			yield(nil, err)
			return
		}
		seq := g.Generate(ctx, req)
		if !stream {
			rows, used, err := llm.Collect(seq, req.Rows())
			if err != nil {
				yield(nil, err)
				return
			}
			rows[0].Usage = &used
			yield(answer(rows[0], false), nil)
			return
		}
		for c, err := range seq {
			switch {
			case err != nil:
				yield(nil, err)
				return
			case c.Text == "" && c.Finish == "" && len(c.Tokens) == 0 && len(c.Calls) == 0:
			case !yield(answer(c, true), nil):
				return
			}
		}
	}
}
