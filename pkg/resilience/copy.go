package resilience

import (
	"encoding/json"
	"slices"

	"glossa/pkg/intercept"
	"glossa/pkg/llm"
)

// Sizes in memory, in bytes: of the structs on a 64-bit machine, and about those of a
// map entry without key and value.
const (
	pieceSize       = 32  // without its chunk
	chunkSize       = 216 // with its usage
	tokenSize       = 96
	callSize        = 56
	pairSize        = 48
	scoreSize       = 56
	embeddingSize   = 48
	layerSize       = 32
	vectorSize      = 24
	translationSize = 40
)

// copyPiece returns a deep copy of p, and its size in bytes. ok is false if a piece has
// values of other types than these.
func copyPiece(p *intercept.Piece) (out intercept.Piece, size int, ok bool) {
	out.Chunk, size, ok = copyChunk(p.Chunk)
	if out.Usage = out.Chunk.Usage; out.Usage == nil && p.Usage != nil {
		out.Usage = new(*p.Usage)
	}
	if p.Keys != nil || p.Value != nil {
		var keys, value int
		var whole bool
		out.Keys, keys, ok = copyKeys(p.Keys)
		out.Value, value, whole = copyAnswer(p.Value)
		size, ok = size+keys+value, ok && whole
	}
	return out, size + pieceSize, ok
}

// copyAnswer does the same for a method's single answer.
func copyAnswer(v any) (out any, size int, ok bool) {
	switch v := v.(type) {
	case nil:
		return nil, 0, true
	case *llm.Score:
		s := *v
		s.Tokens, size = copyTokens(s.Tokens, scoreSize+len(s.Argmax))
		return &s, size, true
	case []llm.Translation:
		for _, t := range v {
			size += translationSize + len(t.Text) + len(t.Source)
		}
		return slices.Clone(v), size, true
	case []llm.Embedding:
		list := slices.Clone(v)
		for i := range list {
			e := &list[i]
			e.Tokens, size = copyTokens(e.Tokens, size+embeddingSize)
			e.Layers = slices.Clone(e.Layers)
			for j := range e.Layers {
				e.Layers[j].Vectors, size = copyVectors(e.Layers[j].Vectors, size+layerSize)
			}
		}
		return list, size, true
	}
	return nil, 0, false
}

func copyVectors(vectors [][]float32, size int) ([][]float32, int) {
	vectors = slices.Clone(vectors)
	for i := range vectors {
		vectors[i] = slices.Clone(vectors[i])
		size += vectorSize + 4*len(vectors[i])
	}
	return vectors, size
}

// copyChunk returns a deep copy of c, and its size in bytes.
func copyChunk(c llm.Chunk) (llm.Chunk, int, bool) {
	size := chunkSize + len(c.Reasoning) + len(c.Text)
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

// copyKeys does the same for canonical keys. ok is false for values that JSON does not
// have.
func copyKeys(keys map[string]any) (out map[string]any, size int, ok bool) {
	if keys == nil {
		return nil, 0, true
	}
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
