package remote

import (
	"context"
	"errors"
	"strings"
	"testing"

	"glossa/pkg/llm"
	"glossa/pkg/schema"
)

// Completions with seeds differ in their bodies, which are written one at a time: with
// images, all of them would take gigabytes.
func TestSeededRows(t *testing.T) {
	s, err := schema.Parse([]byte(`{"request": {"defaults": {"in": "", "seed": null}, "mapping": {"prompt": "$.in", "seed": "$.seed"}}, "response": {"mapping": {"generated_text": "$.text"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	req := &llm.Request{Prompts: []llm.Prompt{llm.Text("a")}, N: 3, Params: llm.Params{Seed: new(int64(7))}}
	rows, err := New(nil, Model{Schema: s}).rows(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{`"seed":7`, `"seed":8`, `"seed":9`} {
		c := rows[i].call
		if c != rows[0].call {
			t.Errorf("row %d has a body before it begins", i)
		}
		if i > 0 {
			if c, err = rows[i].seeded(); err != nil {
				t.Fatal(err)
			}
		}
		if !strings.Contains(string(c.body), want) {
			t.Errorf("row %d: %s", i, c.body)
		}
	}
}

// TestDropped: parameters that choose among tokens may be left out, and are told; others are
// part of the question.
func TestDropped(t *testing.T) {
	s, err := schema.Parse([]byte(`{"request": {"defaults": {"in": "", "temperature": null}, "mapping": {"prompt": "$.in", "temperature": "$.temperature"}}, "response": {"mapping": {"generated_text": "$.text"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		params  llm.Params
		dropped string
		refused string
	}{
		{llm.Params{Temperature: new(0.5)}, "", ""},
		{llm.Params{Temperature: new(0.5), TopK: new(5), Seed: new(int64(7)), Effort: new("low")}, "reasoning_effort seed top_k", ""},
		{llm.Params{TopK: new(0), TopP: new(1.0)}, "", ""}, // without effect
		{llm.Params{TopK: new(5), Stop: []string{"x"}}, "", "stop"},
		{llm.Params{Logprobs: new(1)}, "", "logprobs"},
		{llm.Params{MaxTokens: new(3)}, "", "max_new_tokens"},
		{llm.Params{Continue: new(true)}, "", "continue_final_message"},
	} {
		for _, may := range []bool{true, false} {
			var told []string
			m := Model{Schema: s}
			if may {
				m.OnDrop = func(_ context.Context, names []string) { told = append(told, names...) }
			}
			_, err := New(nil, m).rows(t.Context(), &llm.Request{Prompts: []llm.Prompt{llm.Text("a"), llm.Text("b")}, Params: c.params})
			e, _ := errors.AsType[*llm.Error](err)
			switch {
			case may && c.refused == "" && (err != nil || strings.Join(told, " ") != c.dropped),
				may && c.refused != "" && (e == nil || e.Param != c.refused || told != nil),
				!may && (err == nil) != (c.dropped == "" && c.refused == ""):
				t.Errorf("%+v, %v: %v, told %q", c.params, may, err, told)
			}
		}
	}
}
