package faster

import (
	"testing"
	"time"
)

// Both ways are tried, then the faster one is used, and the slower one so often that this costs
// a hundredth.
func TestChoice(t *testing.T) {
	const calls = 640
	var c Choice
	count := func(first, second time.Duration) (n int) {
		for range calls {
			took, use := second, c.First(1)
			if use {
				took = first
				n++
			}
			c.Note(use, 1, took)
		}
		return n
	}
	if n := count(100, 200); n != calls-trials-calls/100 {
		t.Errorf("the first way, which is faster, computes %d of %d", n, calls)
	}
	if n := count(400, 200); n > calls/10 {
		t.Errorf("the first way, which has become slower, computes %d of %d", n, calls)
	}
	if n := count(100, 200); n < calls/2 {
		t.Errorf("the first way, which is faster again, computes %d of %d", n, calls)
	}
	c = Choice{}
	if n := count(400, 200); n > 20 {
		t.Errorf("the first way, which is slower, computes %d of the first %d", n, calls)
	}
	c = Choice{}
	if n := count(time.Second, 2*time.Second); n < calls-calls/explore {
		t.Errorf("the first way, which is faster, computes %d of %d that take a second", n, calls)
	}
	c = Choice{Near: true}
	if n := count(5*time.Second, 4*time.Second); n > calls/10 {
		t.Errorf("the first way, which takes a little longer, computes %d of %d that take seconds", n, calls)
	}
}

// The first call says nothing: it takes longer whoever computes it.
func TestFirstCall(t *testing.T) {
	var c Choice
	for i, took := range []time.Duration{1e6, 100, 200} {
		use := c.First(1)
		if want := i < 2; use != want {
			t.Errorf("the first way computes call %d: %v, want %v", i, use, want)
		}
		c.Note(use, 1, took)
	}
}

// Calls that another program holds up now and then do not make a way the slower one.
func TestHeldUp(t *testing.T) {
	var c Choice
	held, second := 0, 0
	for call := range 640 {
		took, use := 300*time.Nanosecond, c.First(1)
		if use {
			took = 200
			if call%16 == 5 {
				took, held = 2000, held+1
			}
		} else {
			second++
		}
		c.Note(use, 1, took)
	}
	if held == 0 || second > 640/20 {
		t.Errorf("the second way, which is slower, computes %d of 640 calls, and %d of the first are held up", second, held)
	}
}

// Times are compared by the amount of work.
func TestAmounts(t *testing.T) {
	var c Choice
	for i := range 64 {
		amount, use := 1+i%7*1000, c.First(1)
		took := time.Duration(3 * amount)
		if use {
			took = time.Duration(2 * amount)
		}
		c.Note(use, amount, took)
	}
	if c.first.mean != 2 || c.second.mean != 3 {
		t.Errorf("a unit of work takes %v and %v ns, want 2 and 3", c.first.mean, c.second.mean)
	}
}
