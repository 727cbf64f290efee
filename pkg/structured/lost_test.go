package structured

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"glossa/pkg/llm"
)

// Requests that end with an error report the usage of all their answers.
func TestLost(t *testing.T) {
	for name, c := range map[string]struct {
		answers []answer
		n, want int // rows, and tokens of all requests
	}{
		"valid":                     {says(good), 1, 0},
		"corrected":                 {says("no", good), 1, 0},
		"not valid twice":           {says("no", "no"), 1, 2},
		"not valid, then a failure": {[]answer{{text: "no"}, {err: errors.New("it broke")}}, 1, 1},
		"cut":                       {[]answer{{text: `{"a`, finish: llm.FinishLength}}, 1, 1},
		"cut, of many":              {[]answer{{text: `{"a`, finish: llm.FinishLength}, {text: good}, {text: good}}, 3, 3},
	} {
		var lost llm.Usage
		wrapped := Wrap(&remote{answers: c.answers}, func(_ context.Context, used llm.Usage) { lost = used }, nil)
		req := &llm.Request{Prompts: []llm.Prompt{llm.Text("a")}, N: c.n, Params: llm.Params{Schema: json.RawMessage(person)}}
		_, _, err := llm.Collect(wrapped.Generate(t.Context(), req), c.n)
		if lost.Output != c.want || (lost.Input > 0) != (c.want > 0) || (err != nil) != (c.want > 0) {
			t.Errorf("%s: %+v, %v", name, lost, err)
		}
	}
}
