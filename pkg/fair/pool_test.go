package fair

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A history is claims on one pool, by name.
type history struct {
	t      *testing.T
	pool   Pool
	limits Limits
	claims map[string]*Claim
	order  []string
}

// claim claims n bytes. The sender is the first letter of the name.
func (h *history) claim(name string, n int64) {
	h.t.Helper()
	c, err := h.pool.Claim(name[:1], n, h.limits)
	if err != nil {
		h.t.Errorf("%s: %v", name, err)
	}
	h.claims[name] = c
	h.order = append(h.order, name)
}

// expect compares the claims that are granted, in the order of their arrival.
func (h *history) expect(want string) {
	h.t.Helper()
	var got []string
	for _, name := range h.order {
		if h.claims[name].Granted() {
			got = append(got, name)
		}
	}
	if strings.Join(got, " ") != want {
		h.t.Errorf("granted %q, want %q", got, want)
	}
}

func newHistory(t *testing.T, limits Limits) *history {
	return &history{t: t, limits: limits, claims: map[string]*Claim{}}
}

// A sender may hold as much as it leaves to others, so that a small claim finds room.
func TestShareOfTheRest(t *testing.T) {
	h := newHistory(t, Limits{Total: 100})
	h.claim("a1", 30)
	h.claim("a2", 20)
	h.claim("a3", 1) // 51 would leave 49
	h.claim("a4", 1) // behind it
	h.claim("b1", 10)
	h.claim("b2", 20) // 30 would leave 20
	h.claim("c1", 40) // all that is left, of a sender that holds nothing
	h.expect("a1 a2 b1 c1")
	h.claims["c1"].Release()
	h.claims["c1"].Release() // once
	h.expect("a1 a2 b1 c1")
	h.claims["a1"].Shrink(20)
	h.claims["a1"].Shrink(25) // which is more than it has
	h.expect("a1 a2 a3 a4 b1 c1")
	h.claims["a2"].Release()
	h.expect("a1 a2 a3 a4 b1 b2 c1")
}

// A fixed share holds up its sender only, and a single claim may be larger.
func TestFixedShare(t *testing.T) {
	h := newHistory(t, Limits{Total: 100, Share: 25})
	h.claim("a1", 40)
	h.claim("b1", 20)
	h.claim("b2", 6)
	h.claim("c1", 25)
	h.claim("b3", 1) // in the order of its sender's claims
	h.expect("a1 b1 c1")
	h.claims["b1"].Shrink(19)
	h.expect("a1 b1 b2 c1")
	h.claims["b2"].Release()
	h.expect("a1 b1 b2 c1 b3")
}

// A claim without room is not passed where its wait has a bound, and is passed by other
// senders where it has none.
func TestPassing(t *testing.T) {
	for wait, want := range map[time.Duration][2]string{0: {"a1 d1", "a1 b1 d1"}, time.Hour: {"a1", "a1 b1"}} {
		h := newHistory(t, Limits{Total: 100, Wait: wait})
		h.claim("a1", 90)
		h.claim("b1", 200) // the pool must be empty
		h.claim("b2", 1)
		h.claim("d1", 5)
		h.expect(want[0])
		h.claims["a1"].Release()
		if wait == 0 {
			h.claims["d1"].Release()
		}
		h.expect(want[1])
		h.claims["b1"].Release()
		for name, c := range h.claims {
			if !c.Granted() {
				t.Errorf("wait %v: %s is not granted in an empty pool", wait, name)
			}
		}
	}
}

// A claim gives up its place when it is late, when its context ends, and when it is
// released, and those behind it are granted then.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHistory(t, Limits{Total: 10, Wait: time.Minute, Places: 2})
		h.claim("a", 8)
		taken := make(chan error, 1)
		take := func(ctx context.Context, sender string, n int64) {
			c, err := h.pool.Take(ctx, sender, n, h.limits)
			if (err == nil) != (c != nil && c.Granted()) {
				t.Error(c, err)
			}
			taken <- err
		}
		ctx, cancel := context.WithCancel(t.Context())
		go take(ctx, "b", 5)
		synctest.Wait()
		h.claim("c", 1)
		h.expect("a")
		if _, err := h.pool.Claim("d", 1, h.limits); !errors.Is(err, ErrBusy) {
			t.Errorf("beyond the places: %v", err)
		}
		cancel()
		if err := <-taken; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		h.expect("a c")
		begin := time.Now()
		go take(t.Context(), "b", 5)
		synctest.Wait()
		h.claim("d", 1)
		if err := <-taken; !errors.Is(err, ErrBusy) || time.Since(begin) != time.Minute {
			t.Error(err, time.Since(begin))
		}
		h.expect("a c d")
		h.claim("e", 9)
		h.claim("f", 1)
		h.claims["d"].Release()
		h.expect("a c d")
		h.claims["e"].Release()
		h.expect("a c d f")
		go take(t.Context(), "g", 8)
		synctest.Wait()
		h.claims["a"].Release()
		if err := <-taken; err != nil {
			t.Error(err)
		}
		var none *Claim
		none.Release()
		none.Shrink(1)
	})
}

// Whatever happens, no more is held than there is, no sender holds more than its share,
// and bytes that a waiting claim may have are never left over.
func TestPoolHistories(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		limits := Limits{Total: 100, Share: []int64{0, 20, 50}[r.IntN(3)], Wait: time.Duration(r.IntN(2))}
		var p Pool
		var claims []*Claim
		for range 100 {
			if len(claims) == 0 || r.IntN(5) < 3 {
				c, err := p.Claim(fmt.Sprint(r.IntN(5)), 1+r.Int64N([]int64{10, 60, 120}[r.IntN(3)]), limits)
				if err != nil {
					t.Fatal(err)
				}
				claims = append(claims, c)
			} else if i := r.IntN(len(claims)); r.IntN(3) > 0 || !claims[i].Granted() {
				claims[i].Release()
				claims = append(claims[:i], claims[i+1:]...)
			} else {
				claims[i].Shrink(claims[i].bytes / 2)
			}
			check(t, &p, claims, limits)
		}
		for len(claims) > 0 {
			claims[0].Release() // the first is always granted in the end
			claims = claims[1:]
		}
		if p.used != 0 || len(p.held)+len(p.waiters) != 0 {
			t.Fatalf("seed %d: left behind: %+v", seed, &p)
		}
	}
}

func check(t *testing.T, p *Pool, claims []*Claim, limits Limits) {
	t.Helper()
	var used int64
	granted, held, count, first := 0, map[string]int64{}, map[string]int{}, map[string]*Claim{}
	for _, c := range claims {
		switch {
		case c.Granted() && c.bytes == 0: // shrunk to nothing
		case c.Granted():
			granted++
			used += c.bytes
			held[c.sender] += c.bytes
			count[c.sender]++
		case first[c.sender] == nil:
			first[c.sender] = c
		}
	}
	if used != p.used || used > limits.Total && granted > 1 || granted == 0 && len(first) > 0 {
		t.Fatalf("%d bytes of %d claims, %d of them granted; the pool says %d", used, len(claims), granted, p.used)
	}
	for sender, n := range held {
		if n != p.held[sender] || limits.Share > 0 && n > limits.Share && count[sender] > 1 {
			t.Fatalf("sender %s holds %d bytes in %d claims, the pool says %d", sender, n, count[sender], p.held[sender])
		}
	}
	for _, c := range first {
		if fits := used+c.bytes <= limits.Total; fits && held[c.sender] == 0 && limits.Wait == 0 {
			t.Fatalf("%d bytes wait, and %d are used", c.bytes, used)
		}
	}
}

// Senders take turns, however many claims of one wait, and one that comes again and again does not pass the
// claims of others.
func TestSendersTakeTurns(t *testing.T) {
	h := newHistory(t, Limits{Total: 10})
	for _, name := range []string{"a1", "a2", "a3", "b1", "c1"} {
		h.claim(name, 10)
	}
	h.expect("a1")
	granted := "a1"
	for _, step := range [][2]string{{"a1", "b1"}, {"b1", "c1"}, {"c1", "a2"}, {"a2", "b2"}, {"b2", "a3"}, {"a3", "b3"}} {
		h.claims[step[0]].Release()
		granted += " " + step[1]
		if last := h.order[len(h.order)-1]; last == "c1" {
			h.claim("b2", 10) // behind a2
		}
		if step[1] == "b2" {
			h.claim("b3", 10) // behind a3
		}
		want := strings.Fields(granted)
		slices.SortFunc(want, func(a, b string) int { return slices.Index(h.order, a) - slices.Index(h.order, b) })
		h.expect(strings.Join(want, " "))
	}
	h.claims["b3"].Release()
	if len(h.pool.last) > 0 {
		t.Errorf("senders are remembered while no claim waits: %v", h.pool.last)
	}
}

// A sender whose claims were granted while others waited, and that holds nothing, comes behind the first claims of all,
// also behind those that arrive later.
func TestSenderComesAgain(t *testing.T) {
	h := newHistory(t, Limits{Total: 10})
	for _, name := range []string{"a1", "b1", "c1", "d1"} {
		h.claim(name, 10)
	}
	h.claims["a1"].Release()
	h.claims["b1"].Release()
	h.expect("a1 b1 c1")
	h.claim("b2", 10)
	h.claim("e1", 10)
	for _, step := range [][2]string{{"c1", "a1 b1 c1 d1"}, {"d1", "a1 b1 c1 d1 e1"}, {"e1", "a1 b1 c1 d1 b2 e1"}} {
		h.claims[step[0]].Release()
		h.expect(step[1])
	}
}

// A claim that was given up does not count: its sender's next one comes before the second ones of others.
func TestGivenUpClaims(t *testing.T) {
	h := newHistory(t, Limits{Total: 10})
	h.claim("a1", 10)
	h.claim("c1", 10)
	for i := range 5 {
		name := fmt.Sprint("b", i)
		h.claim(name, 10)
		h.claims[name].Release()
	}
	for _, name := range []string{"c2", "c3", "bx"} {
		h.claim(name, 10)
	}
	for _, step := range [][2]string{{"a1", "a1 c1"}, {"c1", "a1 c1 bx"}, {"bx", "a1 c1 c2 bx"}} {
		h.claims[step[0]].Release()
		h.expect(step[1])
	}
}

// Senders whose turn has passed are forgotten, also while claims always wait.
func TestPassedSendersAreForgotten(t *testing.T) {
	h := newHistory(t, Limits{Total: 10})
	last := ""
	for i := range 100 {
		sender := string(rune('a' + i%26))
		name := fmt.Sprint(sender, i)
		for range 2 {
			h.claim(name, 10)
			name += "+"
		}
		if last != "" {
			h.claims[last].Release()
		}
		last = fmt.Sprint(sender, i)
	}
	if n := len(h.pool.last); n > 2 {
		t.Errorf("%d senders are remembered", n)
	}
}
