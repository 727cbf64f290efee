package pushdown

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
)

// stubborn writes a text of at most limit tokens, with an a wherever it is allowed. It checks
// that each closer reduces the cost of ending.
func stubborn(t *testing.T, c *Constraint, limit int) []byte {
	t.Helper()
	m, a, pulled := c.Start(), c.v.id(t, "a"), 0
	for left := limit; !m.Complete(); left-- {
		mask := m.Mask(left)
		if mask.Closers != nil {
			pulled++
		}
		for id := range c.v.Size() {
			probe := &Matcher{c: c, run: m.run, now: m.now, cost: m.cost}
			if mask.Closers == nil || mask.Closers[id>>6]>>(id&63)&1 == 0 {
				continue
			}
			length := len(m.run.text)
			if !probe.Take(id) || probe.Cost() >= m.Cost() {
				t.Fatalf("after %q: the closer %q leads from a cost of %d to %d", m.Text(), c.v.Token(id), m.Cost(), probe.Cost())
			}
			m.run.text = m.run.text[:length]
		}
		id := a
		if mask.Bits[a>>6]>>(a&63)&1 == 0 {
			at := slices.IndexFunc(mask.Bits, func(w uint64) bool { return w != 0 })
			if at < 0 {
				t.Fatalf("nothing may follow %q", m.Text())
			}
			id = at*64 + lowest(mask.Bits[at])
		}
		m.takeAll(t, c.v.Token(id))
	}
	if pulled == 0 {
		t.Errorf("%s: nothing was pulled", m.Text())
	}
	return m.Text()
}

// A share also reserves tokens for strings that follow the enclosing value.
func TestShareAround(t *testing.T) {
	p := &rules{}
	s := p.counted(0, -1)
	in := p.add(Rule{Object: &Object{Props: []Prop{{"s", s, true}}, Max: -1}})
	c, err := Bind(p.machine(t, p.add(Rule{Object: &Object{Props: []Prop{{"in", in, true}, {"out", s, true}}, Max: -1}})), vocabularies()["ascii"])
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		In  struct{ S string }
		Out string
	}
	if err := json.Unmarshal(stubborn(t, c, 120), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.In.S) < 40 || len(got.Out) < 15 {
		t.Errorf("%+v", got)
	}
}

// After any beginning, a text ends within Cost tokens.
func TestEndsAtCost(t *testing.T) {
	for vname, v := range vocabularies() {
		for name, machine := range machines(t) {
			c, err := Bind(machine, v)
			if err != nil {
				t.Fatal(err)
			}
			for seed := range uint64(20) {
				m, dice := c.Start(), rand.New(rand.NewPCG(seed, 2))
				for range seed {
					if mask := m.Mask(1 << 20); mask.Count > 0 {
						m.Take(choose(mask.Bits, dice))
					}
				}
				for cost := m.Cost(); cost > 0; cost = m.Cost() {
					mask := m.Mask(cost)
					if mask.Count == 0 || !m.Take(choose(mask.Bits, dice)) || m.Cost() >= cost {
						t.Fatalf("%s over %s: %d tokens allowed after %q, which costs %d, then %d", name, vname, mask.Count, m.Text(), cost, m.Cost())
					}
				}
			}
		}
	}
}
