package remote

import (
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
