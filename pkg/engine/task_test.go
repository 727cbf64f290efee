package engine_test

import (
	"errors"
	"strings"
	"testing"

	"glossa/pkg/engine"
	"glossa/pkg/llm"
)

// A task chooses the prompt that the model has for it, or the model's default.
func TestEncoderTasks(t *testing.T) {
	for _, c := range []struct {
		model, name string // of the model, of its prompt
		task        llm.EmbedTask
	}{
		{"bert", "query", llm.EmbedQuery},
		{"bert", "document", llm.EmbedDocument},
		{"bert", "", llm.EmbedSymmetric},
		{"bert", "", llm.EmbedCluster},
		{"qwen3", "query", llm.EmbedQuery},
		{"mpnet", "", llm.EmbedQuery}, // it has no prompts
	} {
		e := openEncoder(t, "testdata/encoders/"+c.model, engine.Config{})
		texts := []string{"the red hen"}
		want, wanted := vectorsOf(t, e, embedTexts(texts, func(r *llm.EmbedRequest) { r.PromptName = c.name }))
		got, used := vectorsOf(t, e, embedTexts(texts, func(r *llm.EmbedRequest) { r.Task = c.task }))
		if difference(got[0], want[0]) != 0 || used != wanted {
			t.Errorf("%s, %s: not the vector of the prompt %q", c.model, c.task, c.name)
		}
		other := llm.EmbedSymmetric
		if c.name == "query" {
			if plain, _ := vectorsOf(t, e, embedTexts(texts, func(r *llm.EmbedRequest) { r.Task = other })); difference(plain[0], got[0]) == 0 {
				t.Errorf("%s: the query has the vector of %s", c.model, other)
			}
		}
	}
}

// Requests of up to 2048 texts are answered, each text as alone; longer ones and contradictions
// are refused.
func TestEncoderManyTexts(t *testing.T) {
	e := openEncoder(t, "testdata/encoders/bert", engine.Config{})
	texts := make([]string, 2048)
	for i := range texts {
		texts[i] = strings.Repeat("cat ", 1+i%5)
	}
	list, _ := vectorsOf(t, e, embedTexts(texts, nil))
	alone, _ := vectorsOf(t, e, embedTexts(texts[2047:], nil))
	if len(list) != 2048 || difference(list[2047], alone[0]) != 0 {
		t.Errorf("%d vectors, the last one differs by %v", len(list), difference(list[2047], alone[0]))
	}
	for _, c := range []struct {
		req         *llm.EmbedRequest
		param, want string
	}{
		{embedTexts(append(texts, "one more"), nil), "prompt", "at most 2048"},
		{embedTexts(texts[:1], func(r *llm.EmbedRequest) { r.Task, r.PromptName = llm.EmbedQuery, "query" }), "prompt_name", "cannot be combined"},
		{embedTexts(texts[:1], func(r *llm.EmbedRequest) { r.Task = "cook" }), "task", "is not one of classification, clustering, document, query, symmetric"},
	} {
		_, _, err := e.Embed(t.Context(), c.req)
		if got, ok := errors.AsType[*llm.Error](err); !ok || got.Code != llm.Invalid || got.Param != c.param || !strings.Contains(got.Message, c.want) {
			t.Errorf("%v, want %q, %s", err, c.param, c.want)
		}
	}
}
