package resilience

import (
	"encoding/json"
	"slices"

	"glossa/pkg/llm"
)

// Sizes in memory, bytes: of the structs on a 64-bit machine, and of an entry of a map
// beside its key's and value's own bytes, about.
const (
	chunkSize = 144 // with its usage
	tokenSize = 96
	callSize  = 56
	pairSize  = 48
)

// copyChunk returns a copy of c that shares nothing with it that can be changed, and
// the bytes that it takes.
func copyChunk(c llm.Chunk) (llm.Chunk, int, bool) {
	size := chunkSize + len(c.Text)
	c.Tokens, size = copyTokens(c.Tokens, size)
	c.Calls = slices.Clone(c.Calls)
	for _, call := range c.Calls {
		size += callSize + len(call.ID) + len(call.Name) + len(call.Arguments)
	}
	if c.Usage != nil {
		c.Usage = new(*c.Usage)
	}
	return c, size, true
}

func copyTokens(tokens []llm.Token, size int) ([]llm.Token, int) {
	tokens = slices.Clone(tokens)
	for i := range tokens {
		t := &tokens[i]
		size += tokenSize + len(t.Text) + len(t.Piece)
		t.Top, size = copyTokens(t.Top, size)
	}
	return tokens, size
}

// copyKeys does the same for canonical keys. Those with values that JSON has not are
// not copied: ok is false.
func copyKeys(keys map[string]any) (out map[string]any, size int, ok bool) {
	v, size, ok := copyValue(keys)
	out, _ = v.(map[string]any)
	return out, size, ok
}

func copyValue(v any) (out any, size int, ok bool) {
	switch v := v.(type) {
	case nil, bool, int, int64, float64:
		return v, 0, true
	case string:
		return v, len(v), true
	case json.Number:
		return v, len(v), true
	case []any:
		if v == nil {
			return v, 0, true
		}
		list := make([]any, len(v))
		for i, e := range v {
			inner, n, ok := copyValue(e)
			if !ok {
				return nil, 0, false
			}
			list[i], size = inner, size+n+16
		}
		return list, size, true
	case map[string]any:
		if v == nil {
			return v, 0, true
		}
		object := make(map[string]any, len(v))
		for name, e := range v {
			inner, n, ok := copyValue(e)
			if !ok {
				return nil, 0, false
			}
			object[name], size = inner, size+n+len(name)+pairSize
		}
		return object, size, true
	}
	return nil, 0, false
}
