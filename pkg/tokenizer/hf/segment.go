package hf

import (
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"glossa/pkg/tokenizer/internal/bpe"
	"glossa/pkg/tokenizer/internal/pretoken"
)

// segment is a piece of text during pre-tokenization.
type segment struct {
	text string
	head int // bytes at the beginning of text that are of the whole text's first character
}

// part returns the segment of the bytes [from, to) of s.
func (s segment) part(from, to int) segment {
	return segment{s.text[from:to], min(max(s.head-from, 0), to-from)}
}

// prepend puts text before s. As in the reference, it belongs to the character after it.
func (s segment) prepend(text string) segment {
	if s.head > 0 {
		s.head += len(text)
	}
	s.text = text + s.text
	return s
}

// preStep is a pre-tokenizer. It cuts each segment further and may rewrite it.
type preStep struct {
	split pretoken.Splitter                   // cuts without rewriting; may be nil
	on    func(text string) pretoken.Splitter // split for one text, in linear time; nil: split
	// cut yields the segments of a segment until yield returns false, and returns the last
	// result of yield.
	cut func(s segment, yield func(segment) bool) bool
	// keeps is true if no part of a text is omitted or becomes shorter.
	keeps bool
	first bool // it treats the segment with the first character in another way
}

// cutSteps applies the steps one after another to a segment and yields the results.
// Segments are not empty.
func cutSteps(steps []preStep, s segment, yield func(segment) bool) {
	for _, step := range slices.Backward(steps) {
		next := yield
		yield = func(s segment) bool { return step.apply(s, next) }
	}
	yield(s)
}

func (step *preStep) apply(s segment, yield func(segment) bool) bool {
	if step.split == nil {
		return step.cut(s, yield)
	}
	split := step.splitter(s.text)
	for i := 0; i < len(s.text); {
		end := split(s.text, i)
		if !yield(s.part(i, end)) {
			return false
		}
		i = end
	}
	return true
}

// splitter returns the splitter for a text.
func (step *preStep) splitter(text string) pretoken.Splitter {
	if step.on != nil {
		return step.on(text)
	}
	return step.split
}

// matcher finds the first match in text at from or later. A match is not empty; start is -1
// if there is none.
type matcher func(text string, from int) (start, end int)

// matchString finds s, which is not empty.
func matchString(s string) matcher {
	return func(text string, from int) (start, end int) {
		i := strings.Index(text[from:], s)
		if i < 0 {
			return -1, -1
		}
		return from + i, from + i + len(s)
	}
}

// matchRune finds each rune for which is returns true; invalid bytes are U+FFFD.
func matchRune(is func(rune) bool) matcher {
	return func(text string, from int) (start, end int) {
		for i, r := range text[from:] {
			if is(r) {
				_, n := utf8.DecodeRuneInString(text[from+i:])
				return from + i, from + i + n
			}
		}
		return -1, -1
	}
}

// matchSplitter finds the pieces of a splitter; together they cover every text.
func matchSplitter(split pretoken.Splitter) matcher {
	return func(text string, from int) (start, end int) {
		if from == len(text) {
			return -1, -1
		}
		return from, split(text, from)
	}
}

// replaceAll replaces each match by content.
func (find matcher) replaceAll(text, content string) string {
	var b strings.Builder
	i := 0
	for {
		start, end := find(text, i)
		if start < 0 {
			break
		}
		if i == 0 {
			b.Grow(len(text) + len(content))
		}
		b.WriteString(text[i:start])
		b.WriteString(content)
		i = end
	}
	if i == 0 {
		return text
	}
	b.WriteString(text[i:])
	return b.String()
}

// replacedHead returns how many bytes of the result of replaceAll are of the first n bytes of text:
// a replacement belongs to the last character that it replaces, as in the reference.
func (find matcher) replacedHead(text, content string, n int) (head int) {
	for i := 0; i < n; {
		start, end := find(text, i)
		if start < 0 || start >= n {
			return head + n - i
		}
		if head += start - i; end <= n {
			head += len(content)
		}
		i = end
	}
	return head
}

// behavior is the treatment of matches, as tokenizer.json spells it.
type behavior string

const (
	removed            behavior = "Removed"
	isolated           behavior = "Isolated"
	contiguous         behavior = "Contiguous" // adjacent matches are one segment
	mergedWithPrevious behavior = "MergedWithPrevious"
	mergedWithNext     behavior = "MergedWithNext"
)

// span is a part of a text: a match, or the text between two matches.
type span struct {
	start, end int
	match      bool
}

// spans cuts text at its matches. With invert, the text between them counts as matching.
func (find matcher) spans(text string, invert bool) iter.Seq[span] {
	return func(yield func(span) bool) {
		i := 0
		for i < len(text) {
			start, end := find(text, i)
			if start < 0 {
				break
			}
			if i < start && !yield(span{i, start, invert}) || !yield(span{start, end, !invert}) {
				return
			}
			i = end
		}
		if i < len(text) {
			yield(span{i, len(text), invert})
		}
	}
}

// joins reports whether s belongs to the span before it. A match joins a neighbour that is
// not a match.
func (b behavior) joins(before, s span) bool {
	switch b {
	case mergedWithPrevious:
		return s.match && !before.match
	case mergedWithNext:
		return !s.match && before.match
	}
	return false
}

// cutAt returns the step that cuts at matches.
func cutAt(find matcher, b behavior, invert bool) preStep {
	if b == isolated {
		return preStep{keeps: true, cut: find.isolate}
	}
	if b == contiguous {
		return preStep{keeps: true, cut: find.runs().isolate}
	}
	return preStep{keeps: b != removed, cut: func(s segment, yield func(segment) bool) bool {
		put := func(p span) bool {
			return p.start == p.end || yield(s.part(p.start, p.end))
		}
		var held span // the span that the next one may join; empty at first
		for p := range find.spans(s.text, invert) {
			switch {
			case b == removed && p.match:
			case held.end > 0 && b.joins(held, p):
				held.end, held.match = p.end, p.match
			default:
				if !put(held) {
					return false
				}
				held = p
			}
		}
		return put(held)
	}}
}

// runs finds the longest sequences of adjacent matches.
func (find matcher) runs() matcher {
	return func(text string, from int) (start, end int) {
		start, end = find(text, from)
		for start >= 0 && end < len(text) {
			next, after := find(text, end)
			if next != end {
				break
			}
			end = after
		}
		return start, end
	}
}

// isolate cuts s before and after each match. It is cutAt without memory for the usual case.
func (find matcher) isolate(s segment, yield func(segment) bool) bool {
	for i := 0; i < len(s.text); {
		start, end := find(s.text, i)
		if start < 0 {
			start, end = len(s.text), len(s.text)
		}
		if i < start && !yield(s.part(i, start)) {
			return false
		}
		if start < end && !yield(s.part(start, end)) {
			return false
		}
		i = end
	}
	return true
}

// words matches \w+|[^\w\s]+, for the pre-tokenizer Whitespace.
func words(text string, from int) (start, end int) {
	kind := func(r rune) int {
		switch {
		case isWord(r):
			return 1
		case unicode.IsSpace(r):
			return 0
		}
		return 2
	}
	start = -1
	run := 0 // the kind of the current run
	for i, r := range text[from:] {
		switch k := kind(r); {
		case start < 0 && k != 0:
			start, run = from+i, k
		case start >= 0 && k != run:
			return start, from + i
		}
	}
	return start, len(text)
}

// isPunctuation reports whether r is punctuation of ASCII or Unicode, as the reference has
// it.
func isPunctuation(r rune) bool {
	return '!' <= r && r <= '/' || ':' <= r && r <= '@' || '[' <= r && r <= '`' || '{' <= r && r <= '~' || unicode.IsPunct(r)
}

// prefixSpace puts a space before a segment that begins without one.
var prefixSpace = preStep{keeps: true, cut: func(s segment, yield func(segment) bool) bool {
	if s.text[0] != ' ' {
		s = s.prepend(" ")
	}
	return yield(s)
}}

// spellBytes spells a segment in GPT-2's byte alphabet.
var spellBytes = preStep{keeps: true, cut: func(s segment, yield func(segment) bool) bool {
	return yield(segment{bpe.Spell(s.text), len(bpe.Spell(s.text[:s.head]))})
}}

// metaspace replaces spaces, puts a replacement before the text by its scheme (always,
// first, never), and cuts before each replacement if split is set.
func metaspace(replacement, scheme string, split bool) preStep {
	mark := func(text string) string { return strings.ReplaceAll(text, " ", replacement) }
	return preStep{keeps: true, first: scheme == "first", cut: func(s segment, yield func(segment) bool) bool {
		s = segment{mark(s.text), len(mark(s.text[:s.head]))}
		if (scheme == "always" || scheme == "first" && s.head > 0) && !strings.HasPrefix(s.text, replacement) {
			s = s.prepend(replacement)
		}
		i := 0
		for split {
			next := strings.Index(s.text[i+1:], replacement)
			if next < 0 {
				break
			}
			if !yield(s.part(i, i+1+next)) {
				return false
			}
			i += 1 + next
		}
		return yield(s.part(i, len(s.text)))
	}}
}
