package alephalpha

import (
	"strings"
	"testing"
)

// TestDifferences lists and checks the differences from the documentation and the service that it
// describes, each with its reason.
func TestDifferences(t *testing.T) {
	for _, test := range []struct {
		original, reason string
		target, body     string
		status           int
		has              string
	}{
		{
			"hosting must be sent", "today's client leaves it out",
			"/complete", `{"model":"luminous","prompt":"x"}`, 200, `"completion":"Once upon a time"`,
		},
		{
			"maximum_tokens must be sent", "today's client leaves it out: then only the context ends a text",
			"/complete", `{"model":"luminous","prompt":"x"}`, 200, `"finish_reason":"end_of_text"`,
		},
		{
			"the tokens of the prompt and maximum_tokens may not exceed the context", "the text ends where the context is full, and says so",
			"/complete", `{"model":"context","prompt":"x","maximum_tokens":100000}`, 200, `"message":"the model's context is full"`,
		},
		{
			"a prompt is a string", "today's client sends items",
			"/complete", `{"model":"luminous","prompt":[{"type":"text","data":"x"}]}`, 200, `"completion":"Once upon a time"`,
		},
		{
			"a timeout has no word", "what there is of a text is an answer",
			"/complete", `{"model":"deadline","prompt":"x"}`, 200, `"finish_reason":"maximum_tokens","message":"the deadline passed"`,
		},
		{
			"an unknown key is ignored", "nothing that a client sends is dropped in silence",
			"/complete", `{"model":"luminous","prompt":"x","maximum_token":1}`, 400, `maximum_token: unknown parameter`,
		},
		{
			"answers have no num_tokens_prompt_total", "today's client needs it",
			"/evaluate", `{"model":"luminous","prompt":"x","completion_expected":" y"}`, 200, `"num_tokens_prompt_total":2`,
		},
		{
			"layers are named as they were asked for", "the service counts them from 0",
			"/embed", `{"model":"luminous","prompt":"x","layers":[-1]}`, 200, `"layer_2":`,
		},
		{
			"the service weakens the attention that a part gets", "here the part is taken out of the prompt, which any model shows the effect of: a factor below 1 changes nothing",
			"/explain", `{"model":"luminous","prompt":"x","target":" y","control_factor":0.1}`, 200, `"scores":[{"start":0,"length":1,"score":0.0}]`,
		},
		{
			"a factor above 1 amplifies attention", "nothing here can",
			"/explain", `{"model":"luminous","prompt":"x","target":" y","control_factor":2}`, 400, `control_factor: must be at least 0 and less than 1`,
		},
		{
			"all models have semantic embeddings", "only models that are trained for them do: others refuse them, and their vectors are not made of what there is",
			"/semantic_embed", `{"model":"luminous","prompt":"x","representation":"symmetric"}`, 400, `"code":"MISSING_CAPABILITY"`,
		},
		{
			"the documentation has errors of no shape", "the service's own, as its clients report them",
			"/complete", `{"model":"luminous"}`, 400, `{"error":"prompt: is required","code":"INVALID"}`,
		},
	} {
		w := ask(newFixture(), "POST", test.target, test.body)
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.has) {
			t.Errorf("original: %s; here otherwise: %s. Got %d %s", test.original, test.reason, w.Code, w.Body)
		}
	}
}
