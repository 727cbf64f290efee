package budget

import (
	"testing"

	"glossa/pkg/llm"
)

// Without max_tokens, a model in this process generates up to the dialect's default, and
// a remote one up to its context.
func TestBoundOfDefaults(t *testing.T) {
	req := &llm.Request{Prompts: []llm.Prompt{llm.Text("a")}}
	req.Defaults.MaxTokens = new(16)
	for _, test := range []struct {
		info llm.ModelInfo
		want int64
	}{
		{llm.ModelInfo{Name: "m", Family: "local", InProcess: true, Context: 1000}, 16},
		{llm.ModelInfo{Name: "m", Family: "bedrock", Context: 1000}, 1000},
	} {
		if got := (backend{info: &test.info}).bound(req); got.each != test.want || got.sent {
			t.Errorf("%+v: %+v, want %d", test.info, got, test.want)
		}
	}
}

// A remote provider reads and bills the prompt for each completion, a model in this process
// reads it once.
func TestBoundOfCompletions(t *testing.T) {
	req := &llm.Request{N: 3, Prompts: []llm.Prompt{llm.Text("a"), llm.Text("b")}}
	local := (backend{info: &llm.ModelInfo{InProcess: true}}).bound(req).input
	if got := (backend{info: &llm.ModelInfo{}}).bound(req).input; local == 0 || got != 3*local {
		t.Errorf("%d tokens of remote prompts, %d of local ones", got, local)
	}
}
