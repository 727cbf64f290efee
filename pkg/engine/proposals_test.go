package engine

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"glossa/pkg/llm"
)

// As many tokens are proposed as make a row fastest with the time that proposals take, and only
// after the row has got enough tokens to pay for the text that the draft model must read.
func TestChooseProposals(t *testing.T) {
	flat := func(int) time.Duration { return 1000 }
	sure, half, never := odds{1, 1, 1, 1, 1, 1, 1}, odds{.5, .5, .5, .5, .5, .5, .5}, odds{}
	for _, test := range []struct {
		name         string
		each         time.Duration // of a pass of the draft model
		rows         int           // in it
		behind, left int
		odds         odds
		want         int
	}{
		{"cheap and right", 100, 1, 1, 100, sure, 16},
		{"half right", 100, 1, 1, 100, half, 2},
		{"too dear", 900, 1, 1, 100, half, 0},
		{"shared by rows", 900, 8, 1, 100, half, 2},
		{"always wrong", 10, 1, 1, 100, never, 0},
		{"a long text before few tokens", 100, 1, 1000, 32, sure, 0},
		{"a long text before many", 100, 1, 1000, 200, sure, 16},
		{"a long text that helps less", 100, 1, 1000, 200, half, 0},
		{"the text that came with the last draft", 100, 1, 2, 1, half, 2},
		{"three tokens behind, and the last token", 100, 1, 3, 0, half, 0},
	} {
		costs, p := &passCosts{}, newProposals()
		for n := 1; n <= maxCosted; n++ {
			costs.note(n, flat(n))
		}
		p.note(test.rows, test.rows, 1, test.each)
		p.note(1, 100, 100, 10000)
		if got := p.choose(costs, 1, test.rows, test.behind, test.left, test.odds.accepted(0, 16)); got != test.want {
			t.Errorf("%s: %d proposals, want %d", test.name, got, test.want)
		}
	}
}

// Before anything is known, the costs are measured; text that was not read yet is not mistaken for
// proposals.
func TestProposalsLearn(t *testing.T) {
	costs, p := &passCosts{}, newProposals()
	accepted := p.odds.accepted(0, 8)
	if n := p.choose(costs, 1, 1, 1, 100, accepted); n != 0 {
		t.Errorf("%d proposals before the model's passes are known", n)
	}
	costs.note(1, 1000)
	if n := p.choose(costs, 1, 1, 1, 100, accepted); n != 2 {
		t.Errorf("%d proposals before the draft model's passes are known", n)
	}
	p.note(1, 64, 64, 6400)
	if p.read != 100 || p.took.of(1) != 0 {
		t.Errorf("read %v, proposals %v", p.read, p.took.of(1))
	}
	p.note(1, 2, 2, 100)
	p.note(3, 3, 1, 120)
	p.note(1, 20, 20, 9000)
	if p.read != 100 || p.took.of(1) != 100 || p.took.of(3) != 120 {
		t.Errorf("read %v, proposals %v %v", p.read, p.took.of(1), p.took.of(3))
	}
	f := &follower{}
	p.learn(f) // it has proposed nothing
	p.learn(nil)
	if p.odds != newProposals().odds {
		t.Errorf("odds %v", p.odds)
	}
}

// Proposals that do not pay are tried again in a two-hundredth of the time.
func TestProposalsTriedAgain(t *testing.T) {
	const price, each = 1000, 500
	for _, behind := range []int{1, 100} {
		costs, p, spent := &passCosts{}, newProposals(), 0.0
		for n := 1; n <= maxCosted; n++ {
			costs.note(n, price)
		}
		p.note(1, 1, 1, each)
		p.note(1, 64, 64, 64*20)
		tries := 0
		const tokens = 20000
		for range tokens {
			if n := p.choose(costs, 1, 1, behind, 1000, (&odds{}).accepted(0, 8)); n > 0 {
				tries, spent = tries+1, spent+float64(n*each+20*(behind-1))
			}
		}
		if share := spent / (tokens * price); tries < 10 || share > 1.01*tryShare || share < 0.9*tryShare {
			t.Errorf("%d tokens behind: %d tries took %v of the time", behind, tries, share)
		}
	}
}

// A member of a batch that has no proposals waits for one that has, as long as these took the last
// time, so that they share passes.
func TestBatchAwaitsProposals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const steps = 6
		text := letters(200)
		e := follow(t, spelling(t, text, Config{PrefixMemory: -1}), spelling(t, text[:120], Config{PrefixMemory: -1}))
		e.drafting = draftAlways
		var passes atomic.Int32
		m := watchPasses(t, e, func(int) {
			time.Sleep(10 * time.Millisecond)
			passes.Add(1)
		})
		defer m.leave()
		d := watchPasses(t, &Engine{core: e.draft}, func(int) { time.Sleep(time.Millisecond / 4) })
		defer d.leave()
		done := make(chan struct{}, 2)
		for prompt, tokens := range map[int]int{3: 1 + steps*(maxDraft+1), 130: 40} { // the second is too long for the draft model
			go func() {
				defer func() { done <- struct{}{} }()
				req := &llm.Request{Prompts: []llm.Prompt{llm.Text(text[:prompt])}, Params: llm.Params{MaxTokens: new(tokens)}}
				if _, _, err := llm.Collect(e.Generate(t.Context(), req), 1); err != nil {
					t.Error(err)
				}
			}()
		}
		<-done
		if n := passes.Load(); n > steps+5 { // 4 of the prompts
			t.Errorf("the first has ended after %d passes", n)
		}
		<-done
	})
}
