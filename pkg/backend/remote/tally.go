package remote

import (
	"encoding/json"
	"math"

	"glossa/pkg/llm"
)

// A tally counts the tokens of one call. What its answers have in keys holds; what the
// provider tells beside them stands in for keys that are not there.
type tally struct {
	input, output *int // as the record maps them; nil: not there
	told          llm.Usage
}

// add takes in an answer, or the next event of one. Counts grow in a stream, and the
// last is the whole one.
func (t *tally) add(a answer) {
	count(&t.input, a.keys["input_tokens"])
	count(&t.output, a.keys["generated_tokens"])
	count(&t.output, a.keys["output_tokens"])
	t.told.Input, t.told.Output = max(t.told.Input, a.told.Input), max(t.told.Output, a.told.Output)
}

func count(n **int, v any) {
	number, _ := v.(json.Number)
	if x, err := number.Float64(); err == nil && x >= 0 && x <= math.MaxInt32 {
		*n = new(int(x))
	}
}

// usage is what is known. No prompt has no tokens.
func (t *tally) usage() llm.Usage {
	u := t.beside()
	if u.Input == 0 && t.input != nil {
		u.Input = *t.input
	}
	if u.Output == 0 && t.output != nil {
		u.Output = *t.output
	}
	return u
}

// beside is what the provider tells that no key does. It is partial if neither tells
// all.
func (t *tally) beside() llm.Usage {
	var u llm.Usage
	if t.input == nil || *t.input == 0 {
		u.Input = t.told.Input
		u.Partial = u.Input == 0
	}
	if t.output == nil || *t.output == 0 {
		u.Output = t.told.Output
		u.Partial = u.Partial || t.output == nil && u.Output == 0
	}
	return u
}
