package tokenizer

import (
	"slices"
	"unicode/utf8"
)

// tailer is a capability of an [encoder]: it can begin in the middle of a text.
type tailer interface {
	// place returns the last place at or before at from which a text may be encoded by
	// itself: its tokens are the last ones of the whole text, all but the first. If there
	// is none near, it is the rune at at. ok is false if there are none at all.
	place(text string, at int, special bool) (from int, ok bool)
}

const (
	tailText  = 1 << 16 // bytes of a text that is always encoded from its beginning
	tailReach = 1 << 20 // bytes in which a place is looked for
	headText  = 1 << 12 // bytes that the first tokens are found in
)

// tail returns the end of a text of which only the last tokens are kept: twice as many and
// more, so that where it begins does not show.
func (c *Collector) tail(e encoder, text string, special bool) string {
	t, ok := e.(tailer)
	if !ok || c.Keep <= 0 || c.Max > 0 || len(text) <= tailText {
		return text
	}
	n := tailText / 2
	for {
		if n *= 2; n >= len(text) {
			return text
		}
		if weight, per := e.weigh(text[len(text)-n:], special); per <= 0 {
			return text
		} else if weight/per/2 > c.Keep {
			break
		}
	}
	from, ok := t.place(text, len(text)-n, special)
	if !ok || from == 0 {
		return text
	}
	c.skip(e, text[:from], special)
	return text[from:]
}

// skip counts what is not encoded, but for the first tokens.
func (c *Collector) skip(e encoder, text string, special bool) {
	o := &c.out
	if len(o.head) < maxHead {
		begin := text[:runeAt(text, min(len(text), headText))]
		first := slices.Concat(o.head, o.ids[:min(len(o.ids), maxHead)], encodeAll(e, begin, special))
		o.head = append([]int{}, first[:min(len(first), maxHead)]...) // not nil
	}
	if weight, per := e.weigh(text, special); per > 0 {
		o.dropped += weight / per
	}
}

// runeAt is where the rune begins that the byte at at belongs to.
func runeAt(text string, at int) int {
	for i := at; i > at-utf8.UTFMax && i > 0 && i < len(text); i-- {
		if utf8.RuneStart(text[i]) {
			return i
		}
	}
	return at
}

// lastPlace is the last place at or before at for which is holds, which sees a place
// between two bytes of text, and otherwise the rune at at.
func lastPlace(text string, at int, is func(i int) bool) int {
	for i := at; i > max(0, at-tailReach); i-- {
		if is(i) {
			return i
		}
	}
	return runeAt(text, at)
}

// place implements tailer: characters are tokens.
func (t *charTokenizer) place(text string, at int, special bool) (from int, ok bool) {
	return runeAt(text, at), !special || len(t.special) == 0
}

// place implements tailer: no token has both of the characters around it next to each
// other. Where it is the rune at at, and where a heap orders equal ranks, what becomes of
// a run of the same characters may differ from what it becomes in the whole text.
func (t *bpeTokenizer) place(text string, at int, special bool) (from int, ok bool) {
	return lastPlace(text, at, func(i int) bool {
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i:])
		left, right := t.chars.id(before), t.chars.id(after)
		return utf8.RuneStart(text[i]) && left >= 0 && right >= 0 && t.inner.get(left, right).rank == never
	}), !special || len(t.special) == 0
}

// setInner notes which characters stand next to each other in a token.
func (t *bpeTokenizer) setInner(merges [][2]int32) {
	base := len(t.pieces) - len(merges)
	t.inner = newPairTable(len(merges))
	ends := make([][2]int32, base, len(t.pieces)) // by id: the first and the last character
	for id := range ends {
		ends[id] = [2]int32{int32(id), int32(id)}
	}
	for _, m := range merges {
		left, right := ends[m[0]], ends[m[1]]
		t.inner.put(pairKey(left[1], right[0]), merged{})
		ends = append(ends, [2]int32{left[0], right[1]})
	}
}

// place implements tailer: all patterns that have scanners cut between a letter or digit
// and a space with a letter after it.
func (t *pipeline) place(text string, at int, special bool) (from int, ok bool) {
	ordinary := t.raw.ordinary || t.normalized.ordinary
	tokens := len(t.raw.tokens)+len(t.normalized.tokens) > 0
	if t.normalize != nil || len(t.steps) != 1 || t.steps[0].split == nil || ordinary || special && tokens {
		return 0, false
	}
	return lastPlace(text, at, func(i int) bool { return isWordStart(text, i) }), true
}

// place implements tailer: words are cut alone. What stands before the first is of no
// consequence to the others.
func (t *sentencePiece) place(text string, at int, special bool) (from int, ok bool) {
	m, bpe := t.model.(*scoredBPE)
	n := &t.normalizer
	if !bpe || !m.words || n.user != nil || n.charsmap != nil || n.space != spaceMark || special && len(t.special) > 0 {
		return 0, false
	}
	return lastPlace(text, at, func(i int) bool { return isWordStart(text, i) }), true
}

// isWordStart tells whether an ASCII letter or digit, a space and an ASCII letter stand
// around i in this order.
func isWordStart(text string, i int) bool {
	if i == 0 || i+1 >= len(text) || text[i] != ' ' {
		return false
	}
	before, after := ascii[text[i-1]], ascii[text[i+1]]
	return (before == letter || before == number) && after == letter
}
