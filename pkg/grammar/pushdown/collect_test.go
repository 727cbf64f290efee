package pushdown

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"glossa/pkg/grammar/automaton"
)

// The memory of a run does not grow with the text, and no frame that the text may return
// to is lost.
func TestCollect(t *testing.T) {
	p := &rules{}
	n, key := p.text(integer(t)), p.text(automaton.Key())
	one := p.add(Rule{Object: &Object{Props: []Prop{{"a", n, true}}, Extra: []Extra{{key, n}}, Max: 4}})
	m := p.machine(t, p.add(Rule{Array: &Array{Items: one, Min: 5000, Max: -1}}))
	c, err := Bind(m, vocabularies()["words"])
	if err != nil {
		t.Fatal(err)
	}
	w, dice := c.Start(), rand.New(rand.NewPCG(1, 1))
	for step := range 6000 {
		id := choose(w.Mask(1<<20).Bits, dice)
		if !w.Take(id) {
			t.Fatalf("step %d: %q is not taken", step, c.v.Token(id))
		}
		if len(w.run.frames) > 3*minCollectFrames || len(w.run.frames) != len(w.run.frameIndex)+1 || len(w.run.used) != len(w.run.keyIndex)+1 {
			t.Fatalf("step %d: %d frames, %d keys", step, len(w.run.frames), len(w.run.used))
		}
		if step%10 > 0 {
			continue
		}
		before, frames := w.run.describe(w.now), len(w.run.frames)
		w.run.collectAt = 0
		w.run.collect(w.now)
		if after := w.run.describe(w.now); after != before || len(w.run.frames) > frames || len(w.run.frames) > 100 {
			t.Fatalf("step %d: %d frames of %d are left: %s, and %s before", step, len(w.run.frames), frames, after, before)
		}
		if got := c.costs.leastCost(w.run, w.now); int(got) != w.Cost() {
			t.Fatalf("step %d: ending costs %d, and %d before", step, got, w.Cost())
		}
	}
}

// describe writes out elements with their keys and stacks.
func (r *run) describe(elements []element) (s string) {
	for _, e := range elements {
		for ; e.rule != ended; e = r.frames[e.stack].element {
			s += fmt.Sprint(e.rule, e.state, e.reg, e.count, e.from)
			for i := e.used; i != 0; i = r.used[i].previous {
				s += r.used[i].key
			}
			s += "<"
		}
		s += ";"
	}
	return s
}
