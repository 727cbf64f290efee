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

// segment is a piece of text on its way to the model.
type segment struct {
	text  string
	first bool // begins where the whole text does
}

// preStep is a pre-tokenizer: it cuts each segment further, and may rewrite it.
type preStep struct {
	split pretoken.Splitter // that cuts and does nothing else, or nil
	// cut yields what a segment becomes, until yield returns false, and returns what that
	// returned.
	cut func(s segment, yield func(segment) bool) bool
	// keeps tells that no part of a text is left out or becomes shorter.
	keeps bool
}

// cutSteps yields what the steps, one after the other, make of a segment. Segments are
// not empty.
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
	for i := 0; i < len(s.text); {
		end := step.split(s.text, i)
		if !yield(segment{s.text[i:end], s.first && i == 0}) {
			return false
		}
		i = end
	}
	return true
}

// matcher finds the first match in text that begins at from or after, which is not
// empty; start is -1 if there is none.
type matcher func(text string, from int) (start, end int)

// matchString finds what is not empty.
func matchString(s string) matcher {
	return func(text string, from int) (start, end int) {
		i := strings.Index(text[from:], s)
		if i < 0 {
			return -1, -1
		}
		return from + i, from + i + len(s)
	}
}

// matchRune finds each rune for which is holds; bytes that are no rune are U+FFFD.
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

// matchSplitter finds the pieces of a splitter, which cover every text.
func matchSplitter(split pretoken.Splitter) matcher {
	return func(text string, from int) (start, end int) {
		if from == len(text) {
			return -1, -1
		}
		return from, split(text, from)
	}
}

// replaceAll puts content for each match.
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

// behavior says what becomes of matches, in tokenizer.json's words.
type behavior string

const (
	removed            behavior = "Removed"
	isolated           behavior = "Isolated"
	contiguous         behavior = "Contiguous" // adjacent matches are one segment
	mergedWithPrevious behavior = "MergedWithPrevious"
	mergedWithNext     behavior = "MergedWithNext"
)

// span is a part of a text: a match, or what is between two.
type span struct {
	start, end int
	match      bool
}

// spans cuts text at its matches; with invert, what is between them matches.
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

// joins tells whether a span is one with the span before it. A match is merged with its
// neighbour unless that neighbour's own match stands between.
func (b behavior) joins(before, s span) bool {
	switch b {
	case contiguous:
		return s.match == before.match
	case mergedWithPrevious:
		return s.match && !before.match
	case mergedWithNext:
		return !s.match && before.match
	}
	return false
}

// cutAt is the step that cuts at matches.
func cutAt(find matcher, b behavior, invert bool) preStep {
	return preStep{keeps: b != removed, cut: func(s segment, yield func(segment) bool) bool {
		put := func(p span) bool {
			return p.start == p.end || yield(segment{s.text[p.start:p.end], s.first && p.start == 0})
		}
		var held span // what the next span may be joined to; empty at first
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

// words is pre-tokenizer Whitespace: \w+|[^\w\s]+ is kept.
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
	run := 0 // the kind of what has begun
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

// isPunctuation is that of Rust's crates: ASCII's or Unicode's.
func isPunctuation(r rune) bool {
	return '!' <= r && r <= '/' || ':' <= r && r <= '@' || '[' <= r && r <= '`' || '{' <= r && r <= '~' || unicode.IsPunct(r)
}

// prefixSpace puts a space before a segment that begins without one.
var prefixSpace = preStep{keeps: true, cut: func(s segment, yield func(segment) bool) bool {
	if s.text[0] != ' ' {
		s.text = " " + s.text
	}
	return yield(s)
}}

// spellBytes spells a segment in GPT-2's byte alphabet.
var spellBytes = preStep{keeps: true, cut: func(s segment, yield func(segment) bool) bool {
	return yield(segment{bpe.Spell(s.text), s.first})
}}

// metaspace writes spaces as the replacement, puts one before the text by its
// scheme (always, first, never), and cuts before each if split is set.
func metaspace(replacement, scheme string, split bool) preStep {
	return preStep{keeps: true, cut: func(s segment, yield func(segment) bool) bool {
		text := strings.ReplaceAll(s.text, " ", replacement)
		if (scheme == "always" || scheme == "first" && s.first) && !strings.HasPrefix(text, replacement) {
			text = replacement + text
		}
		for i := 0; split && i < len(text); {
			next := strings.Index(text[i+1:], replacement)
			if next < 0 {
				text = text[i:]
				s.first = s.first && i == 0
				break
			}
			if !yield(segment{text[i : i+1+next], s.first && i == 0}) {
				return false
			}
			i += 1 + next
		}
		return yield(segment{text, s.first})
	}}
}
