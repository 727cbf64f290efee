package engine

import (
	"testing"
	"time"
)

// Drafts are as long as makes a row fastest, and are made only if they make it faster.
func TestChooseDraft(t *testing.T) {
	sure, unsure := odds{}, odds{}
	for i := range sure {
		sure[i], unsure[i] = 1, 0.3
	}
	flat := func(int) time.Duration { return 1000 }
	linear := func(n int) time.Duration { return time.Duration(1000 * n) }
	tiles := func(n int) time.Duration { return time.Duration(1000 + 600*((n-1)/4)) } // four tokens cost the same
	for _, test := range []struct {
		name   string
		took   func(n int) time.Duration
		tokens int
		odds   odds
		want   int
	}{
		{"free tokens", flat, 1, sure, 16},
		{"tokens that cost as much each", linear, 1, sure, 0},
		{"a tile", tiles, 1, unsure, 3},
		{"tiles", tiles, 1, sure, 15},
		{"a tile that others share", tiles, 3, unsure, 1},
		{"full tiles of others", tiles, 8, unsure, 0},
		{"a large pass", flat, maxCosted + 1, sure, 0},
		{"a pass that ends at the largest", flat, maxCosted - 2, sure, 2},
	} {
		c := &passCosts{}
		for n := 1; n <= maxCosted; n++ {
			c.note(n, test.took(n))
		}
		if got := c.choose(test.tokens, test.odds.accepted(3, 16)); got != test.want {
			t.Errorf("%s: a draft of %d tokens, want %d", test.name, got, test.want)
		}
	}
}

// Unknown costs are learned in small steps, and costs that forbid drafts are measured again.
func TestPassCosts(t *testing.T) {
	c, always := &passCosts{}, []float64{1, 2, 3, 4, 5, 6, 7, 8}
	if n := c.choose(1, always); n != 0 {
		t.Errorf("a draft of %d tokens before anything is known", n)
	}
	for _, want := range []int{2, 4, 6, 8, 8} {
		c.note(1, 100)
		n := c.choose(1, always)
		if n != want {
			t.Errorf("a draft of %d tokens, want %d", n, want)
		}
		c.note(1+n, 101)
	}
	if a, b := c.of(2), c.of(maxCosted); a != 100.5 || b != 101 {
		t.Errorf("costs %v, %v", a, b)
	}
	c.note(3, 1e6) // the machine was busy
	if got := c.of(3); got != 101+101/4. {
		t.Errorf("the cost is %v", got)
	}
	for n := 2; n <= maxCosted; n++ {
		for range 50 {
			c.note(n, time.Duration(100*n))
		}
	}
	drafts := 0
	for range 3 * exploreDrafts {
		if c.choose(1, always) > 0 {
			drafts++
		}
	}
	if drafts != 3 {
		t.Errorf("%d drafts that cost too much", drafts)
	}
}

// Odds follow what is accepted, each class for itself.
func TestOdds(t *testing.T) {
	o := odds{}
	for range 100 {
		o.note(2, true)
		o.note(4, false)
	}
	if got := o.accepted(2, 4); got[0] < 0.99 || got[1] < 1.98 || got[3] > 2 {
		t.Errorf("accepted %v", got)
	}
	if a, b := o.class(1<<20), o.class(32); a != b {
		t.Error("long agreements have several classes")
	}
}
