package fair

import (
	"strings"
	"testing"
)

// The sender that holds the fewest turns is next, and of those the least recently served.
func TestTurns(t *testing.T) {
	var turns Turns[string]
	lines := map[string]*Line[string]{}
	wait := func(items ...string) {
		for _, item := range items {
			l := turns.Enter(item[:1])
			lines[item] = l
			turns.Wait(l, item, len(l.Waiting))
		}
	}
	end := func(items ...string) {
		for _, item := range items {
			if l := lines[item]; !turns.Cancel(l, item) {
				turns.Free(l, item)
			}
			turns.Leave(lines[item])
		}
	}
	serve := func(n int, want string) {
		t.Helper()
		var got []string
		for range n {
			got = append(got, turns.Serve(turns.Next()))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("served %q, want %q", got, want)
		}
	}
	wait("a1", "a2", "a3", "b1", "b2", "c1")
	serve(5, "a1 b1 c1 a2 b2")
	wait("c2", "d1")
	serve(2, "d1 c2") // a and b hold two
	wait("b3", "c3", "d2")
	end("a1", "a2") // a holds nothing
	serve(1, "a3")
	if l := turns.Busiest(); len(l.Held) != 2 || l.Held[1][1] != '2' {
		t.Errorf("the most turns are %q", l.Held)
	}
	end("b1", "c3") // c3 waited, and c waits no longer
	if n := len(turns.Waiting()); n != 2 {
		t.Errorf("%d lines wait", n)
	}
	turns.Wait(lines["b1"], "b0", 0) // an item that was interrupted
	serve(3, "b0 d2 b3")
	if turns.Next() != nil || lines["b3"].Open != 2 {
		t.Errorf("%+v, and %d of b are open", turns.Next(), lines["b3"].Open)
	}
	turns.Free(lines["b1"], "b0")
	end("a3", "b2", "b3", "c1", "c2", "d1", "d2")
	if turns.Busiest() != nil || len(turns.lines)+len(turns.queue) != 0 {
		t.Errorf("left behind: %+v", turns)
	}
}

// A sender with one item waits for one item of each other sender at most.
func TestTurnsAreShared(t *testing.T) {
	var turns Turns[int]
	for i := range 99 {
		turns.Wait(turns.Enter("flood"), i, i)
	}
	turns.Wait(turns.Enter("one"), 99, 0)
	turns.Serve(turns.Next())
	if item := turns.Serve(turns.Next()); item != 99 {
		t.Errorf("item %d is second", item)
	}
}
