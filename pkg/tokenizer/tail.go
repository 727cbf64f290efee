package tokenizer

import (
	"slices"

	"glossa/pkg/tokenizer/internal/encode"
)

const (
	tailText = 1 << 16 // bytes of a text that is always encoded from its beginning
	headText = 1 << 12 // bytes that the first tokens are found in
)

// tail returns the end of a text of which only the last tokens are kept: twice as many and
// more, so that where it begins does not show.
func (c *Collector) tail(e encode.Encoder, text string, special bool) string {
	t, ok := e.(encode.Tailer)
	if !ok || c.Keep <= 0 || c.Max > 0 || len(text) <= tailText {
		return text
	}
	n := tailText / 2
	for {
		if n *= 2; n >= len(text) {
			return text
		}
		if weight, per := e.Weigh(text[len(text)-n:], special); per <= 0 {
			return text
		} else if weight/per/2 > c.Keep {
			break
		}
	}
	from, ok := t.Place(text, len(text)-n, special)
	if !ok || from == 0 {
		return text
	}
	c.skip(e, text[:from], special)
	return text[from:]
}

// skip counts what is not encoded, but for the first tokens.
func (c *Collector) skip(e encode.Encoder, text string, special bool) {
	o := &c.out
	if len(o.Head) < encode.MaxHead {
		begin := text[:encode.RuneAt(text, min(len(text), headText))]
		first := slices.Concat(o.Head, o.IDs[:min(len(o.IDs), encode.MaxHead)], encode.All(e, begin, special))
		o.Head = append([]int{}, first[:min(len(first), encode.MaxHead)]...) // not nil
	}
	if weight, per := e.Weigh(text, special); per > 0 {
		o.Dropped += weight / per
	}
}
