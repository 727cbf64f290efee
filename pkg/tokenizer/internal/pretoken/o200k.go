package pretoken

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// PatternO200k is that of o200k, used by gpt-oss and Llama 4: it cuts words between
// lower-case letters and capitals, and keeps contractions with their word.
const PatternO200k = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?` +
	`|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?` +
	`|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`

// caseClass is a class of characters that PatternO200k distinguishes in words.
type caseClass uint8

const (
	caseNone  caseClass = iota
	caseUpper           // Lu Lt
	caseLower           // Ll
	caseBoth            // Lm Lo M, which are in both sets of the pattern
)

var basicCase = sync.OnceValue(func() *[1 << 16]caseClass {
	var table [1 << 16]caseClass
	for r := range rune(len(table)) {
		table[r] = caseOf(r)
	}
	return &table
})

func caseOf(r rune) caseClass {
	switch {
	case unicode.In(r, unicode.Lu, unicode.Lt):
		return caseUpper
	case unicode.Is(unicode.Ll, r):
		return caseLower
	case unicode.In(r, unicode.Lm, unicode.Lo, unicode.M):
		return caseBoth
	}
	return caseNone
}

// caseAt returns the class and the width in bytes of the character at i.
func caseAt(text string, i int) (caseClass, int) {
	if c := text[i]; c < utf8.RuneSelf {
		switch {
		case 'a' <= c && c <= 'z':
			return caseLower, 1
		case 'A' <= c && c <= 'Z':
			return caseUpper, 1
		}
		return caseNone, 1
	}
	r, n := utf8.DecodeRuneInString(text[i:])
	switch {
	case n == 1:
		return caseNone, 1
	case r < 1<<16:
		return basicCase()[r], n
	}
	return caseOf(r), n
}

// O200k is PatternO200k.
func O200k(text string, i int) int {
	c, n := classAt(text, i)
	if c == number {
		return upTo(text, i, 3)
	}
	starts := [2]int{i, -1} // of a word, in the order in which they are tried
	if c != letter && !isNewline(text[i]) {
		starts = [2]int{i + n, i}
	}
	for _, word := range []func(string, int) int{wordLower, wordUpper} {
		for _, start := range starts {
			if start < 0 {
				continue
			}
			if end := word(text, start); end > start {
				if end < len(text) && text[end] == '\'' {
					end += contraction(text[end:], true)
				}
				return end
			}
		}
	}
	return splitRest(text, i, true)
}

// wordLower is [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+, i if there
// is none. If no lower-case letter follows the first set, it backtracks to the last
// character that is in the second set too.
func wordLower(text string, i int) int {
	end := i
	for i < len(text) {
		c, n := caseAt(text, i)
		if c != caseUpper && c != caseBoth {
			break
		}
		i += n
		if c == caseBoth {
			end = i
		}
	}
	for i < len(text) {
		c, n := caseAt(text, i)
		if c != caseLower && c != caseBoth {
			break
		}
		i += n
		end = i
	}
	return end
}

// wordUpper is [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]* where there is
// no wordLower, so that nothing of the second set follows.
func wordUpper(text string, i int) int {
	for i < len(text) {
		c, n := caseAt(text, i)
		if c != caseUpper {
			break
		}
		i += n
	}
	return i
}
