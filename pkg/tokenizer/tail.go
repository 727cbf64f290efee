package tokenizer

import (
	"slices"

	"glossa/pkg/tokenizer/internal/encode"
)

const (
	tailText = 1 << 16 // bytes; a shorter text is always encoded from its beginning
	headText = 1 << 12 // bytes in which the first tokens are found
)

// tail returns the part of a text to encode if only the last tokens are kept. It has more
// than twice as many tokens, so that its start does not affect those that are kept.
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

// skip counts the text that is not encoded, and keeps its first tokens.
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
