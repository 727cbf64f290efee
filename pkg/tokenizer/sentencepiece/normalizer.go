package sentencepiece

import (
	"strings"
	"unicode/utf8"

	"glossa/pkg/tokenizer/internal/charsmap"
	"glossa/pkg/tokenizer/internal/subword"
)

// spaceMark is the spelling of a space in pieces.
const spaceMark = "\u2581"

// normalizer normalizes a text as sentencepiece does.
type normalizer struct {
	charsmap    *charsmap.Map // nil for none
	user        *subword.Trie // user-defined pieces, which stay unchanged; nil for none
	dummyPrefix bool          // a space before the text
	removeExtra bool          // no spaces around the text, and no two within it
	suffix      bool          // the dummy prefix is after the text
	space       string        // the replacement of a space
	raw         bool          // invalid bytes stay; else each becomes U+FFFD
	plain       [256]bool     // ASCII bytes other than space that no rule or user-defined piece begins with
}

// prepare computes plain from the other fields.
func (n *normalizer) prepare() {
	for c := byte('!'); c <= '~'; c++ {
		user, rule := false, false
		if n.user != nil {
			_, user = n.user.Next(0, c)
		}
		if n.charsmap != nil {
			rule = n.charsmap.Begins(c)
		}
		n.plain[c] = !user && !rule
	}
}

// normalize returns the normalized text. It is empty if text has only spaces that are
// removed.
func (n *normalizer) normalize(text string) string {
	for n.removeExtra && text != "" {
		part, length := n.next(text)
		if part != " " {
			break
		}
		text = text[length:]
	}
	if text == "" {
		return ""
	}
	var b strings.Builder
	b.Grow(len(text) + (strings.Count(text, " ")+2)*len(n.space))
	if n.dummyPrefix && !n.suffix {
		b.WriteString(n.space)
	}
	afterSpace := n.removeExtra
	for text != "" {
		length := 0
		for length < len(text) && n.plain[text[length]] {
			length++
		}
		if length > 0 {
			b.WriteString(text[:length])
			text = text[length:]
			afterSpace = false
			continue
		}
		part, length := n.next(text)
		text = text[length:]
		if afterSpace {
			part = strings.TrimLeft(part, " ")
		}
		if part == "" {
			continue
		}
		n.write(&b, part)
		afterSpace = n.removeExtra && part[len(part)-1] == ' '
	}
	result := b.String()
	for n.removeExtra && strings.HasSuffix(result, n.space) {
		result = result[:len(result)-len(n.space)]
	}
	if n.dummyPrefix && n.suffix {
		result += n.space
	}
	return result
}

// write writes part with spaces replaced.
func (n *normalizer) write(b *strings.Builder, part string) {
	for i := range len(part) {
		if part[i] == ' ' {
			b.WriteString(n.space)
		} else {
			b.WriteByte(part[i])
		}
	}
}

// next returns the normalization of the beginning of text, which is not empty, and the
// length of that beginning: a user-defined piece, the longest part with a rule, or a rune.
func (n *normalizer) next(text string) (part string, length int) {
	if n.user != nil {
		if _, length := n.user.Longest(text); length > 0 {
			return text[:length], length
		}
	}
	if n.charsmap != nil {
		if length, by := n.charsmap.Match(text, true); length > 0 {
			return by, length
		}
	}
	if text[0] < utf8.RuneSelf {
		return text[:1], 1
	}
	r, length := utf8.DecodeRuneInString(text)
	if r == utf8.RuneError && length == 1 && !n.raw {
		return "\uFFFD", 1
	}
	return text[:length], length
}
