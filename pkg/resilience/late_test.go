package resilience

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"glossa/pkg/llm"
)

// hanging is a model that accepts a prompt, generates nothing, and reports its usage when
// its context ends.
type hanging struct{}

func (hanging) Generate(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		<-ctx.Done()
		yield(llm.Chunk{Finish: llm.FinishCancelled, Usage: &llm.Usage{Input: 7}}, nil)
	}
}

// The usage of a model that took too long is counted.
func TestLateUsage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		s := newModelSet(&llm.Model{ModelInfo: llm.ModelInfo{Name: "a", Family: "fake"}, Backend: hanging{}}, (&fake{name: "b"}).model())
		s.policies["a"] = Policy{Fallbacks: []string{"b"}}
		rec, _ := within(t, ctx, func(ctx context.Context) {
			if got, err := text(s.mustOpen(t, ctx, "a").Generate(ctx, request())); got != `{"ok":true}` || err != nil {
				t.Error(got, err)
			}
		})
		if rec.Usage.Input != 7 {
			t.Errorf("%+v", rec.Usage)
		}
	})
}
