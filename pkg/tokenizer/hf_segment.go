package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// segment is a piece of text on its way to the model.
type segment struct {
	text  string
	first bool // begins where the whole text does
}

// preStep is a pre-tokenizer: it cuts each segment further, and may rewrite it.
type preStep struct {
	split splitter // that cuts and does nothing else, or nil
	cut   func(out []segment, s segment) []segment
}

// cutSteps applies the steps, one after the other. Segments are not empty.
func cutSteps(steps []preStep, s segment) []segment {
	in, out := []segment{s}, []segment(nil)
	for _, step := range steps {
		out = out[:0]
		for _, s := range in {
			if step.split == nil {
				out = step.cut(out, s)
				continue
			}
			for i := 0; i < len(s.text); {
				end := step.split(s.text, i)
				out = append(out, segment{s.text[i:end], s.first && i == 0})
				i = end
			}
		}
		in, out = out, in
	}
	return in
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
func matchSplitter(split splitter) matcher {
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
func (find matcher) spans(text string, invert bool) []span {
	var list []span
	i := 0
	for i < len(text) {
		start, end := find(text, i)
		if start < 0 {
			break
		}
		if i < start {
			list = append(list, span{i, start, invert})
		}
		list = append(list, span{start, end, !invert})
		i = end
	}
	if i < len(text) {
		list = append(list, span{i, len(text), invert})
	}
	return list
}

// fold does with matches what the behavior says. A match is merged with its
// neighbour unless that neighbour's own match stands between.
func (b behavior) fold(list []span) []span {
	out := list[:0]
	switch b {
	case removed:
		for _, s := range list {
			if !s.match {
				out = append(out, s)
			}
		}
		return out
	case contiguous, mergedWithPrevious:
		wasMatch := false
		for i, s := range list {
			join := i > 0 && s.match && !wasMatch
			if b == contiguous {
				join = i > 0 && s.match == wasMatch
			}
			wasMatch = s.match
			if join {
				out[len(out)-1].end = s.end
			} else {
				out = append(out, s)
			}
		}
		return out
	case mergedWithNext:
		wasMatch := false
		for i, s := range list {
			if i > 0 && wasMatch && !s.match {
				out[len(out)-1].end = s.end
			} else {
				out = append(out, s)
			}
			wasMatch = s.match
		}
		return out
	}
	return list
}

// cutAt is the step that cuts at matches.
func cutAt(find matcher, b behavior, invert bool) preStep {
	return preStep{cut: func(out []segment, s segment) []segment {
		for _, p := range b.fold(find.spans(s.text, invert)) {
			out = append(out, segment{s.text[p.start:p.end], s.first && p.start == 0})
		}
		return out
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
var prefixSpace = preStep{cut: func(out []segment, s segment) []segment {
	if s.text[0] != ' ' {
		s.text = " " + s.text
	}
	return append(out, s)
}}

// spellBytes spells a segment in GPT-2's byte alphabet.
var spellBytes = preStep{cut: func(out []segment, s segment) []segment {
	return append(out, segment{spell(s.text), s.first})
}}

// metaspace writes spaces as the replacement, puts one before the text by its
// scheme (always, first, never), and cuts before each if split is set.
func metaspace(replacement, scheme string, split bool) preStep {
	return preStep{cut: func(out []segment, s segment) []segment {
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
			out = append(out, segment{text[i : i+1+next], s.first && i == 0})
			i += 1 + next
		}
		return append(out, segment{text, s.first})
	}}
}
