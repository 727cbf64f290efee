package pushdown

import "slices"

// An element is one of the alternatives in which the text so far can continue: a position
// in a rule and the stack of its callers. The set of elements is the whole state of a run.
type element struct {
	rule  ID    // ended: the text is complete
	state int32 // of a DFA or a Proc; the position in an array or object, see below
	reg   int32 // Text: characters read; Array: items begun; Object: the next of Props; unique Proc, in a frame: the rule of the item
	count int32 // Object: members begun
	used  int32 // Object: its extra keys, unique Array or Proc: its items; an index of run.used
	from  int32 // where in run.text it began: Text: the extra key; unique Array or Proc, in a frame: the item; else -1
	stack int32 // index of run.frames
}

// ended is the rule of the element after the last byte.
const ended ID = -1

// Positions in an array or object. In a key of Props, the state is inKey plus the node of
// the trie of keys. After a key of Extra kind e it is afterExtra-e, and a colon follows.
const (
	atStart    int32 = 0 // before the bracket
	atFirst    int32 = 1 // after it
	afterOne   int32 = 2 // after an item or a value
	afterComma int32 = 3
	inKey      int32 = 4
	afterExtra int32 = -1
)

// A frame is the element that a called rule returns to.
type frame struct {
	element          // with the stack of its callers
	cost       int32 // tokens that suffice from here to the end, if costs are known
	openValues int32 // values without a longest text that must still come, if costs are known
	itemFrame  int32 // index of the nearest frame, from here down, that a unique array's item returns to; 0: none
	safe       bool  // that item differs from those before it, however it continues
}

// A usedKey is a quoted extra key of an object, or an item of a unique array as it is
// written, in a linked list.
type usedKey struct {
	key      string
	previous int32 // 0: none
}

// A run holds the frames and keys that elements refer to. Equal frames and keys have the
// same index, so that equal elements are equal as values.
type run struct {
	m     *Machine
	costs *costs // nil: elements are kept whatever they cost

	frames     []frame
	frameIndex map[element]int32
	used       []usedKey
	keyIndex   map[usedKey]int32
	text       []byte   // read so far; element.from is an offset in it
	suffixes   []string // scratch of takenSuffixes
	out        []element
	outSet     map[element]struct{} // the elements of out, if they are many
	work       int                  // elements visited since resetOut
	limit      int                  // of the elements in out
	cheapest   bool                 // on the way of least cost, whose elements are added past the limit
	byte       byte                 // being read
	skipUnique bool                 // the text of an item is unknown: unique items are not compared
	values     map[string]*value    // by text: parsed unique items
	collectAt  int                  // number of frames from which collect removes some
}

const (
	// maxElements bounds the elements of a run, plus elementsPerChoice for each rule of the
	// widest choice, at most maxChoiceElements more. In ambiguous grammars the elements
	// grow with every byte. The ones beyond the bound are dropped: then the run accepts
	// fewer texts than the grammar. Those of the cheapest end are kept, see stepAll.
	maxElements       = 512
	maxChoiceElements = 1 << 16
	elementsPerChoice = 4
	// readElements is how many times as many elements there may be where a text is read and
	// no mask is computed.
	readElements = 16
	// linearElements is the most elements that are searched linearly.
	linearElements = 32
	// maxWork bounds the elements visited for one byte, and maxWalk those for one mask: a
	// tenth of a second.
	maxWork = 1 << 19
	maxWalk = 1 << 21
)

// atLimit reports whether no further element may be added.
func (r *run) atLimit() bool { return !r.cheapest && (len(r.out) >= r.limit || r.work > maxWork) }

func newRun(m *Machine, c *costs) *run {
	r := &run{m: m, costs: c, frameIndex: map[element]int32{}, keyIndex: map[usedKey]int32{}, used: make([]usedKey, 1), collectAt: minCollectFrames, limit: m.maxElements}
	r.frames = append(r.frames, frame{element: element{rule: ended}})
	return r
}

// begin returns the elements before the first byte is read.
func (r *run) begin() []element {
	r.resetOut()
	r.cheapest = r.costs != nil
	r.enter(r.m.start, 0)
	r.cheapest = false
	return slices.Clone(r.out)
}

// resetOut empties out, for the next elements.
func (r *run) resetOut() {
	if len(r.outSet) > 0 {
		clear(r.outSet)
	}
	r.out, r.work = r.out[:0], 0
}

// isNew reports whether e is not in out.
func (r *run) isNew(e element) bool {
	if len(r.out) < linearElements {
		return !slices.Contains(r.out, e)
	}
	if r.outSet == nil {
		r.outSet = map[element]struct{}{}
	}
	if len(r.outSet) == 0 {
		for _, o := range r.out {
			r.outSet[o] = struct{}{}
		}
	}
	if _, ok := r.outSet[e]; ok {
		return false
	}
	r.outSet[e] = struct{}{}
	return true
}

// push returns the index of the frame that returns to e.
func (r *run) push(e element) int32 {
	if i, ok := r.frameIndex[e]; ok {
		return i
	}
	f := frame{element: e}
	if r.costs != nil {
		below := &r.frames[e.stack]
		f.cost = min(never, below.cost+r.costs.costToRuleEnd(r, &e))
		f.openValues = below.openValues + r.costs.openValuesAfter(&e)
	}
	if f.itemFrame = r.frames[e.stack].itemFrame; e.from >= 0 && r.m.rules[e.rule].Text == nil {
		f.itemFrame = int32(len(r.frames))
	}
	r.frames = append(r.frames, f)
	r.frameIndex[e] = int32(len(r.frames) - 1)
	return int32(len(r.frames) - 1)
}

// use returns the list of used keys with key before an existing list.
func (r *run) use(key string, before int32) int32 {
	k := usedKey{key, before}
	if i, ok := r.keyIndex[k]; ok {
		return i
	}
	r.used = append(r.used, k)
	r.keyIndex[k] = int32(len(r.used) - 1)
	return int32(len(r.used) - 1)
}

// forget removes the newest frames and keys, down to the given numbers.
func (r *run) forget(frames, used int) {
	for i := range r.frames[frames:] {
		delete(r.frameIndex, r.frames[frames+i].element)
	}
	for _, k := range r.used[used:] {
		delete(r.keyIndex, k)
	}
	clear(r.used[used:])
	r.frames, r.used = r.frames[:frames], r.used[:used]
}

// add appends e to out unless it is there or out is full.
func (r *run) add(e element) {
	if r.work++; !r.atLimit() && r.isNew(e) {
		r.out = append(r.out, e)
	}
}

// impassable reports whether a rule matches nothing or its end cannot be reached.
func (r *run) impassable(id ID) bool {
	return r.m.dead[id] || r.costs != nil && r.costs.start[id] >= never
}

// enter appends to out the elements at the beginning of a rule that returns to a frame.
func (r *run) enter(id ID, stack int32) {
	if r.work++; r.impassable(id) || r.atLimit() {
		return
	}
	switch u := &r.m.rules[id]; {
	case u.Text != nil:
		r.arrive(element{rule: id, from: -1, stack: stack})
	case u.Array != nil, u.Object != nil:
		r.add(element{rule: id, from: -1, stack: stack})
	case u.Proc != nil:
		r.arrive(element{rule: id, from: -1, stack: stack})
	default:
		first := ID(-1)
		if r.cheapest && len(u.Any) > 0 {
			first = r.costs.cheapestOf(u.Any)
			r.enter(first, stack)
			r.cheapest = false
		}
		for _, one := range u.Any {
			if one != first {
				r.enter(one, stack)
			}
		}
	}
}

// leave appends to out the elements after a rule has returned to a frame.
func (r *run) leave(stack int32) {
	e := r.frames[stack].element
	if e.rule == ended {
		r.add(e)
		return
	}
	if e.from >= 0 && r.m.rules[e.rule].Text == nil && !r.distinct(&e) {
		return
	}
	r.arrive(e)
}

// arrive appends to out the closure of an element that has moved: itself, the beginnings
// of the rules that it calls, and the elements that it returns to.
func (r *run) arrive(e element) {
	switch u := &r.m.rules[e.rule]; {
	case u.Text != nil:
		s := &u.Text.DFA.States[e.state]
		if len(s.Edges) > 0 {
			r.add(e)
		}
		if s.Accept {
			r.leave(e.stack)
		}
	case u.Proc != nil:
		r.arriveProc(u.Proc, e)
	case u.Array != nil:
		r.arriveArray(u.Array, e)
	default:
		r.add(e)
		if e.state == atFirst || e.state == afterComma {
			r.enterExtra(u, e)
		}
	}
}

func (r *run) arriveProc(p *Proc, e element) {
	if r.work++; r.atLimit() || !r.isNew(e) {
		return
	}
	s := &p.States[e.state]
	r.out = append(r.out, e) // even without edges, so that isNew finds it
	if s.Accept {
		r.leave(e.stack)
		r.cheapest = false
	}
	first := -1
	if r.cheapest {
		if first = r.costs.cheapestCall(p, s, &e); first >= 0 {
			r.call(p, &s.Calls[first], e)
		}
		r.cheapest = false
	}
	for i := range s.Calls {
		if i != first {
			r.call(p, &s.Calls[i], e)
		}
	}
}

// call appends to out the closure of a call at an element.
func (r *run) call(p *Proc, c *Call, e element) {
	if e.state = c.Return; p.Unique {
		e.reg, e.from = int32(c.Rule), int32(len(r.text)+1)
	}
	if !r.impassable(c.Rule) {
		r.enter(c.Rule, r.push(e))
	}
}

func (r *run) arriveArray(a *Array, e element) {
	if e.state != afterComma {
		r.add(e)
	}
	if item := a.item(e.reg); e.state != afterOne && item >= 0 && !r.impassable(item) && (a.Max < 0 || int(e.reg) < a.Max) {
		back := e
		back.state, back.reg = afterOne, min(e.reg+1, int32(max(a.Min, a.Max, len(a.Prefix))))
		if a.Unique { // its items are counted one further, to distinguish required items from others
			back.reg, back.from = min(e.reg+1, int32(max(a.Min, a.Max, len(a.Prefix)))+1), int32(len(r.text)+1)
		}
		r.enter(item, r.push(back))
	}
}

// item returns the rule of item i, or -1 if there is none.
func (a *Array) item(i int32) ID {
	if int(i) < len(a.Prefix) {
		return a.Prefix[i]
	}
	return a.Items
}

// enterExtra appends to out the beginnings of the keys of an object's extra members.
func (r *run) enterExtra(u *rule, e element) {
	if !u.object.mayExtra(u.Object, e.reg, e.count) {
		return
	}
	lo, hi := u.Object.Kinds(r.leadCount(u.Object, e.used))
	for i, x := range u.Object.Extra[lo:hi] {
		if r.impassable(x.Key) || r.impassable(x.Value) {
			continue
		}
		i += lo
		back := e
		back.state, back.reg, back.count = afterExtra-int32(i), int32(len(u.Object.Props)), u.Object.countMember(e.count)
		r.add(element{rule: x.Key, from: int32(len(r.text) + 1), stack: r.push(back)})
	}
}

// leadCount returns how many of an object's Lead have their extra member already.
func (r *run) leadCount(o *Object, used int32) (n int) {
	for ; used != 0 && n < len(o.Lead); used = r.used[used].previous {
		n++
	}
	return n
}

// mayEnd reports whether an object may end.
func (r *run) mayEnd(u *rule, e *element) bool {
	return u.object.needs[e.reg] == 0 && int(e.count) >= u.Object.Min && r.leadCount(u.Object, e.used) == len(u.Object.Lead)
}

// countMember returns the number of members after one more, capped where it stops mattering.
func (o *Object) countMember(count int32) int32 { return min(count+1, int32(max(o.Min, o.Max))) }

// mayExtra reports whether an extra member may come next.
func (t *object) mayExtra(o *Object, reg, count int32) bool {
	return len(o.Extra) > 0 && t.needs[reg] == 0 && (o.Max < 0 || int(count) < o.Max)
}

// mayMember reports whether the member i may come next.
func (r *run) mayMember(u *rule, e *element, i int32) bool {
	o, t := u.Object, u.object
	if i < e.reg || i > t.required[e.reg] || r.impassable(o.Props[i].Value) {
		return false
	}
	return o.Max < 0 || int(e.count+1+t.needs[i+1])+len(o.Lead) <= o.Max
}

// mayAny reports whether any of the members at a node of the trie may come next.
func (r *run) mayAny(u *rule, e *element, node int32) bool {
	n := &u.object.nodes[node]
	for _, i := range u.object.order[n.lo:n.hi] {
		if r.mayMember(u, e, i) {
			return true
		}
	}
	return false
}
