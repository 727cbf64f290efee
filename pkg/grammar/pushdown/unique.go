package pushdown

import (
	"container/heap"
	"slices"
	"strings"
)

// The items of a unique array differ. While an item can still become one that is there
// already, what it costs to end is looked for byte by byte: escape. A text that can
// become none of them is safe, whatever follows, and costs what it does elsewhere.

// MaxUnique is how many items a unique array may have to have: for each of them a text is
// known that ends it.
const MaxUnique = 64

// maxEscape bounds the elements looked at for one cost.
const maxEscape = 1 << 12

// maxSampling bounds the elements looked at for the samples of all rules.
const maxSampling = 1 << 18

// valueOf returns the value of an item that was written.
func (r *run) valueOf(text string) *value {
	v := r.values[text]
	if v == nil {
		if r.values == nil {
			r.values = map[string]*value{}
		}
		v = readValue(text)
		r.values[text] = v
	}
	return v
}

// distinct reports whether the item that ends with the byte being read differs from those
// before it, and adds it to them. e is where its array goes on.
func (r *run) distinct(e *element) bool {
	from := e.from
	if e.from = -1; r.m.rules[e.rule].Proc != nil {
		e.reg = 0
	}
	if r.blind {
		return true
	}
	text := string(append(r.text[from:len(r.text):len(r.text)], r.byte))
	for i := e.used; i != 0; i = r.used[i].before {
		if equalTexts(text, r.valueOf(r.used[i].key)) {
			return false
		}
	}
	e.used = r.use(text, e.used)
	return true
}

// unsafe reports whether an item that a frame returns from can become one of those before
// it. f notes how.
func (r *run) unsafe(at *frame, f *comparison) (can bool) {
	if at.safe || at.used == 0 || int(at.from) > len(r.text) {
		return false
	}
	for i := at.used; i != 0; i = r.used[i].before {
		f.text, f.at, f.stopped = r.text[at.from:], 0, false
		can = f.along(r.valueOf(r.used[i].key)) || can
	}
	return can
}

// repeats reports whether any of the items that an element is in can become one of those
// before it. f notes how.
func (r *run) repeats(e *element, f *comparison) (can bool) {
	for i := r.frames[e.stack].near; i != 0; i = r.frames[r.frames[i].stack].near {
		can = r.unsafe(&r.frames[i], f) || can
	}
	return can
}

// settle notes which items can become none of those before them any more.
func (r *run) settle(now []element) {
	for _, e := range now {
		for i := r.frames[e.stack].near; i != 0; i = r.frames[r.frames[i].stack].near {
			at := &r.frames[i]
			at.safe = at.safe || !r.unsafe(at, &comparison{})
		}
	}
}

// --- costs ---

// ofItem returns the cost of an element in an item of a unique array.
func (c *costs) ofItem(r *run, e *element) int32 {
	cost := min(never, c.after(r, e)+r.frames[e.stack].cost)
	if cost < never && r.repeats(e, &comparison{}) {
		cost = c.escape(r, e)
	}
	c.eachSample(r, e, func(rest string, below int32) { cost = min(cost, sum(int32(len(rest)), below)) })
	return cost
}

// eachSample calls do with how the samples go on of which what is written of an item is
// the beginning, but for those that are items already, and the cost after the item.
func (c *costs) eachSample(r *run, e *element, do func(rest string, below int32)) {
	for i := r.frames[e.stack].near; i != 0; i = r.frames[r.frames[i].stack].near {
		at := &r.frames[i]
		samples := c.samplesOf(at)
		if len(samples) == 0 || int(at.from) > len(r.text) || r.repeats(&at.element, &comparison{}) {
			continue // after the item all depends on those around it
		}
		begun := string(r.text[at.from:])
		_ = c.budget.Spend(len(begun)+8*len(samples), len(begun)) // newCosts sees it
		for _, text := range samples {
			if rest, ok := strings.CutPrefix(text, begun); ok && rest != "" && !r.there(at.used, text) {
				do(rest, at.cost)
			}
		}
	}
}

// samplesOf returns the samples of the item that a frame returns from, if items may have
// to come.
func (c *costs) samplesOf(at *frame) []string {
	u := &c.m.rules[at.rule]
	if u.Proc != nil {
		return c.samples[ID(at.reg)]
	}
	if u.Array.Min < 2 || int(at.reg) > u.Array.Min {
		return nil
	}
	return c.samples[u.Array.item(at.reg-1)]
}

// there reports whether a text is equal to one of those used.
func (r *run) there(used int32, text string) bool {
	for i := used; i != 0; i = r.used[i].before {
		if equalTexts(text, r.valueOf(r.used[i].key)) {
			return true
		}
	}
	return false
}

// An attempt is the beginning of a text: since the beginning of a search, and where it has
// led to.
type attempt struct {
	text string
	now  []element // that can still become an item that is there already; none: it is safe
	cost int32     // of the whole text, as far as is known
}

// escape returns how few bytes lead from an element to a safe one, and what that costs.
// It tries what seems to cost least first and takes what it finds first: from a place on
// the way it finds the same.
func (c *costs) escape(r *run, e *element) int32 {
	length, out := len(r.text), r.out
	frames, used := len(r.frames), len(r.used)
	defer func() {
		r.text, r.out = r.text[:length], out
		r.anew()
		r.forget(frames, used)
	}()
	line := attempts{{now: []element{*e}}}
	for work := 0; len(line) > 0 && work < maxEscape && c.budget.Err() == nil; {
		at := heap.Pop(&line).(attempt)
		if at.now == nil {
			return at.cost
		}
		var next comparison
		r.text = append(r.text[:length], at.text...)
		for i := range at.now {
			r.repeats(&at.now[i], &next)
		}
		work += c.follow(r, length, at, func(x *element) bool {
			begins := int(r.frames[r.frames[x.stack].near].from) == len(r.text) // another item
			return (begins || next.next.has(r.text[len(r.text)-1])) && r.repeats(x, &comparison{})
		}, func(a attempt) { heap.Push(&line, a) })
	}
	return never
}

// follow reads each byte that may follow an attempt, whose text begins at a place. Of what
// it leads to it tells apart what is open and what is not: attempts of either. It returns
// how many elements it looked at.
func (c *costs) follow(r *run, from int, at attempt, open func(x *element) bool, do func(attempt)) (work int) {
	firsts := r.firsts(at.now)
	for b := range 256 {
		if !firsts.has(byte(b)) || !c.v.byte1[b] {
			continue
		}
		r.text = r.text[:from+len(at.text)]
		r.out = nil // who has it keeps it
		r.anew()
		for i := range at.now {
			r.step(&at.now[i], byte(b))
		}
		r.text = append(r.text, byte(b))
		work += 1 + len(r.out)
		c.spendLooks(r, len(r.out))
		text := at.text + string([]byte{byte(b)})
		left, safe := attempt{text: text, cost: never}, attempt{text: text, cost: never}
		for i := range r.out {
			x := &r.out[i]
			cost := int32(len(text))
			if x.rule != ended {
				cost = sum(cost, c.after(r, x), r.frames[x.stack].cost)
			}
			if x.rule != ended && r.frames[x.stack].near != 0 && open(x) {
				left.now, left.cost = append(left.now, *x), min(left.cost, cost)
			} else {
				safe.cost = min(safe.cost, cost)
			}
		}
		for _, a := range []attempt{left, safe} {
			if a.cost < never {
				do(a)
			}
		}
	}
	return work
}

// spendLooks takes what it costs to look at elements after a byte of a search.
func (c *costs) spendLooks(r *run, n int) {
	_ = c.budget.Spend(40*(1+n)+len(r.text)/8, 256*(1+n)+len(r.text)) // newCosts sees it
}

// sample finds short texts of a rule that differ, n of them, the shortest first, as far as
// it goes.
func (c *costs) sample(id ID, n int) {
	if len(c.samples[id]) >= n || c.start[id] >= never {
		return
	}
	r := newRun(c.m, c)
	r.frames[0].cost = 0
	r.enter(id, 0)
	line := attempts{{now: slices.Clone(r.out)}}
	var found []string
	for work := 0; len(line) > 0 && len(found) < n && work < 16*maxEscape && c.sampling < maxSampling && c.budget.Err() == nil; {
		at := heap.Pop(&line).(attempt)
		r.text = append(r.text[:0], at.text...)
		if accepts(at.now) && !slices.ContainsFunc(found, func(other string) bool { return equalTexts(other, r.valueOf(at.text)) }) {
			found = append(found, at.text)
		}
		looked := c.followAll(r, at, func(a attempt) { heap.Push(&line, a) })
		work, c.sampling = work+looked, c.sampling+looked
	}
	if len(found) > len(c.samples[id]) {
		slices.SortStableFunc(found, func(a, b string) int { return len(a) - len(b) })
		c.samples[id] = found
	}
}

// followAll reads each byte that may follow an attempt.
func (c *costs) followAll(r *run, at attempt, do func(attempt)) (work int) {
	firsts := r.firsts(at.now)
	for b := range 256 {
		if !firsts.has(byte(b)) || !c.v.byte1[b] {
			continue
		}
		r.text, r.out = append(r.text[:0], at.text...), nil // who has it keeps it
		r.anew()
		for i := range at.now {
			r.step(&at.now[i], byte(b))
		}
		r.text = append(r.text, byte(b))
		work += 1 + len(r.out)
		c.spendLooks(r, len(r.out))
		next := attempt{text: string(r.text), now: r.out, cost: never}
		for i := range next.now {
			if cost := c.of(r, &next.now[i]); cost < never { // a whole text soon rather than the shortest
				next.cost = min(next.cost, int32(len(next.text))+8*min(cost, 1<<20))
			}
		}
		if next.cost < never {
			do(next)
		}
	}
	return work
}

// equalTexts reports whether the text of a value is equal to another value.
func equalTexts(text string, v *value) bool {
	f := comparison{text: []byte(text), whole: true}
	return f.along(v) && !f.stopped && f.at == len(text)
}

// item returns the cost of item i of an array.
func (c *costs) item(a *Array, i int32) int32 {
	id := a.item(i)
	switch {
	case id < 0:
		return never
	case !a.Unique || i == 0:
		return c.start[id]
	case len(c.samples[id]) <= int(i):
		return never
	}
	return int32(len(c.samples[id][i]))
}

// attempts is a heap, what costs least first.
type attempts []attempt

func (a attempts) Len() int { return len(a) }
func (a attempts) Less(i, j int) bool {
	return a[i].cost < a[j].cost || a[i].cost == a[j].cost && a[i].text < a[j].text
}
func (a attempts) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *attempts) Push(x any)   { *a = append(*a, x.(attempt)) }
func (a *attempts) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

// --- masks ---

// dangers returns how texts go on that an element must not be filled in for all at once;
// slow: it must not be at all.
func (m *Matcher) dangers(e *element) (rests []string, slow bool) {
	f := &comparison{}
	m.run.repeats(e, f)
	m.c.costs.eachSample(m.run, e, func(rest string, _ int32) { f.rests = append(f.rests, rest) })
	return f.rests, f.numbers
}

// fillAgain looks again, one by one, at the tokens that one of rests begins with, and at
// those that begin with one of them. The mask has tokens of e alone.
func (m *Matcher) fillAgain(e *element, rests []string, budget int32) {
	v, seen := m.c.v, map[int32]bool{}
	for _, rest := range rests {
		at := int32(-1)
		for i := range len(rest) {
			if at = v.child(at, rest[i]); at < 0 {
				break
			}
			if n := &v.nodes[at]; n.tokens > 0 && !seen[at] {
				seen[at] = true
				m.fillOne(e, v.of(n), budget)
			}
		}
		if at < 0 {
			continue
		}
		for below := at + 1; below < at+int32(v.nodes[at].size); below++ {
			if n := &v.nodes[below]; n.tokens > 0 && !seen[below] {
				seen[below] = true
				m.fillOne(e, v.of(n), budget)
			}
		}
	}
}

// fillOne sets the bits of tokens of the same bytes if they fit after e, and clears them
// if they do not.
func (m *Matcher) fillOne(e *element, ids []int32, budget int32) {
	r, length, now := m.run, len(m.run.text), []element{*e}
	for _, b := range []byte(m.c.v.tokens[ids[0]]) {
		now = m.move(now, b, false)
	}
	cost := m.c.costs.least(r, now)
	r.text = r.text[:length]
	for _, id := range ids {
		m.mask.Bits[id>>6] &^= 1 << (id & 63)
		if m.cut {
			m.over[id>>6] &^= 1 << (id & 63)
		}
	}
	m.allow(ids, cost, budget)
}
