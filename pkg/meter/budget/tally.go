package budget

import (
	"context"

	"glossa/pkg/intercept"
	"glossa/pkg/llm"
)

// A tally measures the answer of a call so far. Usage that the model does not report is
// estimated: a token for four bytes, or for each piece if that is more.
type tally struct {
	pieces, texts, bytes, sure int

	cut     bool // the client disconnected before the end, or time ran out
	exact   bool // the model's reported usage is right even then
	charged bool // a budget pays for usage that the provider does not report
	keys    bool // the answer has canonical keys
	stream  bool
	drains  bool // see [intercept.Method]
}

// tally returns the tally of a new call.
func (b backend) tally(call *intercept.Call) tally {
	_, keys := call.Request.(*intercept.Invocation)
	return tally{charged: b.holds != nil, keys: keys, stream: call.Streams(), drains: call.Drains, exact: !keys && b.info.InProcess}
}

func (t *tally) add(ctx context.Context, p *intercept.Piece, err error) {
	switch {
	case err != nil:
		if t.charged && !t.exact && !t.drains && ctx.Err() != nil { // the provider has the prompt
			t.pieces++
		}
		return
	case t.keys && t.stream && len(p.Keys) == 0: // an event without keys
		return
	}
	t.pieces++
	t.sure += len(p.Chunk.Tokens)
	t.cut = t.cut || p.Chunk.Finish == llm.FinishDeadline || p.Chunk.Finish == llm.FinishCancelled
	text, _ := p.Keys["generated_text"].(string)
	n := len(p.Chunk.Text) + len(text)
	for _, call := range p.Chunk.Calls {
		n += len(call.Name) + len(call.Arguments)
	}
	if n > 0 {
		t.texts++
		t.bytes += n
	}
}

func (t *tally) tokens() int { return max(t.texts, t.sure, (t.bytes+bytesPerToken-1)/bytesPerToken) }

// missing estimates the usage between before and after that the model does not report: all
// of it if the model reports nothing and, if a budget pays, each count that a provider
// with partial counts omits. For an answer that was cut, providers report only the output
// of its beginning.
func (t *tally) missing(before, after llm.Usage, input func() int) (u llm.Usage) {
	in, out := after.Input-before.Input, after.Output-before.Output
	missing := in == 0 && out == 0 || after.Partial && t.charged
	if missing && in == 0 {
		u.Input = input()
	}
	if missing && out == 0 || t.cut && t.charged && !t.exact {
		u.Output = max(0, t.tokens()-out)
	}
	return u
}
