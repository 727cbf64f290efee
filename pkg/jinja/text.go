package jinja

import (
	"sort"
	"strings"
	"unicode/utf8"
)

// A text is a string whose bytes each are trusted, that is from the template, or not.
type text struct {
	s       string
	trusted bool  // provenance of the first byte
	cuts    []int // offsets at which the provenance changes: increasing, in (0, len(s))
}

func trusted(s string) text   { return text{s: s, trusted: true} }
func untrusted(s string) text { return text{s: s} }

// at returns the provenance of the byte at i, or of the first byte if i is outside.
func (t text) at(i int) bool {
	if len(t.cuts) == 0 {
		return t.trusted
	}
	n := sort.SearchInts(t.cuts, i+1) // cuts <= i
	return t.trusted != (n%2 == 1)
}

// wholly reports whether all bytes of [from, to) are trusted.
func (t text) wholly(from, to int) bool {
	if len(t.cuts) == 0 {
		return t.trusted
	}
	part := t.slice(from, to)
	return part.trusted && len(part.cuts) == 0
}

// slice returns the bytes [from, to).
func (t text) slice(from, to int) text {
	if from >= to {
		return text{trusted: true}
	}
	if len(t.cuts) == 0 {
		return text{s: t.s[from:to], trusted: t.trusted}
	}
	part := text{s: t.s[from:to], trusted: t.at(from)}
	first := sort.SearchInts(t.cuts, from+1)
	last := sort.SearchInts(t.cuts, to)
	if first < last {
		part.cuts = make([]int, 0, last-first)
		for _, c := range t.cuts[first:last] {
			part.cuts = append(part.cuts, c-from)
		}
	}
	return part
}

// spans calls f for each run of bytes with one provenance.
func (t text) spans(f func(s string, trusted bool)) {
	from, kind := 0, t.trusted
	for _, c := range t.cuts {
		f(t.s[from:c], kind)
		from, kind = c, !kind
	}
	if from < len(t.s) {
		f(t.s[from:], kind)
	}
}

// mapped returns the text with f applied to each run of bytes with one provenance.
func (t text) mapped(f func(string) string) text {
	if len(t.cuts) == 0 {
		return text{s: f(t.s), trusted: t.trusted}
	}
	var b builder
	t.spans(func(s string, trusted bool) { b.write(f(s), trusted) })
	return b.text()
}

// within returns sub, which must be a part of t.s that begins at from, as a text.
func (t text) within(sub string, from int) text { return t.slice(from, from+len(sub)) }

// trim returns t without the characters at its ends that cut reports.
func (t text) trim(cut func(rune) bool, left, right bool) text {
	s, from := t.s, 0
	if left {
		s = strings.TrimLeftFunc(s, cut)
		from = len(t.s) - len(s)
	}
	if right {
		s = strings.TrimRightFunc(s, cut)
	}
	return t.within(s, from)
}

// A builder concatenates texts.
type builder struct {
	buf   []byte
	first bool
	last  bool
	cuts  []int
}

func (b *builder) write(s string, trusted bool) {
	if s == "" {
		return
	}
	if len(b.buf) == 0 {
		b.first = trusted
	} else if b.last != trusted {
		b.cuts = append(b.cuts, len(b.buf))
	}
	b.last = trusted
	b.buf = append(b.buf, s...)
}

func (b *builder) writeText(t text) {
	if len(t.cuts) == 0 {
		b.write(t.s, t.trusted)
		return
	}
	t.spans(b.write)
}

func (b *builder) text() text {
	if len(b.buf) == 0 {
		return text{trusted: true}
	}
	return text{s: string(b.buf), trusted: b.first, cuts: b.cuts}
}

// isSpace is Python's str.isspace for one character: Go's and the four separators of ASCII.
func isSpace(r rune) bool {
	switch r {
	case ' ', '\t', '\n', '\v', '\f', '\r', 0x1c, 0x1d, 0x1e, 0x1f, 0x85, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000:
		return true
	}
	return r >= 0x2000 && r <= 0x200a
}

// isASCII reports whether each byte of s is a character.
func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// offsets returns the byte offset of each character of s and of its end, or nil if s is ASCII.
func offsets(s string) []int {
	if isASCII(s) {
		return nil
	}
	at := make([]int, 0, len(s)+1)
	for i := range s {
		at = append(at, i)
	}
	return append(at, len(s))
}
