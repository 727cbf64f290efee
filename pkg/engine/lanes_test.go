package engine

import (
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"testing"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
)

// A small model has a batch for each processor, a larger one has one.
func TestLanes(t *testing.T) {
	team := transformer.NewTeam(3)
	defer team.Close()
	wide := checkpoint.ModelConfig{VocabSize: 27, BlockSize: 8, NLayer: 1, NEmbd: 256, NHead: 4}
	for _, test := range []struct {
		e    *Engine
		want int
	}{
		{random(t, 8, Config{Team: team}), 3},
		{random(t, 8, Config{}), 1},
		{shaped(t, wide, Config{Team: team}), 1},
	} {
		if n := len(test.e.lanes.all); n != test.want {
			t.Errorf("%d batches, want %d", n, test.want)
		}
	}
}

// checkMembers checks the numbers of members of e's batches.
func checkMembers(t *testing.T, e *Engine, want ...int32) {
	t.Helper()
	var got []int32
	for _, b := range e.lanes.all {
		got = append(got, b.members.Load())
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v members, want %v", got, want)
	}
}

// allForward computes a token of each member, concurrently.
func allForward(t *testing.T, e *Engine, members ...*member) {
	t.Helper()
	var wg sync.WaitGroup
	for _, m := range members {
		wg.Go(func() {
			if err := forward(t, e, m); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// Members are balanced, also after others have left. The batch that a member leaves no
// longer waits for it, and the member waits only for those of its new batch.
func TestRebalance(t *testing.T) {
	team := transformer.NewTeam(2)
	defer team.Close()
	e := random(t, 64, Config{Team: team})
	members := make([]*member, 6)
	for i := range members {
		members[i] = e.lanes.join("", nil)
	}
	checkMembers(t, e, 3, 3)
	allForward(t, e, members...)
	first, rest := e.lanes.all[0], members[:0:0]
	for _, m := range members {
		if m.batch != first {
			rest = append(rest, m)
		}
	}
	allForward(t, e, rest[0])
	for _, m := range members {
		if m.batch == first {
			m.leave()
		}
	}
	checkMembers(t, e, 0, 3)
	allForward(t, e, rest[0])
	allForward(t, e, rest[1])
	if first.awaited != 1 || !rest[0].awaited {
		t.Errorf("%d members are awaited where one has come to", first.awaited)
	}
	checkMembers(t, e, 1, 2)
	allForward(t, e, rest...)
	checkMembers(t, e, 1, 2)
	allForward(t, e, rest...)
	rest[1].leave()
	rest[2].leave()
	allForward(t, e, rest[0])
	checkMembers(t, e, 1, 0)
	rest[0].leave()
	for _, b := range e.lanes.all {
		if b.awaited != 0 || len(b.waiting) != 0 || b.pass != nil || b.last != nil {
			t.Errorf("somebody is still there: %+v", b)
		}
	}
}

// BenchmarkConcurrent decodes concurrent requests with a model of about a million
// parameters.
func BenchmarkConcurrent(b *testing.B) {
	team := transformer.NewTeam(runtime.GOMAXPROCS(0))
	defer team.Close()
	c := checkpoint.ModelConfig{VocabSize: 27, BlockSize: 256, NLayer: 5, NEmbd: 128, NHead: 4}
	for _, format := range []string{"f32", "q8_0"} {
		e := shaped(b, c, Config{Team: team, PrefixMemory: -1, Format: transformer.Formats()[format]})
		for _, requests := range []int{1, 2, 3, 4, 8} {
			b.Run(fmt.Sprintf("%s/requests=%d", format, requests), func(b *testing.B) {
				tokens := 0
				for b.Loop() {
					var wg sync.WaitGroup
					for range requests {
						wg.Go(func() { collect(b, e, with(llm.Params{MaxTokens: new(128)})) })
					}
					wg.Wait()
					tokens += requests * 128
				}
				b.ReportMetric(float64(tokens)/b.Elapsed().Seconds(), "tokens/s")
			})
		}
	}
}

// computed returns how many tokens all passes have computed, except for those that were
// drafted in vain.
func (l *lanes) computed() (n int) {
	for _, b := range l.all {
		n += int(b.computed.Load() - b.drafted.Load() + b.accepted.Load())
	}
	return n
}

// A batch without members gives its pass to the next ones.
func TestBatchGivesPass(t *testing.T) {
	e := random(t, 32, Config{})
	for range 100 { // a pool may forget what it is given
		if _, _, err := llm.Collect(e.Generate(t.Context(), mixed(0)), mixed(0).Rows()); err != nil {
			t.Fatal(err)
		}
		if p := e.model.NewPass(e.lanes.all[0].team); len(p.Last()) > 0 {
			return
		}
	}
	t.Error("no pass was used again")
}
