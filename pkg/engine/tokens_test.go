package engine

import (
	"errors"
	"math"
	"os"
	"testing"

	"glossa/pkg/chat"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint/checkpointtest"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/llm"
	"glossa/pkg/tokenizer/hf"
)

// TestTokenizerJSON: an Alpha model's file is generated, other models' files are read,
// and a model without one returns an error.
func TestTokenizerJSON(t *testing.T) {
	m, err := arch.FromAlpha(checkpointtest.Golden(), "")
	if err != nil {
		t.Fatal(err)
	}
	e, err := New(m, Config{Name: "golden"})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := e.TokenizerJSON(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if read, err := hf.Parse(raw); err != nil || read.Size() != 3 || len(read.Encode("ab\nc")) != 3 {
		t.Errorf("%s: %v", raw, err)
	}
	for _, words := range []func() ([]byte, error){nil, func() ([]byte, error) { return []byte("{}"), nil }} {
		if m, err = arch.Open(os.DirFS("arch/testdata"), "gpt2"); err != nil {
			t.Fatal(err)
		}
		m.Tokenizer = numbers{m.Tokens}
		if e, err = New(m, Config{TokenizerJSON: words}); err != nil {
			t.Fatal(err)
		}
		raw, err := e.TokenizerJSON(t.Context())
		if refused, ok := errors.AsType[*llm.Error](err); words == nil && (!ok || refused.Code != llm.Unsupported) || words != nil && string(raw) != "{}" {
			t.Errorf("%s, %v", raw, err)
		}
	}
}

// TestRender: the rendered chat is the input of a generation, with or without the
// beginning of the answer. A template with its own marks needs no start token.
func TestRender(t *testing.T) {
	chats := llm.Prompt{Messages: []llm.Message{{Role: "user", Parts: []llm.Part{{Text: "hi"}}}}}
	for template, want := range map[string]struct {
		open, ended int // parts
		start       bool
	}{chat.Concat: {1, 1, true}, chat.ChatML: {3, 3, false}} {
		e := &Engine{core: &core{memory: 1 << 20}, template: named(t, template)}
		open, start, err := e.Render(t.Context(), chats, &llm.Params{}, true)
		ended, _, err2 := e.Render(t.Context(), chats, &llm.Params{}, false)
		if len(open) != want.open || len(ended) != want.ended || start != want.start || err != nil || err2 != nil {
			t.Errorf("%q: %+v, %+v, %v %v %v", template, open, ended, start, err, err2)
		}
	}
}

// TestLikelihood: the likelihood of a search's result is the sum of the log-probabilities
// of its tokens, whatever the length penalty.
func TestLikelihood(t *testing.T) {
	for _, penalty := range []float64{0, 1, 1.5} {
		b := newBeamSearch(&arch.Search{LengthPenalty: penalty}, target{kernels: kernel.Best(), ends: []int{2}, tokens: 3}, 1, 10, 9)
		b.step([][]float32{{0, 3, 0}})
		b.step([][]float32{{1, 0, 0}})
		b.step([][]float32{{0, 0, 2}})
		want := 3 + 1 + 2 - math.Log(2+math.Exp(3)) - math.Log(2+math.E) - math.Log(2+math.Exp(2))
		if got, tokens := b.likelihood(); !b.done || tokens != 3 || math.Abs(got-want) > 1e-6 {
			t.Errorf("penalty %v: %v over %d tokens, want %v", penalty, got, tokens, want)
		}
	}
}
