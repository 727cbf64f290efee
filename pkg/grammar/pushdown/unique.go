package pushdown

import (
	"container/heap"
	"slices"
	"strings"
)

// The items of a unique array differ. While an item can still become equal to an earlier
// one, escape searches the cost of ending it byte by byte. An item that cannot is safe,
// whatever follows, and costs the same as anywhere else.

// MaxUnique is the greatest minimum of items of a unique array: a sample text is found for
// each required item.
const MaxUnique = 64

// maxEscape bounds the elements visited for one cost.
const maxEscape = 1 << 12

// maxSampling bounds the elements visited for the samples of all rules.
const maxSampling = 1 << 18

// valueOf returns the parsed value of an item's text.
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
// before it, and adds it to them. e is the element of the array after the item.
func (r *run) distinct(e *element) bool {
	from := e.from
	if e.from = -1; r.m.rules[e.rule].Proc != nil {
		e.reg = 0
	}
	if r.skipUnique {
		return true
	}
	text := string(append(r.text[from:len(r.text):len(r.text)], r.byte))
	for i := e.used; i != 0; i = r.used[i].previous {
		if equalTexts(text, r.valueOf(r.used[i].key)) {
			return false
		}
	}
	e.used = r.use(text, e.used)
	return true
}

// mayRepeat reports whether the item that returns to a frame can become equal to an earlier
// one. f records how.
func (r *run) mayRepeat(at *frame, f *comparison) (can bool) {
	if at.safe || at.used == 0 || int(at.from) > len(r.text) {
		return false
	}
	for i := at.used; i != 0; i = r.used[i].previous {
		f.text, f.pos, f.stopped = r.text[at.from:], 0, false
		can = f.compare(r.valueOf(r.used[i].key)) || can
	}
	return can
}

// mayRepeatAny reports whether any of the items that enclose an element can become equal to
// an earlier one. f records how.
func (r *run) mayRepeatAny(e *element, f *comparison) (can bool) {
	for i := r.frames[e.stack].itemFrame; i != 0; i = r.frames[r.frames[i].stack].itemFrame {
		can = r.mayRepeat(&r.frames[i], f) || can
	}
	return can
}

// markSafe marks the items that cannot become equal to an earlier one any more.
func (r *run) markSafe(now []element) {
	for _, e := range now {
		for i := r.frames[e.stack].itemFrame; i != 0; i = r.frames[r.frames[i].stack].itemFrame {
			at := &r.frames[i]
			at.safe = at.safe || !r.mayRepeat(at, &comparison{})
		}
	}
}

// --- costs ---

// itemCost returns the cost of an element in an item of a unique array.
func (c *costs) itemCost(r *run, e *element) int32 {
	cost := min(never, c.costToRuleEnd(r, e)+r.frames[e.stack].cost)
	if cost < never && r.mayRepeatAny(e, &comparison{}) {
		cost = c.escape(r, e)
	}
	c.eachSample(r, e, func(suffix string, below int32) { cost = min(cost, sum(int32(len(suffix)), below)) })
	return cost
}

// eachSample calls do for each sample that begins with the written part of an item and is
// not an item yet: with the rest of the sample and the cost after the item.
func (c *costs) eachSample(r *run, e *element, do func(suffix string, below int32)) {
	for i := r.frames[e.stack].itemFrame; i != 0; i = r.frames[r.frames[i].stack].itemFrame {
		at := &r.frames[i]
		samples := c.samplesOf(at)
		if len(samples) == 0 || int(at.from) > len(r.text) || r.mayRepeatAny(&at.element, &comparison{}) {
			continue // the cost after the item depends on the items around it
		}
		written := string(r.text[at.from:])
		_ = c.budget.Spend(len(written)+8*len(samples), len(written)) // newCosts sees it
		for _, text := range samples {
			if suffix, ok := strings.CutPrefix(text, written); ok && suffix != "" && !r.isUsed(at.used, text) {
				do(suffix, at.cost)
			}
		}
	}
}

// samplesOf returns the samples for the item that returns to a frame, if the array
// requires items.
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

// isUsed reports whether a text is equal to an item of the list used.
func (r *run) isUsed(used int32, text string) bool {
	for i := used; i != 0; i = r.used[i].previous {
		if equalTexts(text, r.valueOf(r.used[i].key)) {
			return true
		}
	}
	return false
}

// An attempt is a node of a search: the text since the search began, and the elements that
// the text has led to.
type attempt struct {
	text string
	open []element // that can still become equal to an earlier item; none: the text is safe
	cost int32     // estimate for the whole text
}

// escape returns the cost of an element that can still repeat an earlier item: the bytes to
// a safe element and the cost from there. It is a best-first search that stops at the first
// safe element. A search from any element on the path finds the same one.
func (c *costs) escape(r *run, e *element) int32 {
	length, out := len(r.text), r.out
	frames, used := len(r.frames), len(r.used)
	defer func() {
		r.text, r.out = r.text[:length], out
		r.resetOut()
		r.forget(frames, used)
	}()
	queue := attempts{{open: []element{*e}}}
	for work := 0; len(queue) > 0 && work < maxEscape && c.budget.Err() == nil; {
		at := heap.Pop(&queue).(attempt)
		if at.open == nil {
			return at.cost
		}
		var next comparison
		r.text = append(r.text[:length], at.text...)
		for i := range at.open {
			r.mayRepeatAny(&at.open[i], &next)
		}
		work += c.expand(r, length, at, func(x *element) bool {
			begins := int(r.frames[r.frames[x.stack].itemFrame].from) == len(r.text) // another item
			return (begins || next.next.has(r.text[len(r.text)-1])) && r.mayRepeatAny(x, &comparison{})
		}, func(a attempt) { heap.Push(&queue, a) })
	}
	return never
}

// expand reads each byte that may follow an attempt, whose text begins at from in r.text.
// It calls do with two attempts for each byte, one of the open elements and one of the safe
// ones, and returns how many elements it visited.
func (c *costs) expand(r *run, from int, at attempt, open func(x *element) bool, do func(attempt)) (work int) {
	firsts := r.nextBytes(at.open)
	for b := range 256 {
		if !firsts.has(byte(b)) || !c.v.isToken[b] {
			continue
		}
		r.text = r.text[:from+len(at.text)]
		r.out = nil // an attempt keeps the old one
		r.resetOut()
		for i := range at.open {
			r.step(&at.open[i], byte(b))
		}
		r.text = append(r.text, byte(b))
		work += 1 + len(r.out)
		c.spendSearch(r, len(r.out))
		text := at.text + string([]byte{byte(b)})
		unsafe, safe := attempt{text: text, cost: never}, attempt{text: text, cost: never}
		for i := range r.out {
			x := &r.out[i]
			cost := int32(len(text))
			if x.rule != ended {
				cost = sum(cost, c.costToRuleEnd(r, x), r.frames[x.stack].cost)
			}
			if x.rule != ended && r.frames[x.stack].itemFrame != 0 && open(x) {
				unsafe.open, unsafe.cost = append(unsafe.open, *x), min(unsafe.cost, cost)
			} else {
				safe.cost = min(safe.cost, cost)
			}
		}
		for _, a := range []attempt{unsafe, safe} {
			if a.cost < never {
				do(a)
			}
		}
	}
	return work
}

// spendSearch spends the cost of visiting n elements after a byte of a search.
func (c *costs) spendSearch(r *run, n int) {
	_ = c.budget.Spend(40*(1+n)+len(r.text)/8, 256*(1+n)+len(r.text)) // newCosts sees it
}

// sample finds up to n short and different texts of a rule, the shortest first.
func (c *costs) sample(id ID, n int) {
	if len(c.samples[id]) >= n || c.start[id] >= never {
		return
	}
	r := newRun(c.m, c)
	r.frames[0].cost = 0
	r.enter(id, 0)
	queue := attempts{{open: slices.Clone(r.out)}}
	var found []string
	for work := 0; len(queue) > 0 && len(found) < n && work < 16*maxEscape && c.sampling < maxSampling && c.budget.Err() == nil; {
		at := heap.Pop(&queue).(attempt)
		r.text = append(r.text[:0], at.text...)
		if accepts(at.open) && !slices.ContainsFunc(found, func(other string) bool { return equalTexts(other, r.valueOf(at.text)) }) {
			found = append(found, at.text)
		}
		looked := c.expandAll(r, at, func(a attempt) { heap.Push(&queue, a) })
		work, c.sampling = work+looked, c.sampling+looked
	}
	if len(found) > len(c.samples[id]) {
		slices.SortStableFunc(found, func(a, b string) int { return len(a) - len(b) })
		c.samples[id] = found
	}
}

// expandAll reads each byte that may follow an attempt, and calls do with the results.
func (c *costs) expandAll(r *run, at attempt, do func(attempt)) (work int) {
	firsts := r.nextBytes(at.open)
	for b := range 256 {
		if !firsts.has(byte(b)) || !c.v.isToken[b] {
			continue
		}
		r.text, r.out = append(r.text[:0], at.text...), nil // an attempt keeps the old one
		r.resetOut()
		for i := range at.open {
			r.step(&at.open[i], byte(b))
		}
		r.text = append(r.text, byte(b))
		work += 1 + len(r.out)
		c.spendSearch(r, len(r.out))
		next := attempt{text: string(r.text), open: r.out, cost: never}
		for i := range next.open {
			if cost := c.elementCost(r, &next.open[i]); cost < never { // prefer completing a text to the shortest one
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
	return f.compare(v) && !f.stopped && f.pos == len(text)
}

// arrayItemCost returns the cost of item i of an array.
func (c *costs) arrayItemCost(a *Array, i int32) int32 {
	id := a.item(i)
	switch {
	case id < 0:
		return never
	case !a.Unique || i == 0:
		return c.start[id]
	case len(c.samples[id]) <= int(c.equals[a][i]):
		return never
	}
	return int32(len(c.samples[id][c.equals[a][i]])) // of so many samples one is not used yet
}

// attempts is a heap, the least cost first.
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

// repeatSuffixes returns the suffixes whose tokens must be checked one by one, since they
// may complete an earlier item or a sample. slow: the cached sets cannot be used at all.
func (m *Matcher) repeatSuffixes(e *element) (suffixes []string, slow bool) {
	f := &comparison{}
	m.run.mayRepeatAny(e, f)
	m.c.costs.eachSample(m.run, e, func(suffix string, _ int32) { f.suffixes = append(f.suffixes, suffix) })
	return f.suffixes, f.numbers
}

// fillOneByOne checks again the tokens that are a prefix of one of the suffixes, and those
// that begin with one. The mask has tokens of e only.
func (m *Matcher) fillOneByOne(e *element, suffixes []string, budget int32) {
	v, seen := m.c.v, map[int32]bool{}
	for _, suffix := range suffixes {
		at := int32(-1)
		for i := range len(suffix) {
			if at = v.child(at, suffix[i]); at < 0 {
				break
			}
			if n := &v.nodes[at]; n.tokens > 0 && !seen[at] {
				seen[at] = true
				m.fillToken(e, v.tokensOf(n), budget)
			}
		}
		if at < 0 {
			continue
		}
		for below := at + 1; below < at+int32(v.nodes[at].size); below++ {
			if n := &v.nodes[below]; n.tokens > 0 && !seen[below] {
				seen[below] = true
				m.fillToken(e, v.tokensOf(n), budget)
			}
		}
	}
}

// fillToken sets or clears the bits of tokens with the same bytes, by their cost after e.
func (m *Matcher) fillToken(e *element, ids []int32, budget int32) {
	r, length, now := m.run, len(m.run.text), []element{*e}
	for _, b := range []byte(m.c.v.tokens[ids[0]]) {
		now = m.move(now, b, false)
	}
	cost := m.c.costs.leastCost(r, now)
	r.text = r.text[:length]
	for _, id := range ids {
		m.mask.Bits[id>>6] &^= 1 << (id & 63)
		if m.cut {
			m.over[id>>6] &^= 1 << (id & 63)
		}
	}
	m.allow(ids, cost, budget)
}
