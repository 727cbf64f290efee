package sentencepiece

import (
	"slices"
	"strings"
	"unicode/utf8"

	"glossa/pkg/tokenizer/internal/charsmap"
	"glossa/pkg/tokenizer/internal/encode"
	"glossa/pkg/tokenizer/internal/subword"
)

// spaceMark is the spelling of a space in pieces.
const spaceMark = "\u2581"

// normalizer normalizes a text as sentencepiece does.
type normalizer struct {
	charsmap    *charsmap.Map // nil for none
	user        *subword.Trie // user-defined pieces, which stay unchanged; nil for none
	marks       []bool        // by id: a user-defined piece that may be a mark of a template
	dummyPrefix bool          // a space before the text
	removeExtra bool          // no spaces around the text, and no two within it
	suffix      bool          // the dummy prefix is after the text
	space       string        // the replacement of a space
	blank       bool          // a text of spaces only has no dummy prefix
	raw         bool          // invalid bytes stay; else each becomes U+FFFD
	markIsText  bool          // removeExtra keeps U+2581 at the end of a text
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

// parts returns the normalized text, and which user-defined pieces are not read in it: those
// that may be marks and are not all trusted. In a plain text all are read.
func (n *normalizer) parts(text string, reads encode.Reads) (string, subword.Refuse) {
	if !slices.Contains(n.marks, true) || reads.Plain() || reads.At(0, len(text)) {
		return n.normalize(text, nil, nil), nil
	}
	var trust encode.ReadsBuilder
	before := n.refuse(reads)
	text = n.normalize(text, before, func(start, end, size int) { trust.Add(size, reads.At(start, end)) })
	return text, n.refuse(trust.Reads())
}

func (n *normalizer) refuse(reads encode.Reads) subword.Refuse {
	return func(id, from, to int) bool { return n.marks[id] && !reads.At(from, to) }
}

// normalize returns the normalized text. It is empty if text has only spaces that are
// removed. If moved is not nil, it is called in order with the places of text and the number
// of bytes that each becomes.
func (n *normalizer) normalize(text string, refuse subword.Refuse, moved func(start, end, size int)) string {
	at := 0
	for n.removeExtra && at < len(text) {
		part, length := n.next(text, at, refuse)
		if part != " " {
			break
		}
		at += length
	}
	if at == len(text) {
		return ""
	}
	var b strings.Builder
	b.Grow(len(text) + (strings.Count(text, " ")+2)*len(n.space))
	if n.dummyPrefix && !n.suffix {
		b.WriteString(n.space)
	}
	if moved != nil {
		moved(0, 0, b.Len())
	}
	afterSpace, blank, kept := n.removeExtra, n.blank, 0
	for at < len(text) {
		length := 0
		for at+length < len(text) && n.plain[text[at+length]] && (moved == nil || length == 0) {
			length++
		}
		part := text[at : at+length]
		if length == 0 {
			part, length = n.next(text, at, refuse)
			if afterSpace {
				part = strings.TrimLeft(part, " ")
			}
		}
		before := b.Len()
		blank = blank && strings.Trim(part, " ") == ""
		if part != "" {
			n.write(&b, part)
			if words := strings.TrimRight(part, " "); n.markIsText && words != "" {
				kept = b.Len() - (len(part)-len(words))*len(n.space)
			}
			afterSpace = n.removeExtra && part[len(part)-1] == ' '
		}
		if moved != nil {
			moved(at, at+length, b.Len()-before)
		}
		at += length
	}
	result := b.String()
	if blank {
		result = strings.TrimPrefix(result, n.space)
	}
	for n.removeExtra && len(result) > kept && strings.HasSuffix(result, n.space) {
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

// next returns the normalization of text at a position, which is not its end, and the length
// of what it normalizes: a user-defined piece, the longest part with a rule, or a rune.
func (n *normalizer) next(text string, at int, refuse subword.Refuse) (part string, length int) {
	if n.user != nil {
		if _, length := n.user.LongestBut(text, at, refuse); length > 0 {
			return text[at : at+length], length
		}
	}
	text = text[at:]
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
