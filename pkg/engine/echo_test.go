package engine

import (
	"testing"

	"glossa/pkg/llm"
)

// With an echoed prompt, the token that ends a row is described like the others, so that
// a request for one token returns one. Without echo it is not shown.
func TestEchoedEnd(t *testing.T) {
	e := larger(t, nil)
	params := llm.Params{Echo: new(true), Logprobs: new(2), MaxTokens: new(1), Temperature: new(0.0)}
	before, _ := collect(t, e, with(params))
	first := before[0].Tokens[3]
	e.ends[first.ID] = true

	rows, usage := collect(t, e, with(params))
	r := rows[0]
	if r.Text != "abc" || r.Finish != llm.FinishEOS || len(r.Tokens) != 4 || usage.Output != 1 {
		t.Fatalf("%+v %+v", r, usage)
	}
	end := r.Tokens[3]
	if end.ID != first.ID || end.Logprob != first.Logprob || end.Text != "" || end.Piece != first.Piece || len(end.Top) != 2 || end.Top[0].Logprob != end.Logprob {
		t.Errorf("%+v, want %+v", end, first)
	}
	params.Echo = nil
	if rows, _ := collect(t, e, with(params)); len(rows[0].Tokens) != 0 {
		t.Errorf("%+v", rows[0].Tokens)
	}
}
