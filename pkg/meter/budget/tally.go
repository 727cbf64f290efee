package budget

import "glossa/pkg/llm"

// A tally is what a generation has given so far. What nobody tells of its usage is
// estimated: a token for four bytes, or for a chunk if those are more.
type tally struct {
	chunks, texts, bytes, sure int

	input, output int  // tokens told in keys, which the dialect counts
	cut           bool // it was left before its end, or ran out of time
	exact         bool // what is told is right even then
	charged       bool // there is a budget, which pays for what a provider leaves out
}

func (t *tally) add(c llm.Chunk, err error) {
	if err != nil {
		return
	}
	t.chunks++
	t.sure += len(c.Tokens)
	t.cut = t.cut || c.Finish == llm.FinishDeadline || c.Finish == llm.FinishCancelled
	n := len(c.Text)
	for _, call := range c.Calls {
		n += len(call.Name) + len(call.Arguments)
	}
	t.text(n)
}

// addKeys is add for canonical keys. Of numbers of tokens the last word holds.
func (t *tally) addKeys(keys map[string]any, err error) {
	if err != nil {
		return
	}
	t.chunks++
	text, _ := keys["generated_text"].(string)
	t.text(len(text))
	for _, told := range []struct {
		name string
		n    *int
	}{{"input_tokens", &t.input}, {"generated_tokens", &t.output}, {"output_tokens", &t.output}} {
		if n, ok := number(keys[told.name]); ok {
			*told.n = int(n)
		}
	}
}

func (t *tally) text(bytes int) {
	if bytes > 0 {
		t.texts++
		t.bytes += bytes
	}
}

func (t *tally) tokens() int { return max(t.texts, t.sure, (t.bytes+bytesPerToken-1)/bytesPerToken) }

// untold estimates what was used between before and after and is not told: all of it
// where nobody tells anything and, where a budget pays, each figure that a provider leaves
// out that does not tell all. Of an answer that was cut, providers tell the output of its
// beginning.
func (t *tally) untold(before, after llm.Usage, input func() int) (u llm.Usage) {
	in, out := after.Input-before.Input+t.input, after.Output-before.Output+t.output
	missing := in == 0 && out == 0 || after.Partial && t.charged
	if missing && in == 0 {
		u.Input = input()
	}
	if missing && out == 0 || t.cut && t.charged && !t.exact {
		u.Output = max(0, t.tokens()-out)
	}
	return u
}
