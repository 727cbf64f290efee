package engine

import (
	"os"
	"slices"
	"testing"

	"glossa/pkg/engine/arch"
	"glossa/pkg/llm"
)

// statefuls are golden models with states and with deltas.
var statefuls = []string{"granite4-states", "qwen3_5"}

// stateful returns the engine of a golden model with states whose tokens are numbers.
func stateful(t *testing.T, name string, cfg Config) *Engine {
	t.Helper()
	m, err := arch.Open(os.DirFS("arch/testdata"), name)
	if err != nil {
		t.Fatal(err)
	}
	m.Tokenizer, m.End = numbers{m.Tokens}, nil
	e, err := New(m, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// answers returns the completions of prompts of tokens, and the usage.
func answers(t *testing.T, e *Engine, prompts ...[]int) (texts []string, usage llm.Usage) {
	t.Helper()
	n := 12
	req := &llm.Request{Params: llm.Params{MaxTokens: &n}}
	for _, ids := range prompts {
		req.Prompts = append(req.Prompts, llm.Prompt{Parts: []llm.Part{{Tokens: ids}}})
	}
	rows, usage, err := llm.Collect(e.Generate(t.Context(), req), len(prompts))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		texts = append(texts, row.Text)
	}
	return texts, usage
}

// Prompts that share a beginning of any length get what each gets alone, and the beginning is
// computed once.
func TestStatesShared(t *testing.T) {
	for _, name := range statefuls {
		for _, shared := range []int{1, 5, 63, 64, 65, 100} {
			one := tokensOfStates(140, 1)
			two := slices.Concat(one[:shared], tokensOfStates(50, 2))
			three := slices.Concat(one[:shared], tokensOfStates(7, 3))
			var want []string
			for _, ids := range [][]int{one, two, three} {
				alone, _ := answers(t, stateful(t, name, Config{PrefixMemory: -1}), ids)
				want = append(want, alone...)
			}
			e := stateful(t, name, Config{PrefixMemory: -1})
			got, usage := answers(t, e, one, two, three)
			if !slices.Equal(got, want) {
				t.Errorf("%d shared tokens: %q, want %q", shared, got, want)
			}
			// The last token of a completion is not computed.
			if n := e.lanes.computed() - (usage.Output - 3); n != len(one)+50+7 {
				t.Errorf("%d shared tokens: %d tokens were computed of prompts", shared, n)
			}
		}
	}
}

// A prompt that begins with all that was computed continues it; one that leaves it earlier is
// computed anew.
func TestStatesKept(t *testing.T) {
	for _, name := range statefuls {
		e, fresh := stateful(t, name, Config{PrefixMemory: 64 << 20}), stateful(t, name, Config{PrefixMemory: -1})
		prompt := tokensOfStates(100, 1)
		answers(t, e, prompt)
		for what, c := range map[string]struct {
			ids    []int
			cached bool
		}{
			"longer": {slices.Concat(prompt, tokensOfStates(30, 2)), true},
			"other":  {slices.Concat(prompt[:80], tokensOfStates(30, 2)), false},
		} {
			want, _ := answers(t, fresh, c.ids)
			got, usage := answers(t, e, c.ids)
			if !slices.Equal(got, want) || usage.Cached > 0 != c.cached {
				t.Errorf("%s, %s: %q, want %q; %d tokens were known", name, what, got, want, usage.Cached)
			}
		}
	}
}

// Models with states have no drafts, whose tokens could not be dropped.
func TestStatesHaveNoDrafts(t *testing.T) {
	for _, name := range statefuls {
		e := stateful(t, name, Config{})
		if e.drafting != draftNever || e.model.Rewinds() {
			t.Errorf("drafting %d", e.drafting)
		}
		prompt := slices.Repeat([]int{5, 6, 7, 8}, 20)
		answers(t, e, prompt)
		if drafted, _ := e.Drafts(); drafted > 0 {
			t.Errorf("%d drafts", drafted)
		}
	}
}

// tokensOfStates returns some tokens, always the same for a seed.
func tokensOfStates(n, seed int) (ids []int) {
	for i := range n {
		ids = append(ids, 3+(i*i*7+i*13*seed+seed)%60)
	}
	return ids
}
