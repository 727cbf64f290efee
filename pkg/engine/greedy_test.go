package engine

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"glossa/pkg/engine/arch"
	"glossa/pkg/llm"
)

// Greedy completions equal those of the original implementation, token for token, and end
// where they end.
func TestGreedy(t *testing.T) {
	files, err := filepath.Glob("arch/testdata/*/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	compared, ended := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var golden struct {
			Greedy []struct{ Prompt, Ends, Tokens []int } `json:"greedy"`
		}
		if err := json.Unmarshal(raw, &golden); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Base(filepath.Dir(file))
		for _, g := range golden.Greedy {
			m, err := arch.Open(os.DirFS("arch/testdata"), dir)
			if err != nil {
				t.Fatal(err)
			}
			m.Tokenizer, m.End = numbers{m.Tokens}, g.Ends
			e, err := New(m, Config{Name: dir})
			if err != nil {
				t.Fatal(err)
			}
			req := &llm.Request{Prompts: []llm.Prompt{{Parts: []llm.Part{{Tokens: g.Prompt}}}}}
			req.MaxTokens, req.Tokens = new(len(g.Tokens)), new(true)
			rows, usage := collect(t, e, req)
			var got []int
			for _, tok := range rows[0].Tokens {
				got = append(got, tok.ID)
			}
			want, finish := g.Tokens, llm.FinishLength
			if last := len(want) - 1; slices.Contains(g.Ends, want[last]) {
				want, finish = want[:last], llm.FinishEOS // which is not shown
				ended[e.info.Type] = true
			}
			if !slices.Equal(got, want) || rows[0].Finish != finish || usage.Output != len(g.Tokens) {
				t.Errorf("%s: %v %s after %v, want %v %s", dir, got, rows[0].Finish, g.Prompt, want, finish)
			}
			compared[e.info.Type] = true
		}
	}
	if len(compared) < 5 || len(ended) < 5 {
		t.Errorf("compared: %v, with an end: %v", compared, ended)
	}
}
