package pushdown

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"glossa/pkg/grammar/automaton"
)

// A Constraint is a machine bound to a vocabulary. It is safe for concurrent use.
type Constraint struct {
	m     *Machine
	v     *Vocabulary
	costs *costs
}

// Bind computes how many tokens of v each state of m needs to end. If the tokens cannot
// spell any text of m, even with escapes if it is JSON, the error names the first missing character. If the shortest text of m
// needs keys or unique items that are too long to be found, the error says so.
func Bind(m *Machine, v *Vocabulary) (*Constraint, error) { return BindWithin(nil, m, v) }

// BindWithin is [Bind] within a budget.
func BindWithin(budget *automaton.Budget, m *Machine, v *Vocabulary) (*Constraint, error) {
	m, err := m.escapedFor(budget, v)
	if err != nil {
		return nil, err
	}
	costs, err := newCosts(budget, m, v)
	if err != nil {
		return nil, err
	}
	c := &Constraint{m: m, v: v, costs: costs}
	if c.Min() >= int(never) {
		return nil, c.unspelled(budget)
	}
	return c, nil
}

// Min returns how many tokens suffice for the shortest text.
func (c *Constraint) Min() int { return int(c.costs.start[c.m.start]) }

// unspelled returns an error with the first character of a shortest text that no token
// contains.
func (c *Constraint) unspelled(budget *automaton.Budget) error {
	text, err := c.m.shortestText(budget)
	if err != nil {
		return err
	}
	for _, r := range text {
		for _, b := range []byte(string(r)) {
			if !c.v.inToken[b] {
				return fmt.Errorf("no token of the model has the character %q", r)
			}
		}
	}
	return fmt.Errorf("the model's tokens cannot spell %.40q", text)
}

// shortestText returns a shortest text of m.
func (m *Machine) shortestText(budget *automaton.Budget) (string, error) {
	v := everyByte()
	costs, err := newCosts(budget, m, v)
	if err != nil {
		return "", err
	}
	c := &Constraint{m: m, v: v, costs: costs}
	if c.Min() >= int(never) { // the search for free keys and unique items is bounded
		return "", errors.New("names of members that the schema does not list, or unique items, are too long")
	}
	return c.Start().end()
}

// end takes tokens of least cost until the text is complete, and returns the text.
func (m *Matcher) end() (string, error) {
	for !m.Accepts() {
		mask := m.Mask(m.Cost())
		token := slices.IndexFunc(mask.Bits, func(w uint64) bool { return w != 0 })
		if token < 0 {
			return "", fmt.Errorf("no end after %.40q", m.run.text)
		}
		m.Take(token*64 + lowest(mask.Bits[token]))
	}
	return string(m.run.text), nil
}

// A Matcher follows one text through a constraint, token by token. It is not safe for
// concurrent use.
type Matcher struct {
	c     *Constraint
	run   *run
	now   []element
	cost  int32
	taken int  // tokens
	free  bool // the last token was content of a string

	share      share
	mask       Mask
	over       []uint64    // tokens that the budget excludes, if cut
	cut, stale bool        // stale: the mask is from the last call
	depths     []trieDepth // stack of the walk through the trie
	others     []element   // scratch of fill
	keyScratch []uint64    // scratch of fillKey
	walkWork   int         // elements visited for this mask
	walk       []element
	spare      []element
}

// Start returns a matcher before the first token.
func (c *Constraint) Start() *Matcher {
	m := &Matcher{c: c, run: newRun(c.m, c.costs)}
	m.run.frames[0].cost = 0
	m.now = slices.DeleteFunc(m.run.begin(), func(e element) bool { return m.idle(&e) || c.costs.elementCost(m.run, &e) >= never })
	m.now, m.cost = c.costs.order(m.run, m.now)
	return m
}

// Cost returns how many tokens suffice to end from here.
func (m *Matcher) Cost() int { return int(m.cost) }

// Accepts reports whether the text may end here.
func (m *Matcher) Accepts() bool { return accepts(m.now) }

// Complete reports whether nothing may follow.
func (m *Matcher) Complete() bool {
	return !slices.ContainsFunc(m.now, func(e element) bool { return e.rule != ended })
}

// Free reports whether the last token taken was entirely content of a string.
func (m *Matcher) Free() bool { return m.free }

// Text returns the text so far. It is valid until the next call.
func (m *Matcher) Text() []byte { return m.run.text }

// Take reads a token. It returns false, and changes nothing, if the grammar does not allow
// the token here.
func (m *Matcher) Take(token int) bool {
	if token < 0 || token >= len(m.c.v.tokens) || m.c.v.tokens[token] == "" {
		return false
	}
	m.run.markSafe(m.now)
	text := m.c.v.tokens[token]
	before, length, frames, used := m.now, len(m.run.text), len(m.run.frames), len(m.run.used)
	was, inside := m.inContent(m.now)
	stayed := inside // in that string, with every byte
	now := m.now
	for i := range len(text) {
		if now = m.move(now, text[i], i+1 == len(text)); len(now) == 0 {
			m.run.text = m.run.text[:length]
			m.run.forget(frames, used)
			m.now = before
			return false
		}
		if is, ok := m.inContent(now); !ok || is != was {
			stayed = false
		}
	}
	now, m.cost = m.c.costs.order(m.run, now)
	m.now = slices.Clone(now)
	if moved := m.run.collect(m.now); moved != nil {
		m.share.of.stack = moved[m.share.of.stack]
	}
	m.taken++
	m.free, m.share.active = stayed, m.share.active && stayed
	return true
}

// move reads a byte and returns the elements after it; after the last byte, only those
// that can still end. The result is valid until the second call after this one.
func (m *Matcher) move(from []element, b byte, last bool) []element {
	r := m.run
	r.limit = readElements * m.c.m.maxElements
	r.stepAll(from, b)
	r.limit = m.c.m.maxElements
	r.text = append(r.text, b)
	m.walk, m.spare = m.spare, append(m.walk[:0], r.out...)
	m.spare = slices.DeleteFunc(m.spare, func(e element) bool { return last && (m.idle(&e) || m.c.costs.elementCost(r, &e) >= never) })
	return m.spare
}

// idle reports whether an element cannot read a byte and is not the end.
func (m *Matcher) idle(e *element) bool {
	return e.rule != ended && m.c.m.rules[e.rule].Proc != nil && len(m.c.m.rules[e.rule].Proc.States[e.state].Edges) == 0
}

// inContent returns the value without a longest text that is being written, if there is
// only one element and it is in the value's content.
func (m *Matcher) inContent(now []element) (of element, ok bool) {
	if len(now) != 1 || now[0].rule == ended {
		return of, false
	}
	u := &m.c.m.rules[now[0].rule]
	if u.Text == nil || !u.unbounded || now[0].state == 0 {
		return of, false
	}
	return element{rule: now[0].rule, stack: now[0].stack}, true
}

// Forced returns the text that must come next, or "" if there is a choice. It stops where
// the whole text may end.
func (m *Matcher) Forced() string {
	r, now, length := m.run, m.now, len(m.run.text)
	defer func() { r.text = r.text[:length] }()
	defer r.forget(len(r.frames), len(r.used))
	for len(r.text)-length < maxForced && !accepts(now) {
		b, ok := m.onlyByte(now)
		if !ok {
			break
		}
		if now = m.move(now, b, true); len(now) == 0 {
			r.text = r.text[:len(r.text)-1]
			break
		}
	}
	forced := r.text[length:]
	for n := 0; n < utf8.UTFMax && len(forced) > 0; n++ { // whole runes
		if last, size := utf8.DecodeLastRune(forced); last != utf8.RuneError || size > 1 {
			break
		}
		forced = forced[:len(forced)-1]
	}
	return string(forced)
}

// maxForced bounds the bytes of a forced text.
const maxForced = 1 << 12

// onlyByte returns the one byte that may come next, if there is exactly one.
func (m *Matcher) onlyByte(now []element) (b byte, ok bool) {
	first := m.run.nextBytes(now)
	if n := count(first[:]); n != 1 {
		return 0, false
	}
	for i, w := range first {
		if w != 0 {
			b = byte(i*64 + lowest(w))
		}
	}
	return b, true
}
