package app

import (
	"encoding/json"
	"strings"
	"testing"

	"glossa/pkg/llm"
)

// The counted usage of vectors, scores and explanations is that in their answers, counted once.
func TestUsageOfCapabilities(t *testing.T) {
	meter := &observed{}
	a := golden(t, Config{})
	a.meter = meter
	h := a.Handler()
	for _, test := range []struct {
		path, body string
		told       func(map[string]any) any // input tokens; nil: the answer does not report them
		want       int                      // input tokens
	}{
		{"/v1/embeddings", `{"model":"golden","input":["a","ab"]}`, func(m map[string]any) any { return m["usage"].(map[string]any)["prompt_tokens"] }, 3},
		{"/v1/engines/golden/logprob", `{"context":"a","continuation":"b"}`, func(m map[string]any) any { return m["input_tokens"] }, 2},
		{"/evaluate", `{"model":"golden","prompt":"a","completion_expected":"b"}`, func(m map[string]any) any { return m["num_tokens_prompt_total"] }, 2},
		{"/embed", `{"model":"golden","prompt":"ab","layers":[0]}`, func(m map[string]any) any { return m["num_tokens_prompt_total"] }, 2},
		{"/v1/embedding", `{"model_name":"golden","prompt":"ab"}`, nil, 2},
		{"/explain", `{"model":"golden","prompt":"ab","target":"b","prompt_granularity":"token"}`, nil, 3 + 2 + 2},
		{"/tokenize", `{"model":"golden","prompt":"ab","tokens":true,"token_ids":true}`, nil, 0},
		{"/v1/engines/golden/tokenize", `{"text":"ab"}`, nil, 0},
	} {
		meter.list = nil
		body := text(t, ask(h, "POST", test.path, "", strings.NewReader(test.body)))
		var answer map[string]any
		if err := json.Unmarshal([]byte(body), &answer); err != nil || len(meter.list) != 1 || meter.list[0].Status != 200 {
			t.Fatalf("%s: %s, %v", test.path, body, err)
		}
		if got := meter.list[0].Usage; got != (llm.Usage{Input: test.want}) {
			t.Errorf("%s: %+v is counted, want %d: %.200s", test.path, got, test.want, body)
		}
		if test.told != nil {
			if told := test.told(answer); told != float64(test.want) {
				t.Errorf("%s: the answer tells %v, want %d", test.path, told, test.want)
			}
		}
	}
}
