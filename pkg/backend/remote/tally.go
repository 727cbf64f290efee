package remote

import (
	"encoding/json"
	"math"

	"glossa/pkg/llm"
)

// A tally counts the tokens of one call. Counts in the keys of its answers take
// precedence; the provider's own counts replace missing keys.
type tally struct {
	input, output *int // as the record maps them; nil: missing
	reasoning     *int
	cached        *int
	provider      llm.Usage
}

// add adds an answer, or the next event of one. Counts grow in a stream, and the last
// one is the total.
func (t *tally) add(a answer) {
	count(&t.input, a.keys["input_tokens"])
	count(&t.output, a.keys["generated_tokens"])
	count(&t.output, a.keys["output_tokens"])
	count(&t.reasoning, a.keys["reasoning_tokens"])
	count(&t.cached, a.keys["cached_tokens"])
	t.provider.Input, t.provider.Output = max(t.provider.Input, a.usage.Input), max(t.provider.Output, a.usage.Output)
}

func count(n **int, v any) {
	number, _ := v.(json.Number)
	if x, err := number.Float64(); err == nil && x >= 0 && x <= math.MaxInt32 {
		*n = new(int(x))
	}
}

// usage returns the known counts. No prompt has no tokens.
func (t *tally) usage() llm.Usage {
	u := t.unmapped()
	if u.Input == 0 && t.input != nil {
		u.Input = *t.input
	}
	if u.Output == 0 && t.output != nil {
		u.Output = *t.output
	}
	if t.reasoning != nil {
		u.Reasoning = min(*t.reasoning, u.Output)
	}
	if t.cached != nil {
		u.Cached = min(*t.cached, u.Input)
	}
	return u
}

// unmapped returns the provider's counts of tokens that the keys lack. They are partial
// if a count is missing in both.
func (t *tally) unmapped() llm.Usage {
	var u llm.Usage
	if t.input == nil || *t.input == 0 {
		u.Input = t.provider.Input
		u.Partial = u.Input == 0
	}
	if t.output == nil || *t.output == 0 {
		u.Output = t.provider.Output
		u.Partial = u.Partial || t.output == nil && u.Output == 0
	}
	return u
}
