package tokenizer

import "slices"

const (
	tailText  = 1 << 16 // bytes of a text that is always encoded from its beginning
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
