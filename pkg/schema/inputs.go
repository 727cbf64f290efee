package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"glossa/pkg/llm"
)

// inputs says how a model takes the texts that it embeds or ranks. It is request.inputs of a
// record.
type inputs struct {
	max   int                   // texts in one call; 0: all
	tasks map[llm.EmbedTask]any // values of the key input_type
	cut   any                   // the value of the key truncate if long texts are cut
	cuts  bool                  // the model always cuts them
}

// maxBatch bounds request.inputs.max.
const maxBatch = 1 << 16

// embedTasks are the tasks that a record may name.
var embedTasks = []llm.EmbedTask{llm.EmbedQuery, llm.EmbedDocument, llm.EmbedSymmetric, llm.EmbedClassify, llm.EmbedCluster}

// inputs checks the inputs at pointer.
func (c *check) inputs(pointer string, v any) (in inputs) {
	m, ok := c.object(pointer, v, "max", "tasks", "truncate", "cuts")
	if !ok {
		return in
	}
	s := c.schema
	if v, ok := m["max"]; ok {
		n, isNumber := v.(json.Number)
		x, err := n.Float64()
		if !isNumber || err != nil || x < 1 || x > maxBatch || x != math.Trunc(x) {
			c.wrong(pointer+"/max", "it must be an integer from 1 to %d", maxBatch)
		} else if in.max = int(x); in.max > 1 && s.takesOne() {
			c.wrong(pointer+"/max", "the default of input is not a list, so each call has one text")
		}
	}
	if v, ok := m["tasks"]; ok {
		in.tasks = c.tasks(pointer+"/tasks", v)
	}
	if in.cut = m["truncate"]; in.cut != nil && !s.Takes("truncate") {
		c.wrong(pointer+"/truncate", "the mapping lacks truncate")
	}
	if v, ok := m["cuts"]; ok {
		if in.cuts, ok = v.(bool); !ok {
			c.wrong(pointer+"/cuts", "it is %s, not true or false", kindOf(v))
		}
	}
	return in
}

// tasks checks the words of a model for tasks.
func (c *check) tasks(pointer string, v any) map[llm.EmbedTask]any {
	var known []string
	for _, task := range embedTasks {
		known = append(known, string(task))
	}
	m, ok := c.object(pointer, v, known...)
	if ok && !c.schema.Takes("input_type") {
		c.wrong(pointer, "the mapping lacks input_type")
	}
	out := map[llm.EmbedTask]any{}
	for name, v := range m {
		out[llm.EmbedTask(name)] = v
	}
	return out
}

// takesOne reports whether each call has one text, not a list.
func (s *Schema) takesOne() bool {
	slot := s.slot("input")
	if slot == nil {
		return false
	}
	at, ok := slot.path.only(s.defaults)
	_, list := at.value.([]any)
	return ok && !list
}

// Task returns what the model does. It embeds texts if its request has the key input, and its
// answer embedding or embeddings. It ranks documents if its request has the keys query and
// documents, and its answer results.
func (s *Schema) Task() llm.Task {
	has := func(name string) bool {
		return s.Response != nil && slices.ContainsFunc(s.Response.keys, func(k key) bool { return k.name == name })
	}
	switch {
	case s == nil:
	case s.Takes("input") && (has("embedding") || has("embeddings")):
		return llm.TaskEmbed
	case s.Takes("query") && s.Takes("documents") && has("results"):
		return llm.TaskRerank
	}
	return llm.TaskGenerate
}

// Batch returns the number of n texts that one call may have.
func (s *Schema) Batch(n int) int {
	switch {
	case s.takesOne():
		return 1
	case s.in.max > 0:
		return min(n, s.in.max)
	}
	return n
}

// Input returns the value of the key input for the texts of one call.
func (s *Schema) Input(texts []any) any {
	if s.takesOne() {
		return texts[0]
	}
	return texts
}

// EmbedKeys returns the canonical keys of a request for embeddings, without input. A model
// whose record maps no input_type embeds the texts of all tasks alike.
func (s *Schema) EmbedKeys(req *llm.EmbedRequest) (map[string]any, error) {
	if req.Kind != "" && req.Kind != llm.EmbedDense {
		return nil, &llm.Error{Code: llm.Unsupported, Param: "type", Message: fmt.Sprintf("this model has dense embeddings only, no %.40s ones", req.Kind)}
	}
	keys := map[string]any{}
	if req.Dimensions > 0 {
		keys["dimensions"] = req.Dimensions
	}
	if req.PromptName != "" {
		keys["prompt_name"] = req.PromptName
	}
	if req.Task != "" && !slices.Contains(embedTasks, req.Task) {
		return nil, &llm.Error{Code: llm.Invalid, Param: "task", Message: fmt.Sprintf("is not one of %q", embedTasks)}
	}
	if req.Task != "" && s.Takes("input_type") {
		word, ok := s.in.tasks[req.Task]
		if !ok {
			known := fmt.Sprintf("; it supports %q", slices.Sorted(maps.Keys(s.in.tasks)))
			return nil, &llm.Error{Code: llm.Unsupported, Param: "task", Message: fmt.Sprintf("this model has no input type for the task %s%s", req.Task, known)}
		}
		keys["input_type"] = word
	}
	if req.Truncate && !s.in.cuts {
		if s.in.cut == nil {
			return nil, &llm.Error{Code: llm.Unsupported, Param: "truncate", Message: "this model rejects long texts and cannot cut them"}
		}
		keys["truncate"] = s.in.cut
	}
	return keys, s.mapsAll(keys)
}

// RankKeys returns the canonical keys of a request for scores, without query and documents.
func (s *Schema) RankKeys(req *llm.RerankRequest) (map[string]any, error) {
	keys := map[string]any{}
	if req.MaxDocument > 0 {
		keys["max_tokens_per_doc"] = req.MaxDocument
	}
	if req.MaxPair > 0 {
		keys["truncate_prompt_tokens"] = req.MaxPair
	}
	if req.Logits {
		keys["raw_scores"] = true
	}
	switch {
	case req.Logits && !s.Takes("raw_scores"):
		return nil, &llm.Error{Code: llm.Unsupported, Param: "logits", Message: "this model returns scores, not logits"}
	case s.in.cuts && !req.Truncate:
		return nil, &llm.Error{Code: llm.Unsupported, Param: "truncate", Message: "this model cuts long documents and cannot reject them"}
	case !s.in.cuts && req.Truncate && s.in.cut == nil:
		return nil, &llm.Error{Code: llm.Unsupported, Param: "truncate", Message: "this model rejects long documents and cannot cut them"}
	case !s.in.cuts && req.Truncate:
		keys["truncate"] = s.in.cut
	}
	return keys, s.mapsAll(keys)
}

// mapsAll returns an error for a key that the record does not map.
func (s *Schema) mapsAll(keys map[string]any) error {
	if names := s.Unmapped(keys); len(names) > 0 {
		return &llm.Error{Code: llm.Unsupported, Param: names[0], Message: "this model does not support it"}
	}
	return nil
}
